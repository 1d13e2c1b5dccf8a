"""adora's Python package, on ROS 2: dora's under its other name."""

from __future__ import annotations

from typing import Any

import dora

__all__ = ['AdoraStatus', *dora.__all__]  # noqa: PLE0604 - a list of str
__author__ = dora.__author__
__version__ = dora.__version__


def __getattr__(name: str) -> Any:
    return getattr(dora, 'DoraStatus' if name == 'AdoraStatus' else name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
