"""The command line and the environment of this process as others see them, in ``/proc``.

The kernel shows the memory that the program was started with, which is therefore written over. What is left of an
incarnation is found by its environment, so that of a forked process has to be its own.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ADDRESSES = slice(45, 49)
"""``arg_start``, ``arg_end``, ``env_start`` and ``env_end`` behind the command's name, see ``proc_pid_stat(5)``."""


def show(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Have this process shown with a command line and an environment, as far as there is room for them.

    Nothing may refer any more to the environment that the process was started with.
    """
    fields = Path('/proc/self/stat').read_text(encoding='ascii', errors='replace').rpartition(')')[2].split()
    arg_start, arg_end, env_start, env_end = map(int, fields[_ADDRESSES])
    line = ' '.join(argv).encode(errors='surrogateescape')
    # A last byte that is not 0 tells the kernel that this is a title, which ends at its first 0.
    title = line[: arg_end - arg_start - 2].ljust(arg_end - arg_start - 1, b'\0') + b'\1'
    ctypes.memmove(arg_start, title, len(title))
    entries = fitting(env, env_end - env_start)
    ctypes.memmove(env_start, entries.ljust(env_end - env_start, b'\0'), env_end - env_start)


def fitting(env: Mapping[str, str], room: int) -> bytes:
    """Return the shortest variables first, as many as there is room for."""
    entries = [f'{name}={value}\0'.encode(errors='surrogateescape') for name, value in env.items()]
    block = bytearray()
    for entry in sorted(entries, key=len):
        if len(block) + len(entry) > room:
            break
        block += entry
    return bytes(block)
