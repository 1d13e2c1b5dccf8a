"""Events, and what is known about the inputs of a node: pure, on a clock that is passed in."""

from __future__ import annotations

from adora_ros.inputs.events import (
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
    as_dict,
    from_dict,
)
from adora_ros.inputs.tracker import InputTracker
from adora_ros.inputs.watchdog import Expired, InputLimits, InputWatchdog

__all__ = [
    'Error',
    'Event',
    'Expired',
    'External',
    'Input',
    'InputClosed',
    'InputLimits',
    'InputRecovered',
    'InputState',
    'InputTracker',
    'InputWatchdog',
    'NodeFailed',
    'NodeRestarted',
    'Stop',
    'StopCause',
    'as_dict',
    'from_dict',
]
