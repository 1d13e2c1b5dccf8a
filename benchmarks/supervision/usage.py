"""CPU time and memory of a run's processes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

MEBIBYTE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What some processes use.

    Attributes:
        cpu: Percent of one core.
        pss: Memory in MiB, pages shared with others counted in part.
        rss: Memory in MiB, shared pages counted in full for each process.

    """

    cpu: float
    pss: float
    rss: float


def supervisor_processes(pid: int, nodes: set[int]) -> list[psutil.Process]:
    """Return a supervisor's process and its helpers: all that descends from it and is not a node."""
    root = psutil.Process(pid)
    return [root, *(child for child in root.children(recursive=True) if child.pid not in nodes)]


def measure(groups: Iterable[Iterable[psutil.Process]], seconds: float) -> list[Usage]:
    """Return what each group of processes uses over some seconds.

    Raises:
        psutil.NoSuchProcess: one of them ended.

    """
    listed = [list(group) for group in groups]
    before = [[_cpu_time(process) for process in group] for group in listed]
    began = time.monotonic()
    time.sleep(seconds)
    after = [[_cpu_time(process) for process in group] for group in listed]
    passed = time.monotonic() - began
    return [
        _usage(group, (sum(last) - sum(first)) / passed)
        for group, first, last in zip(listed, before, after, strict=True)
    ]


def _cpu_time(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _usage(group: list[psutil.Process], cores: float) -> Usage:
    memory = [process.memory_full_info() for process in group]
    return Usage(
        cpu=cores * 100,
        pss=sum(info.pss for info in memory) / MEBIBYTE,
        rss=sum(info.rss for info in memory) / MEBIBYTE,
    )
