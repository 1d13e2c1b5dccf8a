"""Events as types and as dora's dicts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from adora_ros.inputs import (
    Error,
    Event,
    Input,
    InputClosed,
    InputRecovered,
    NodeFailed,
    NodeRestarted,
    Stop,
    StopCause,
    as_dict,
    from_dict,
)

VALUE = pa.array([1, 2])

CASES: list[tuple[Event, dict[str, object]]] = [
    (
        Input('image', VALUE, {'width': 640}),
        {'kind': 'dora', 'type': 'INPUT', 'id': 'image', 'value': VALUE, 'metadata': {'width': 640}},
    ),
    (
        Input('image', VALUE, {}, 'a ROS message'),
        {'kind': 'dora', 'type': 'INPUT', 'id': 'image', 'value': VALUE, 'metadata': {}, 'message': 'a ROS message'},
    ),
    (InputClosed('image'), {'kind': 'dora', 'type': 'INPUT_CLOSED', 'id': 'image'}),
    (InputRecovered('image'), {'kind': 'dora', 'type': 'INPUT_RECOVERED', 'id': 'image'}),
    (NodeRestarted('camera'), {'kind': 'dora', 'type': 'NODE_RESTARTED', 'id': 'camera'}),
    (
        NodeFailed('camera', 'exited with code 3', ('image', 'depth')),
        {
            'kind': 'dora',
            'type': 'NODE_FAILED',
            'id': 'camera',
            'value': {
                'source_node_id': 'camera',
                'error': 'exited with code 3',
                'affected_input_ids': ['image', 'depth'],
            },
        },
    ),
    (Stop(StopCause.MANUAL), {'kind': 'dora', 'type': 'STOP', 'id': 'MANUAL'}),
    (Stop(StopCause.ALL_INPUTS_CLOSED), {'kind': 'dora', 'type': 'STOP', 'id': 'ALL_INPUTS_CLOSED'}),
    (Error('no such thing'), {'kind': 'dora', 'type': 'ERROR', 'error': 'no such thing'}),
]


@pytest.mark.parametrize(('event', 'expected'), CASES, ids=[str(d['type']) for _, d in CASES])
def test_dict_has_exactly_the_keys_of_dora_and_converts_back(event: Event, expected: dict[str, object]) -> None:
    assert as_dict(event) == expected
    assert from_dict(expected) == event


@pytest.mark.parametrize(
    'event',
    [
        {'kind': 'other', 'type': 'INPUT', 'id': 'a'},
        {'kind': 'dora', 'type': 'RELOAD'},
        {'kind': 'dora', 'type': 'PARAM_UPDATE', 'id': 'gain', 'value': 1},
        {'kind': 'dora'},
        {},
    ],
)
def test_a_dict_without_a_typed_event_gives_none(event: dict[str, object]) -> None:
    assert from_dict(event) is None


def test_an_unknown_stop_cause_is_still_a_stop() -> None:
    assert from_dict({'kind': 'dora', 'type': 'STOP'}) == Stop(StopCause.MANUAL)
    assert from_dict({'kind': 'dora', 'type': 'STOP', 'id': 'LATER'}) == Stop(StopCause.MANUAL)


def test_the_dict_of_an_event_is_a_copy() -> None:
    event = Input('image', VALUE, {'width': 640})
    as_dict(event)['metadata']['width'] = 1
    assert event.metadata == {'width': 640}


def test_events_match_by_position() -> None:
    match from_dict({'type': 'INPUT', 'id': 'image', 'value': VALUE}):
        case Input(id_, value, metadata):
            assert (id_, value, metadata) == ('image', VALUE, {})
        case other:
            pytest.fail(f'matched {other}')


def test_what_is_no_event_has_no_dict() -> None:
    with pytest.raises(KeyError):
        as_dict('INPUT')  # type: ignore[arg-type]
