"""QoS of a port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from adora_ros.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Mapping

_POLICIES: dict[str, dict[str, Any]] = {
    'reliability': {'reliable': ReliabilityPolicy.RELIABLE, 'best_effort': ReliabilityPolicy.BEST_EFFORT},
    'durability': {'volatile': DurabilityPolicy.VOLATILE, 'transient_local': DurabilityPolicy.TRANSIENT_LOCAL},
    'liveliness': {'automatic': LivelinessPolicy.AUTOMATIC, 'manual_by_topic': LivelinessPolicy.MANUAL_BY_TOPIC},
    'history': {'keep_last': HistoryPolicy.KEEP_LAST, 'keep_all': HistoryPolicy.KEEP_ALL},
}


def qos_profile(qos: Mapping[str, Any] | None = None, *, depth: int) -> QoSProfile:
    """Return the profile of a port: reliable, volatile, the last ``depth`` messages, but for what ``qos`` says.

    Args:
        qos: ``reliability``, ``durability``, ``history``, ``liveliness`` (their values as in ROS, in lower case),
            ``depth``, and ``lease_duration`` in seconds.
        depth: messages to keep where ``qos`` does not say.

    Raises:
        TransportError: a key or a value is not one of these.

    """
    given = {key: value for key, value in (qos or {}).items() if value is not None}
    size = given.pop('depth', depth)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        msg = f'qos depth is {size!r}: use a whole number of messages, 1 or more'
        raise TransportError(msg)
    lease = given.pop('lease_duration', None)
    policies = {key: _policy(key, value) for key, value in given.items()}
    return QoSProfile(
        reliability=policies.get('reliability', ReliabilityPolicy.RELIABLE),
        durability=policies.get('durability', DurabilityPolicy.VOLATILE),
        history=policies.get('history', HistoryPolicy.KEEP_LAST),
        liveliness=policies.get('liveliness', LivelinessPolicy.AUTOMATIC),
        liveliness_lease_duration=Duration() if lease is None else Duration(seconds=lease),
        depth=size,
    )


def _policy(key: str, value: Any) -> Any:
    values = _POLICIES.get(key)
    if values is None:
        msg = f'unknown qos key {key!r}: use {", ".join((*_POLICIES, "depth", "lease_duration"))}'
        raise TransportError(msg)
    if value not in values:
        msg = f'qos {key} is {value!r}: use {" or ".join(values)}'
        raise TransportError(msg)
    return values[value]
