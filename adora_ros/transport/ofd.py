"""Byte-range locks of the kernel that belong to an open file description (``fcntl(2)``).

Unlike the older POSIX locks they are not lost when the process closes some other descriptor of the file, and two
descriptors of one process exclude each other. They end with the last descriptor of their description: with the
process, however it ends, unless it has forked.
"""

from __future__ import annotations

import fcntl
import struct

F_OFD_SETLK = getattr(fcntl, 'F_OFD_SETLK', 37)
"""Not in the ``fcntl`` of every Python; the number is that of Linux on every processor but MIPS and SPARC."""
_FLOCK = struct.Struct('hhqqi4x')


def lock_shared(fd: int, start: int) -> bool:
    """Take a shared lock on one byte; return False at once if somebody has an exclusive one."""
    return _lock(fd, fcntl.F_RDLCK, start, 1)


def lock_exclusive(fd: int, start: int, length: int = 1) -> bool:
    """Take an exclusive lock on bytes; return False at once if somebody has a lock on one of them."""
    return _lock(fd, fcntl.F_WRLCK, start, length)


def unlock(fd: int, start: int) -> None:
    """Give up a lock on one byte."""
    _lock(fd, fcntl.F_UNLCK, start, 1)


def _lock(fd: int, kind: int, start: int, length: int) -> bool:
    try:
        fcntl.fcntl(fd, F_OFD_SETLK, _FLOCK.pack(kind, 0, start, length, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True
