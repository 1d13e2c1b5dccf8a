"""Fault-tolerant dataflows on ROS 2.

What a node script needs is here: :class:`Node`, :class:`InputTracker` and the typed events. Each is imported when it
is first used, so that ``import adora_ros`` needs neither rclpy nor pyarrow and takes no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adora_ros.dataflow.builder import DataflowBuilder
    from adora_ros.inputs import (
        Error,
        Event,
        External,
        Input,
        InputClosed,
        InputRecovered,
        InputState,
        NodeFailed,
        NodeRestarted,
        Stop,
        StopCause,
    )
    from adora_ros.node import InputTracker, Node
    from adora_ros.testing import MockNode

__all__ = [
    'DataflowBuilder',
    'Error',
    'Event',
    'External',
    'Input',
    'InputClosed',
    'InputRecovered',
    'InputState',
    'InputTracker',
    'MockNode',
    'Node',
    'NodeFailed',
    'NodeRestarted',
    'Stop',
    'StopCause',
]

_PLACES = {
    'DataflowBuilder': 'adora_ros.dataflow.builder',
    'InputTracker': 'adora_ros.node',
    'MockNode': 'adora_ros.testing',
    'Node': 'adora_ros.node',
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f'module {__name__!r} has no attribute {name!r}'
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_PLACES.get(name, 'adora_ros.inputs')), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
