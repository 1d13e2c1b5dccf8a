"""dora's Python package, on ROS 2."""

from __future__ import annotations

import sys
from typing import Any

try:
    from adora_ros.compat.names import NAMES, VERSION, lookup
except ModuleNotFoundError as error:
    MESSAGE = (
        f'{sys.executable} runs a node of an adora_ros dataflow and cannot import {error.name}: '
        'install adora_ros and its ROS packages into that environment, or run the node with the interpreter of adora'
    )
    raise ModuleNotFoundError(MESSAGE, name=error.name) from error

__all__ = list(NAMES)
__author__ = 'adora_ros'
__version__ = VERSION


def __getattr__(name: str) -> Any:
    return lookup(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
