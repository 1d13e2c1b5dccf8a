"""What an operator returns."""

from __future__ import annotations

from enum import Enum


class DoraStatus(Enum):
    """Whether an operator goes on after an event."""

    CONTINUE = 0
    STOP = 1
    """This operator has finished."""
    STOP_ALL = 2
    """The whole dataflow is to stop."""
