"""The time of a process's last proof of life, in memory that it shares with its manager.

However busy its loop is, it costs the manager nothing, which reads the time when a deadline is near or somebody asks.
"""

from __future__ import annotations

import mmap
import os
import struct

_TIME = struct.Struct('=d')


class LifePage:
    """One time on the steady clock of the host, in seconds.

    It is written and read without a lock: a processor stores eight aligned bytes in one piece.
    """

    def __init__(self, fd: int) -> None:
        """Map a page; the file descriptor may be closed afterwards.

        Args:
            fd: File descriptor of :func:`create`'s making.

        Raises:
            OSError: it is not of such a file.
            ValueError: the file is too small.

        """
        self._memory = mmap.mmap(fd, _TIME.size)

    def write(self, now: float) -> None:
        """Note a proof of life."""
        _TIME.pack_into(self._memory, 0, now)

    def read(self) -> float | None:
        """Return the time of the last proof of life, None before the first."""
        (last,) = _TIME.unpack_from(self._memory)
        return float(last) or None


def create() -> int:
    """Return the file descriptor of new memory for a page, for a process to inherit.

    Raises:
        OSError: there is no memory or file descriptor left.

    """
    fd = os.memfd_create('adora-life', os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, _TIME.size)
    except OSError:
        os.close(fd)
        raise
    return fd
