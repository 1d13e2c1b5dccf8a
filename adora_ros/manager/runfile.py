"""``run.json`` in the folder of a run: what runs there, and how it ended.

The file is locked (``flock(2)``) while its manager runs the dataflow. The kernel drops the lock with the process, so
that a run whose manager was killed is not taken for one that goes on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError
from adora_ros.transport.rundir import RUN_FILE

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What there is to know of a run without looking at its logs.

    Attributes:
        uuid: Identifies the run.
        dataflow: Name of the dataflow.
        file: The dataflow file, absolute.
        manager: Full name of the manager's node.
        domain: The ROS domain.
        machine: Name of the machine in the dataflow; empty if it has none.
        pid: Process id of the manager.
        started: Wall time of the start, ISO 8601 in UTC; a label.
        ended: Wall time of the end, as ``started``; empty before it.
        error: Every failure as ``node: reason``, joined by ``; ``; empty if there was none.

    """

    uuid: str
    dataflow: str
    file: str
    manager: str
    domain: str
    machine: str
    pid: int
    started: str
    ended: str = ''
    error: str = ''


class RunFile:
    """The manager's side: written at the start and at the end of a run, locked in between."""

    def __init__(self, folder: Path, facts: RunFacts) -> None:
        """Write and lock the file.

        Raises:
            ManagerError: it cannot be written.

        """
        self._folder = folder
        self._facts = facts
        try:
            self._fd = self._write(facts)
        except OSError as error:
            msg = f'{folder / RUN_FILE}: {error.strerror}; set ROS_LOG_DIR to a folder that can be written'
            raise ManagerError(msg) from error

    def end(self, *, stamp: str, error: str) -> None:
        """Note the end of the run; on a full disk it stays a run that is not going on and has no end.

        Args:
            stamp: Wall time, ISO 8601 in UTC.
            error: Why it failed; empty if it did not.

        """
        with contextlib.suppress(OSError):
            os.close(self._write(dataclasses.replace(self._facts, ended=stamp, error=error)))
        os.close(self._fd)

    def _write(self, facts: RunFacts) -> int:
        """Replace the file by one that is locked already, and return its descriptor."""
        draft = self._folder / f'.{RUN_FILE}'
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with os.fdopen(fd, 'wb', closefd=False) as file:  # which goes on where a write ends early
                file.write(json.dumps(dataclasses.asdict(facts), indent=1).encode())
            draft.rename(self._folder / RUN_FILE)
        except OSError:
            os.close(fd)
            draft.unlink(missing_ok=True)
            raise
        return fd


def read_run(folder: Path) -> RunFacts | None:
    """Return what is known of the run in ``folder``, None if it is not the folder of a run."""
    try:
        return RunFacts(**json.loads((folder / RUN_FILE).read_text(encoding='utf-8')))
    except (OSError, ValueError, TypeError):
        return None


def is_live(folder: Path) -> bool:
    """Return whether the manager of the run in ``folder`` still runs it."""
    try:
        fd = os.open(folder / RUN_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
