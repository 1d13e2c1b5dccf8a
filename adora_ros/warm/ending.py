"""A short end of a process that has loaded much.

When Python ends it takes every module apart, which takes a manager some 10 ms. In a process that was forked from a warm
one it writes to all of the memory that it shares with that, and the kernel has to copy it first, only to give it back.
What was loaded before the process began its own work holds nothing that needs it, so those modules are put out of
Python's sight, but for those that have been given something since. What was loaded or made later ends as ever.
"""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_ALWAYS = {'__main__', 'builtins', 'sys'}
_spared: dict[str, tuple[ModuleType, int]] = {}


def prepare() -> None:
    """Have the end of this process, and of those forked from it, made short; before anything else asks to be last."""
    atexit.register(_hide)


def spare_loaded_modules() -> None:
    """Take it that the modules that are loaded now need not be taken apart."""
    _spared.update((name, (module, _size(module))) for name, module in sys.modules.items() if name not in _ALWAYS)


def _hide() -> None:
    for name, (module, size) in _spared.items():
        if sys.modules.get(name) is module and _size(module) == size:
            del sys.modules[name]


def _size(module: ModuleType) -> int:
    return len(getattr(module, '__dict__', ()))
