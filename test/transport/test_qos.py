"""QoS of a port."""

from __future__ import annotations

from typing import Any

import pytest
from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy

from adora_ros.errors import TransportError
from adora_ros.transport.qos import qos_profile


def fields(**given: Any) -> tuple[Any, ...]:
    profile = qos_profile(given or None, depth=10)
    return profile.reliability, profile.durability, profile.history, profile.depth


RELIABLE, VOLATILE, KEEP_LAST = ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, HistoryPolicy.KEEP_LAST


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({}, (RELIABLE, VOLATILE, KEEP_LAST, 10)),
        ({'reliability': 'best_effort'}, (ReliabilityPolicy.BEST_EFFORT, VOLATILE, KEEP_LAST, 10)),
        ({'reliability': 'reliable'}, (RELIABLE, VOLATILE, KEEP_LAST, 10)),
        ({'durability': 'transient_local'}, (RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, KEEP_LAST, 10)),
        ({'durability': 'volatile'}, (RELIABLE, VOLATILE, KEEP_LAST, 10)),
        ({'history': 'keep_all'}, (RELIABLE, VOLATILE, HistoryPolicy.KEEP_ALL, 10)),
        ({'history': 'keep_last', 'depth': 3}, (RELIABLE, VOLATILE, KEEP_LAST, 3)),
        ({'reliability': None, 'depth': None}, (RELIABLE, VOLATILE, KEEP_LAST, 10)),
    ],
)
def test_profile(given: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert fields(**given) == expected


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        (
            {'reliabilty': 'reliable'},
            "unknown qos key 'reliabilty': use reliability, durability, liveliness, history, depth, lease_duration",
        ),
        ({'reliability': 'best'}, "qos reliability is 'best': use reliable or best_effort"),
        ({'depth': 0}, 'qos depth is 0: use a whole number of messages, 1 or more'),
        ({'depth': 1.5}, 'qos depth is 1.5: use a whole number of messages, 1 or more'),
        ({'depth': True}, 'qos depth is True: use a whole number of messages, 1 or more'),
    ],
)
def test_errors(given: dict[str, Any], text: str) -> None:
    with pytest.raises(TransportError) as caught:
        qos_profile(given, depth=10)
    assert str(caught.value) == text
