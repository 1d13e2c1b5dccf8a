"""Ends the nodes of a manager that died.

A process of its own, so that it outlives the manager whatever kills it, and one that needs nothing but the standard
library, so that it starts in milliseconds. It reads from its standard input: ``+<pgid>`` and ``-<pgid>`` as nodes come
and go, ``!<pgid>`` for those that have to be interrupted to learn of the end. The end of that pipe is the end of the
manager: the nodes get :data:`GRACE` to end by themselves, then everything that is left of its run is killed, found by
process group and by the run's mark in the environment.

Usage: ``python -I -S guardian.py VARIABLE=VALUE [FOLDER]`` where the first argument is the mark and the second a folder
to remove at the end, with the files in it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

GRACE = 1.0
"""Seconds that the nodes get to put their hardware into a safe state. Those that use the Node API get a STOP at the
moment at which their control socket ends, the others SIGINT."""
POLL = 0.02
"""Seconds between two looks at what is left."""
PERSISTENCE = 5.0
"""Seconds for which killing is repeated; a process that is about to fork may escape the first rounds."""
QUIET_ROUNDS = 3
"""Rounds without any find after which nothing is left."""


def groups_left(lines: list[str]) -> dict[int, bool]:
    """Return the process groups that were announced and not withdrawn, and whether each is to be interrupted."""
    groups: dict[int, bool] = {}
    for line in lines:
        number = int(line[1:])
        if line.startswith('-'):
            groups.pop(number, None)
        else:
            groups[number] = line.startswith('!')
    return groups


def signal_group(group: int, number: int) -> bool:
    """Send a signal to what is left of a process group, 0 for none; return whether there is anything left."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def let_end(groups: dict[int, bool]) -> None:
    """Wait until the groups are gone, for :data:`GRACE` seconds at most."""
    for group, interrupt in groups.items():
        signal_group(group, signal.SIGINT if interrupt else 0)
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and any(signal_group(group, 0) for group in groups):
        time.sleep(POLL)


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


def kill_stragglers(mark: bytes) -> None:
    """Kill what carries ``mark`` until nothing has been found for some rounds."""
    quiet = 0
    deadline = time.monotonic() + PERSISTENCE
    while quiet < QUIET_ROUNDS and time.monotonic() < deadline:
        time.sleep(POLL)
        quiet = 0 if kill_marked(mark) else quiet + 1


def remove_folder(folder: Path) -> None:
    """Remove a folder that has no folders in it."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()


def main() -> None:
    """Wait for the end of the manager, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    mark = os.fsencode(sys.argv[1])
    groups = groups_left(sys.stdin.read().split())
    let_end(groups)
    for group in groups:
        signal_group(group, signal.SIGKILL)
    if kill_marked(mark) or groups:
        kill_stragglers(mark)
    for folder in sys.argv[2:]:
        remove_folder(Path(folder))


if __name__ == '__main__':
    main()
    os._exit(0)  # the interpreter has nothing to take apart that anybody needs, and the manager waits
