"""Where a run keeps its files."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError

if TYPE_CHECKING:
    from adora_ros.dataflow import Dataflow


MIN_FREE = 256 * 1024
"""Bytes below which a disk counts as full."""
RUN_FILE = 'run.json'
"""File in the folder of a run that says what runs there, see :mod:`adora_ros.manager.runfile`."""


def log_root() -> Path:
    """Return the folder that ROS logs to: ``$ROS_LOG_DIR``, else ``$ROS_HOME/log``, else ``~/.ros/log``."""
    if os.environ.get('ROS_LOG_DIR'):
        return Path(os.environ['ROS_LOG_DIR']).expanduser()
    return Path(os.environ.get('ROS_HOME') or '~/.ros').expanduser() / 'log'


def dataflow_folder(name: str) -> Path:
    """Create the folder of a dataflow and return it.

    Where ROS's log folder cannot be written, a temporary one serves: a robot with a read-only disk or a full one has
    to start, too.

    Raises:
        ManagerError: no folder can be written.

    """
    problems = []
    for folder in (log_root() / name, _spare_root() / name):
        problem = _why_not(folder)
        if problem is None and _free(folder) < MIN_FREE:
            problem = 'no space left'
        if problem is None:
            return folder
        problems.append(f'{folder}: {problem}')
    raise _no_folder(problems)


def use_log_root() -> None:
    """Have ROS log to a temporary folder where its own cannot be written, since it does not start without one.

    Raises:
        ManagerError: neither can be written.

    """
    own, spare = log_root(), _spare_root()
    why = _why_not(own)
    if why is None:
        return
    why_not_spare = _why_not(spare)
    if why_not_spare is not None:
        raise _no_folder([f'{own}: {why}', f'{spare}: {why_not_spare}'])
    os.environ['ROS_LOG_DIR'] = str(spare)


def _spare_root() -> Path:
    return Path(tempfile.gettempdir()) / f'adora_ros_{os.getuid()}'


def _why_not(folder: Path) -> str | None:
    """Create a folder; return why nothing can be written there, None if it can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(folder, os.W_OK | os.X_OK) else 'not writable'


def _no_folder(problems: list[str]) -> ManagerError:
    msg = f'no folder for logs can be written ({"; ".join(problems)}); set ROS_LOG_DIR to one that can'
    return ManagerError(msg)


def _free(folder: Path) -> int:
    """Return the bytes that are free where a folder is; as many as needed where that cannot be told."""
    try:
        facts = os.statvfs(folder)
    except OSError:
        return MIN_FREE
    return facts.f_bavail * facts.f_frsize


def make_run_folder(dataflow: Dataflow, run_id: str) -> Path:
    """Create the folder of a run and write the dataflow into it as JSON.

    It is named after the run. Where that is taken, since machines share a disk or a machine begins its share of the run
    anew, a number follows.

    Raises:
        ManagerError: it cannot be written.

    """
    parent = dataflow_folder(dataflow.name)
    try:
        folder = _new_folder(parent, run_id)
        (folder / 'dataflow.json').write_text(json.dumps(dataflow.descriptor, default=str), encoding='utf-8')
    except OSError as error:
        msg = f'{error.filename}: {error.strerror}; set ROS_LOG_DIR to a folder that can be written'
        raise ManagerError(msg) from error
    return folder


def _new_folder(parent: Path, run_id: str) -> Path:
    for number in itertools.count(1):
        folder = parent / (run_id if number == 1 else f'{run_id}-{number}')
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError
