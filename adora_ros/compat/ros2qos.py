"""The quality of service of dora's ROS 2 bridge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from adora_ros.errors import UnsupportedError

KEEP_ALL = 1000
"""Messages that wait for the script where the QoS keeps all."""

LEAST_WAITING = 10
"""Messages that may wait for the script even if the QoS keeps fewer, since the script is not always in ``next()``."""


class Ros2Durability(Enum):
    """What a publisher does for subscriptions that come later."""

    Volatile = 0
    TransientLocal = 1
    Transient = 2
    Persistent = 3


class Ros2Liveliness(Enum):
    """How a publisher shows that it is alive."""

    Automatic = 0
    ManualByParticipant = 1
    ManualByTopic = 2


_DURABILITIES = {
    Ros2Durability.Volatile: DurabilityPolicy.VOLATILE,
    Ros2Durability.TransientLocal: DurabilityPolicy.TRANSIENT_LOCAL,
}
_LIVELINESSES = {
    Ros2Liveliness.Automatic: LivelinessPolicy.AUTOMATIC,
    Ros2Liveliness.ManualByTopic: LivelinessPolicy.MANUAL_BY_TOPIC,
}


@dataclass(frozen=True)
class Ros2QosPolicies:
    """Quality of service; times in seconds. ``max_blocking_time`` has no counterpart in ROS 2 and no effect."""

    durability: Ros2Durability | None = None
    liveliness: Ros2Liveliness | None = None
    reliable: bool | None = None
    keep_all: bool | None = None
    lease_duration: float | None = None
    max_blocking_time: float | None = None
    keep_last: int | None = None

    def profile(self) -> QoSProfile:
        """Return the QoS for rclpy.

        Raises:
            UnsupportedError: ROS 2 has no such durability or liveliness.

        """
        durability = self.durability or Ros2Durability.Volatile
        liveliness = self.liveliness or Ros2Liveliness.Automatic
        if durability not in _DURABILITIES or liveliness not in _LIVELINESSES:
            msg = (
                f'ROS 2 has no {durability if durability not in _DURABILITIES else liveliness}: '
                'use Volatile or TransientLocal, Automatic or ManualByTopic'
            )
            raise UnsupportedError(msg)
        profile = QoSProfile(
            reliability=ReliabilityPolicy.RELIABLE if self.reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=_DURABILITIES[durability],
            liveliness=_LIVELINESSES[liveliness],
            history=HistoryPolicy.KEEP_ALL if self.keep_all else HistoryPolicy.KEEP_LAST,
            depth=self.keep_last or 1,
        )
        if self.lease_duration is not None and math.isfinite(self.lease_duration):
            profile.liveliness_lease_duration = Duration(seconds=self.lease_duration)
        return profile

    @property
    def waiting(self) -> int:
        """How many messages may wait for the script."""
        return KEEP_ALL if self.keep_all else max(self.keep_last or 1, LEAST_WAITING)
