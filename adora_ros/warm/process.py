"""Starts a warm process. Needs little itself, so that the loading can begin before the manager's own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from adora_ros.warm.environment import ROOM, ROOM_VARIABLE, script_environment

_SCRIPT = Path(__file__).with_name('main.py')


def begin() -> WarmProcess | None:
    """Start a warm process; None if that cannot be done, in which case nodes are started cold."""
    try:
        return WarmProcess()
    except OSError:
        return None


class WarmProcess:
    """One warm process, which loads by itself from the moment it is made.

    Raises:
        OSError: it cannot be started.

    """

    def __init__(self) -> None:
        self.env = script_environment(os.environ)
        """What it was started with."""
        self._started = time.monotonic()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setblocking(False)  # noqa: FBT003 - positional only
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, str(_SCRIPT), str(theirs.fileno()), ' ' * ROOM],
                    env={**self.env, ROOM_VARIABLE: ' ' * ROOM},
                    cwd='/',
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
        except OSError:
            self.socket.close()
            raise
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)

    @property
    def age(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self._started

    def kill(self) -> None:
        """Have it end."""
        self._process.kill()

    def close(self) -> None:
        """End it and give back what it takes."""
        self.kill()
        self._process.wait()
        os.close(self.pidfd)
        self.socket.close()
