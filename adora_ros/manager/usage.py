"""CPU time and memory of a process, read at little cost."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

MIB = 1024 * 1024
_TICKS = os.sysconf('SC_CLK_TCK')
_PAGE = os.sysconf('SC_PAGE_SIZE')
_FIRST = 3
"""Number, in ``proc_pid_stat(5)``, of the first field behind the program's name."""
_USER, _SYSTEM, _STARTED, _RESIDENT = (number - _FIRST for number in (14, 15, 22, 24))
_LIMIT = 4096


@dataclass(frozen=True)
class Usage:
    """What a process uses."""

    cpu_percent: float
    """Share of one core since the last look, or at the first one since the process was started."""
    rss_mb: float
    """Resident memory in MiB."""


class UsageMeter:
    """Measures one process; the file of the kernel's that tells it is opened once."""

    def __init__(self, pid: int) -> None:
        """Begin with a process.

        Raises:
            OSError: there is no such process, or no file descriptor left.

        """
        self._file = os.open(f'/proc/{pid}/stat', os.O_RDONLY | os.O_CLOEXEC)
        self._last: tuple[float, float] | None = None

    def read(self) -> Usage:
        """Return what the process uses.

        Raises:
            OSError: it has ended.

        """
        fields = os.pread(self._file, _LIMIT, 0).rpartition(b')')[2].split()
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        spent = (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
        before, spent_before = self._last or (int(fields[_STARTED]) / _TICKS, 0.0)
        self._last = now, spent
        passed = max(now - before, 1 / _TICKS)
        return Usage(100 * (spent - spent_before) / passed, int(fields[_RESIDENT]) * _PAGE / MIB)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)
