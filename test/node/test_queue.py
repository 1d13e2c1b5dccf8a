"""The order of messages and events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.node.queue import EventQueue
from adora_ros.transport.contract import capacity

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def drained(queue: EventQueue[str, str]) -> list[str]:
    items = []
    while (item := queue.pop()) is not None:
        items.append(item)
    return items


@pytest.mark.parametrize(
    ('size', 'policy', 'expected'),
    [
        (10, 'drop_oldest', 10),
        (1, 'drop_oldest', 1),
        (0, 'drop_oldest', 1),
        (0, 'backpressure', 100),
        (5, 'backpressure', 100),
        (20, 'backpressure', 200),
    ],
)
def test_capacity_follows_dora(size: int, policy: str, expected: int) -> None:
    assert capacity(size, policy) == expected


def test_messages_of_one_input_keep_their_order() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 3})
    assert [queue.put('a', m) for m in ('1', '2', '3')] == [True] * 3
    assert not queue.empty()
    assert drained(queue) == ['1', '2', '3']
    assert queue.empty()


def test_the_oldest_message_makes_room() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 2, 'b': 2})
    for message in ('1', '2', '3', '4'):
        queue.put('a', message)
    queue.put('b', 'x')
    assert queue.pending('a') == 2
    assert queue.dropped == {'a': 2, 'b': 0}
    assert drained(queue) == ['3', 'x', '4']


def test_the_least_recently_served_input_comes_first() -> None:
    queue: EventQueue[str, str] = EventQueue({'fast': 100, 'slow': 1})
    for number in range(4):
        queue.put('fast', f'f{number}')
    queue.put('slow', 's')
    assert drained(queue) == ['f0', 's', 'f1', 'f2', 'f3']


def test_a_fast_input_cannot_starve_a_slow_one_of_queue_size_one() -> None:
    queue: EventQueue[str, str] = EventQueue({'fast': 1000, 'slow': 1})
    for number in range(1000):
        queue.put('fast', f'f{number}')
    taken = []
    for number in range(10):
        queue.put('slow', f's{number}')
        taken += [queue.pop(), queue.pop()]
    assert [item for item in taken if item and item.startswith('s')] == [f's{n}' for n in range(10)]


def test_a_control_event_stays_between_the_messages_of_its_inputs() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10})
    queue.put('a', '1')
    queue.put_control('closed', ('a',))
    queue.put_control('recovered', ('a',))
    queue.put('a', '2')
    assert drained(queue) == ['1', 'closed', 'recovered', '2']


def test_a_control_event_does_not_wait_for_other_inputs() -> None:
    queue: EventQueue[str, str] = EventQueue({'camera': 1000, 'command': 10})
    for number in range(1000):
        queue.put('camera', str(number))
    queue.put('command', 'go')
    queue.put_control('command closed', ('command',))
    assert drained(queue)[:3] == ['0', 'go', 'command closed']


def test_a_control_event_is_not_held_up_by_one_of_another_input() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10, 'b': 10})
    queue.put('a', '1')
    queue.put_control('a closed', ('a',))
    queue.put_control('b closed', ('b',))
    assert drained(queue) == ['b closed', '1', 'a closed']


def test_control_events_of_overlapping_scope_keep_their_order() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10, 'b': 10})
    queue.put('a', '1')
    queue.put_control('failed', ('a', 'b'))
    queue.put_control('b closed', ('b',))
    assert drained(queue) == ['1', 'failed', 'b closed']


def test_a_control_event_of_unknown_scope_comes_at_once() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10})
    queue.put('a', '1')
    queue.put_control('restarted', ())
    queue.put_control('closed', ('nobody',))
    assert drained(queue) == ['restarted', 'closed', '1']


def test_the_last_event_comes_after_everything_and_nothing_follows() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10, 'b': 10})
    queue.put('a', '1')
    queue.put_control('a closed', ('a',))
    queue.put('b', '2')
    assert queue.finish('stop', at_once=False)
    assert queue.finishing
    assert not queue.put('a', '3')
    assert not queue.put_control('late', ())
    assert drained(queue) == ['1', 'a closed', '2', 'stop']
    assert queue.ended
    assert not queue.finish('again', at_once=True)
    assert queue.pop() is None


def test_a_last_event_at_once_drops_messages_but_no_control_event() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10})
    queue.put('a', '1')
    queue.put_control('a closed', ('a',))
    queue.finish('stop', at_once=True)
    assert drained(queue) == ['a closed', 'stop']
    assert queue.dropped == {'a': 0}


def test_a_last_event_at_once_replaces_one_that_waits() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10})
    queue.put('a', '1')
    queue.finish('all inputs closed', at_once=False)
    assert queue.finish('manual', at_once=True)
    assert drained(queue) == ['manual']


def test_discarding_keeps_control_events() -> None:
    queue: EventQueue[str, str] = EventQueue({'a': 10})
    queue.put('a', '1')
    queue.put_control('closed', ('a',))
    queue.discard()
    assert drained(queue) == ['closed']


INPUTS = ('a', 'b', 'c')
CAPACITIES = {'a': 1, 'b': 3, 'c': 50}


@dataclass(frozen=True)
class Put:
    """A message arrives."""

    input_id: str


@dataclass(frozen=True)
class PutControl:
    """A control event arrives."""

    scope: frozenset[str]


class Pop:
    """The user takes an item."""


def steps() -> SearchStrategy[list[Put | PutControl | Pop]]:
    put = st.sampled_from(INPUTS).map(Put)
    control = st.frozensets(st.sampled_from(INPUTS)).map(PutControl)
    return st.lists(st.one_of(put, control, st.builds(Pop)), max_size=80)


@given(steps())
def test_every_order_that_is_promised_is_kept(script: list[Put | PutControl | Pop]) -> None:
    queue: EventQueue[int, int] = EventQueue(CAPACITIES)
    waiting: dict[str, deque[int]] = {input_id: deque() for input_id in INPUTS}
    controls: dict[int, frozenset[str]] = {}
    history: list[tuple[int, frozenset[str]]] = []
    dropped = dict.fromkeys(INPUTS, 0)

    def pop() -> int | None:
        number = queue.pop()
        if number is None:
            assert not controls
            assert not any(waiting.values())
            return None
        scope = controls.pop(number, None)
        if scope is None:
            owner = next(i for i in INPUTS if waiting[i] and waiting[i][0] == number)
            waiting[owner].popleft()
            scope = frozenset((owner,))
            assert not any(n < number for n, s in controls.items() if owner in s)
        else:
            assert not any(n < number for i in scope for n in waiting[i])
            assert not any(n < number for n, s in controls.items() if s & scope)
        history.append((number, scope))
        return number

    for number, step in enumerate(script):
        if isinstance(step, Put):
            if len(waiting[step.input_id]) == CAPACITIES[step.input_id]:
                waiting[step.input_id].popleft()
                dropped[step.input_id] += 1
            assert queue.put(step.input_id, number)
            waiting[step.input_id].append(number)
        elif isinstance(step, PutControl):
            assert queue.put_control(number, step.scope)
            controls[number] = step.scope
        else:
            pop()
        assert queue.empty() == (not controls and not any(waiting.values()))
    while pop() is not None:
        pass
    assert queue.dropped == dropped
    for input_id in INPUTS:
        numbers = [number for number, scope in history if input_id in scope]
        assert numbers == sorted(numbers)


@given(steps(), st.booleans())
def test_the_last_event_is_the_last(script: list[Put | PutControl | Pop], at_once: bool) -> None:  # noqa: FBT001
    queue: EventQueue[int, int] = EventQueue(CAPACITIES)
    controls = 0
    for number, step in enumerate(script):
        if isinstance(step, Put):
            queue.put(step.input_id, number)
        elif isinstance(step, PutControl):
            queue.put_control(number, step.scope)
            controls += 1
        elif (item := queue.pop()) is not None:
            controls -= isinstance(script[item], PutControl)
    messages = sum(queue.pending(i) for i in INPUTS)
    assert queue.finish(-1, at_once=at_once)
    taken = []
    while (item := queue.pop()) is not None:
        taken.append(item)
    assert taken[-1] == -1
    assert len(taken) == controls + 1 + (0 if at_once else messages)
