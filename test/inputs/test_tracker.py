"""InputTracker on a fake clock."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.inputs import (
    Error,
    Event,
    Input,
    InputClosed,
    InputRecovered,
    InputState,
    InputTracker,
    NodeFailed,
    NodeRestarted,
    Stop,
    as_dict,
)


class Clock:
    """A clock that goes only when told."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=['typed', 'dict'])
def feed(request: pytest.FixtureRequest) -> Any:
    """Return how a tracker is given an event: as a type or as dora's dict."""
    if request.param == 'typed':
        return lambda tracker, event: tracker.process_event(event)
    return lambda tracker, event: tracker.process_event(as_dict(event))


def test_an_input_is_unknown_waiting_healthy_closed(feed: Any) -> None:
    tracker = InputTracker(['image'])
    assert tracker.state('image') is InputState.WAITING
    assert tracker.state('other') is None
    assert feed(tracker, Input('image', pa.array([1]))) is True
    assert tracker.state('image') is InputState.HEALTHY
    assert feed(tracker, InputClosed('image')) is True
    assert tracker.state('image') is InputState.CLOSED
    assert feed(tracker, InputRecovered('image')) is True
    assert tracker.state('image') is InputState.HEALTHY


def test_an_input_that_was_not_named_is_known_from_its_first_event(feed: Any) -> None:
    tracker = InputTracker()
    feed(tracker, InputClosed('imu'))
    feed(tracker, Input('image', None))
    assert tracker.state('imu') is InputState.CLOSED
    assert tracker.state('image') is InputState.HEALTHY


def test_closed_inputs_and_any_closed(feed: Any) -> None:
    tracker = InputTracker(['c', 'a', 'b'])
    assert not tracker.any_closed()
    assert tracker.closed_inputs() == ()
    feed(tracker, InputClosed('b'))
    feed(tracker, InputClosed('c'))
    assert tracker.any_closed()
    assert tracker.closed_inputs() == ('c', 'b')
    assert [tracker.is_closed(i) for i in ('a', 'b', 'c', 'unknown')] == [False, True, True, False]
    feed(tracker, Input('b', 1))
    feed(tracker, InputRecovered('c'))
    assert not tracker.any_closed()


def test_the_last_value_stays_when_the_input_closes(feed: Any) -> None:
    tracker = InputTracker(['image'])
    assert tracker.last_value('image') is None
    first, second = pa.array([1]), pa.array([2])
    feed(tracker, Input('image', first))
    feed(tracker, Input('image', second))
    feed(tracker, InputClosed('image'))
    assert tracker.last_value('image') is second
    assert tracker.last_value('unknown') is None


def test_age_and_freshness_are_those_of_the_last_value(feed: Any) -> None:
    clock = Clock()
    tracker = InputTracker(['image'], clock=clock)
    assert tracker.age('image') is None
    assert not tracker.is_fresh('image', 1e9)
    feed(tracker, Input('image', 1))
    clock.now += 2.0
    assert tracker.age('image') == 2.0
    assert tracker.is_fresh('image', 2.0)
    assert not tracker.is_fresh('image', 1.9)
    feed(tracker, InputClosed('image'))
    feed(tracker, InputRecovered('image'))
    assert tracker.age('image') == 2.0
    feed(tracker, Input('image', 2))
    assert tracker.age('image') == 0.0
    assert tracker.age('unknown') is None


@pytest.mark.parametrize('event', [Stop(), Error('x'), NodeFailed('camera', 'exited with code 1', ('image',))])
def test_other_events_do_not_concern_it(feed: Any, event: Event) -> None:
    tracker = InputTracker(['image'])
    assert feed(tracker, event) is False
    assert tracker.state('image') is InputState.WAITING


def test_foreign_dicts_do_not_concern_it() -> None:
    tracker = InputTracker()
    assert tracker.process_event({'kind': 'external', 'value': 1}) is False
    assert tracker.process_event({'kind': 'dora', 'type': 'RELOAD'}) is False


def test_node_restarted_without_sources_changes_nothing(feed: Any) -> None:
    tracker = InputTracker(['image'])
    feed(tracker, InputClosed('image'))
    assert feed(tracker, NodeRestarted('camera')) is True
    assert tracker.is_closed('image')


def test_inputs_of_the_source_map_are_known() -> None:
    tracker = InputTracker(sources={'image': 'camera'})
    assert tracker.state('image') is InputState.WAITING


def test_a55_node_restarted_reopens_its_inputs_and_keeps_the_stale_value(feed: Any) -> None:
    clock = Clock()
    tracker = InputTracker(
        ['image', 'depth', 'scan', 'late'],
        sources={'image': 'camera', 'depth': 'camera', 'scan': 'lidar', 'late': 'camera'},
        clock=clock,
    )
    value = pa.array([7])
    feed(tracker, Input('image', value))
    clock.now += 5.0
    for input_id in ('image', 'depth', 'scan'):
        feed(tracker, InputClosed(input_id))
    assert feed(tracker, NodeRestarted('camera')) is True
    states = {i: tracker.state(i) for i in ('image', 'depth', 'scan', 'late')}
    assert states == {
        'image': InputState.HEALTHY,
        'depth': InputState.HEALTHY,
        'scan': InputState.CLOSED,
        'late': InputState.WAITING,
    }
    assert tracker.closed_inputs() == ('scan',)
    assert tracker.last_value('image') is value
    assert tracker.age('image') == 5.0
    assert not tracker.is_fresh('image', 1.0)


events = st.one_of(
    st.builds(Input, st.sampled_from('abc'), st.integers()),
    st.builds(InputClosed, st.sampled_from('abc')),
    st.builds(InputRecovered, st.sampled_from('abc')),
    st.builds(NodeRestarted, st.sampled_from('xy')),
    st.just(Stop()),
)


@given(st.lists(events, max_size=40))
def test_state_and_value_depend_on_the_last_event_that_concerns_the_input(sequence: list[Event]) -> None:
    sources = {'a': 'x', 'b': 'y'}
    tracker = InputTracker('abc', sources=sources)
    for event in sequence:
        tracker.process_event(event)
    for name in 'abc':
        own = [e for e in sequence if isinstance(e, (Input, InputClosed, InputRecovered)) and e.id == name]
        values = [e.value for e in own if isinstance(e, Input)]
        assert tracker.last_value(name) == (values[-1] if values else None)
        expected = InputState.WAITING
        if own:
            after = sequence[len(sequence) - sequence[::-1].index(own[-1]) :]
            reopened = NodeRestarted(sources[name]) in after if name in sources else False
            closed = isinstance(own[-1], InputClosed) and not reopened
            expected = InputState.CLOSED if closed else InputState.HEALTHY
        assert tracker.state(name) is expected
