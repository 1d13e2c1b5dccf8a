"""What a figure has to be read with: the machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping

GIBIBYTE = 1 << 30


def describe() -> dict[str, object]:
    """Return processor, cores, memory, kernel, Python and how busy the machine is at this moment."""
    return {
        'cpu': _cpu_model(),
        'cores': len(os.sched_getaffinity(0)),
        'memory_gib': round(psutil.virtual_memory().total / GIBIBYTE, 1),
        'kernel': f'{platform.system()} {platform.release()}',
        'python': platform.python_version(),
        'load_before': round(os.getloadavg()[0], 2),
    }


def text(machine: Mapping[str, Any]) -> str:
    """Return what :func:`describe` found in words, but for how busy the machine was."""
    what = (machine['cpu'], f'{machine["cores"]} cores', f'{machine["memory_gib"]:g} GiB', machine['kernel'])
    return f'{", ".join(what)}, Python {machine["python"]}'


def _cpu_model() -> str:
    for line in Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
        name, _, value = line.partition(':')
        if name.strip() == 'model name':
            return value.strip()
    return platform.machine()
