"""Ends the nodes of a manager that died.

A process of its own, so that it outlives the manager whatever kills it, and one that needs nothing but the standard
library, so that it starts in milliseconds. It reads from its standard input: ``+<pgid>`` and ``-<pgid>`` as nodes come
and go. The end of that pipe is the end of the manager: everything that is left of its run is killed, found by process
group and by the run's mark in the environment.

Usage: ``python -I -S guardian.py VARIABLE=VALUE`` where the argument is the mark.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

PERSISTENCE = 5.0
"""Seconds for which killing is repeated; a process that is about to fork may escape the first rounds."""
QUIET_ROUNDS = 3
"""Rounds without any find after which nothing is left."""


def groups_left(lines: list[str]) -> set[int]:
    """Return the process groups that were announced and not withdrawn."""
    groups: set[int] = set()
    for line in lines:
        number = int(line[1:])
        if line.startswith('+'):
            groups.add(number)
        else:
            groups.discard(number)
    return groups


def kill_group(group: int) -> None:
    """Kill what is left of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill_marked(mark: bytes) -> bool:
    """Kill every process that carries ``mark`` in its environment; return whether there was one."""
    found = False
    for entry in os.scandir('/proc'):
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark in Path(entry.path, 'environ').read_bytes().split(b'\0'):
                os.kill(int(entry.name), signal.SIGKILL)
                found = True
    return found


def main() -> None:
    """Wait for the end of the manager, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    mark = os.fsencode(sys.argv[1])
    for group in groups_left(sys.stdin.read().split()):
        kill_group(group)
    quiet = 0
    deadline = time.monotonic() + PERSISTENCE
    while quiet < QUIET_ROUNDS and time.monotonic() < deadline:
        quiet = 0 if kill_marked(mark) else quiet + 1
        time.sleep(0.02)


if __name__ == '__main__':
    main()
