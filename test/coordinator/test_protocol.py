"""Reports as they travel."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from adora_ros.coordinator import protocol
from adora_ros.coordinator.protocol import ReportKind
from adora_ros.coordinator.records import Status
from adora_ros.errors import TransportError
from coordinator.build import report, step


def test_a_report_survives_its_encoding() -> None:
    last = step(2, Status.FAILED, 'camera: signal:SIGKILL; 相机')
    for kind in ReportKind:
        made = report(last, kind, steps=(step(1), last))
        assert protocol.decode(protocol.encode(made)) == made


@pytest.mark.parametrize(
    'change',
    [
        {'kind': 'gossip'},
        {'run': ''},
        {'run': 'a b'},
        {'machine': 7},
        {'descriptor': None},
        {'last': None},
        {'last': {'seq': '1', 'status': 'Running', 'error': '', 'stamp': ''}},
        {'last': {'seq': 1, 'status': 'Sleeping', 'error': '', 'stamp': ''}},
        {'steps': [1]},
        {'steps': None},
    ],
)
def test_what_is_no_report(change: dict[str, Any]) -> None:
    data = json.loads(protocol.encode(report(step(1))))
    with pytest.raises(TransportError, match=r'^not a report of a manager: '):
        protocol.decode(json.dumps({**data, **change}))


@pytest.mark.parametrize('text', ['', '{}', '[]', 'null', 'hello', '{"kind": "step"}'])
def test_what_is_nothing(text: str) -> None:
    with pytest.raises(TransportError):
        protocol.decode(text)


def test_a_later_version_may_say_more() -> None:
    made = report(step(1))
    data = {**dataclasses.asdict(made), 'more': 1}
    assert protocol.decode(json.dumps(data)) == made
