"""What waits for the user's loop besides the events that are ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adora_ros.inputs import Event


@dataclass(eq=False, slots=True)
class Message:
    """A message as the middleware delivered it."""

    input_id: str
    payload: Any
    timestamp: int
    """Nanoseconds since the Unix epoch when it arrived."""
    opened: bool = False
    """Whether it has been decoded."""
    event: Event | None = None
    """What it says, once it has been decoded; None for a repeated message."""


@dataclass(frozen=True)
class Tick:
    """A timer ticked."""

    input_id: str
    timestamp: int
    """Nanoseconds since the Unix epoch."""


@dataclass(frozen=True)
class ExternalMessage:
    """A message of a merged ROS 2 subscription."""

    message: Any


Item = Message | Tick | ExternalMessage | Event
