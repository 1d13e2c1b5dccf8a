"""The inbox on a fake clock, without ROS and without a manager."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from adora_ros.inputs import InputClosed, InputRecovered, NodeFailed, NodeRestarted, Stop, StopCause
from adora_ros.node.inbox import LATE, Inbox, Phase
from adora_ros.node.items import ExternalMessage, Item, Message, Tick
from adora_ros.transport.contract import InputConfig, NodeOp

CAMERA = InputConfig(id='camera', source='cam/image', node='cam', topic='/df/cam/image', input_timeout=1.0)
LIDAR = InputConfig(
    id='lidar', source='lid/scan', node='lid', topic='/df/lid/scan', queue_size=2, first_message_timeout=2.0
)
TIMER = InputConfig(id='tick', source='dora/timer/millis/500', period=0.5)


class World:
    """An inbox, the time that it sees, and what it reports."""

    def __init__(self, *inputs: InputConfig) -> None:
        self.now = 100.0
        self.reports: list[tuple[NodeOp, dict[str, Any]]] = []
        self.opened: list[str] = []
        self.inbox = Inbox(
            inputs,
            post=self._post,
            flush=lambda: None,
            clock=lambda: self.now,
            wall_clock=lambda: int(self.now * 1e9),
        )

    def _post(self, op: NodeOp, **keys: Any) -> None:
        if op is NodeOp.INPUT_OPENED:
            self.opened.append(keys['input'])
        else:
            self.reports.append((op, keys))

    def at(self, now: float) -> World:
        self.now = now
        with self.inbox._lock:
            self.inbox._advance(now)
        return self

    def taken(self) -> list[Any]:
        """Take everything: payloads of messages, ids of ticks, control events as they are."""
        items: list[Any] = []
        while (item := self.inbox.take(0.0)) is not None:
            if isinstance(item, Message):
                items.append(item.payload)
            elif isinstance(item, Tick):
                items.append((item.input_id, item.timestamp / 1e9))
            else:
                items.append(item)
        return items


@pytest.fixture
def world() -> World:
    return World(CAMERA, LIDAR)


def active(*inputs: InputConfig) -> World:
    world = World(*inputs)
    world.inbox.activate()
    return world


def test_messages_before_the_activation_wait_and_none_is_lost(world: World) -> None:
    world.inbox.message('camera', 1)
    world.inbox.message('camera', 2)
    assert world.inbox.empty()
    assert world.taken() == []
    world.inbox.activate()
    assert not world.inbox.empty()
    assert world.taken() == [1, 2]


def test_control_events_before_the_activation_wait_as_well(world: World) -> None:
    world.inbox.node_restarted('cam')
    assert world.taken() == []
    world.inbox.activate()
    assert world.taken() == [NodeRestarted('cam')]


def test_messages_that_waited_for_the_activation_arm_the_watchdog(world: World) -> None:
    world.inbox.message('camera', 1)
    world.at(105.0).inbox.activate()
    assert world.at(105.9).taken() == [1]
    assert world.at(106.0).taken() == [InputClosed('camera')]


def test_a_paused_node_gets_no_message_and_what_waited_is_dropped() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.inbox.pause()
    assert world.inbox.phase is Phase.PAUSED
    world.inbox.message('camera', 2)
    assert world.at(200.0).taken() == []
    world.inbox.activate()
    world.inbox.message('camera', 3)
    assert world.taken() == [3]
    assert world.reports == []
    assert world.opened == ['camera']


def test_a_paused_node_still_gets_control_events() -> None:
    world = active(CAMERA)
    world.inbox.pause()
    world.inbox.close_input('camera')
    assert world.taken() == [InputClosed('camera')]


def test_activation_arms_anew_after_a_pause() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.inbox.pause()
    world.at(150.0).inbox.activate()
    assert world.at(150.9).reports == []
    assert world.at(151.0).reports == [(NodeOp.INPUT_CLOSED, {'input': 'camera', 'age': 1.0})]


def test_pausing_before_the_activation_changes_nothing(world: World) -> None:
    world.inbox.pause()
    assert world.inbox.phase is Phase.WAITING


def test_timers_tick_from_the_activation_on() -> None:
    world = World(TIMER)
    assert world.at(99.0).taken() == []
    world.inbox.activate()
    ticks = [tick for now in (99.0, 99.2, 99.5, 100.0) for tick in world.at(now).taken()]
    assert ticks == [('tick', 99.0), ('tick', 99.5), ('tick', 100.0)]


def test_timers_stop_while_paused_and_begin_anew() -> None:
    world = active(TIMER)
    world.at(100.0).taken()
    world.inbox.pause()
    assert world.at(105.0).taken() == []
    world.at(105.3).inbox.activate()
    assert world.at(105.3).taken() == [('tick', 105.3)]


def test_a52_silence_and_recovery_come_in_order_and_are_reported_once() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.at(100.999)
    assert world.reports == []
    world.at(101.0)
    world.at(101.5)
    world.at(109.0).inbox.message('camera', 2)
    world.inbox.message('camera', 3)
    assert world.taken() == [1, InputClosed('camera'), InputRecovered('camera'), 2, 3]
    assert world.reports == [
        (NodeOp.INPUT_CLOSED, {'input': 'camera', 'age': 1.0}),
        (NodeOp.INPUT_RECOVERED, {'input': 'camera'}),
    ]


def test_a52_a_slow_consumer_is_no_silence() -> None:
    world = active(CAMERA)
    for step in range(100):
        world.at(100.0 + step * 0.9).inbox.message('camera', step)
    assert world.reports == []
    assert world.taken() == list(range(90, 100))


def test_a53_a54_nothing_is_closed_before_its_first_message() -> None:
    world = active(CAMERA)
    assert world.at(1e6).taken() == []
    assert world.reports == []


def test_a53_silence_from_the_start_counts_on_request() -> None:
    world = active(LIDAR)
    assert world.at(101.9).taken() == []
    assert world.at(102.0).taken() == [InputClosed('lidar')]


def test_a_timer_is_not_watched() -> None:
    world = active(InputConfig(id='tick', source='dora/timer/secs/1', period=1.0, input_timeout=0.1))
    world.at(100.0)
    assert world.at(100.9).reports == []


def test_an_input_closed_for_good_comes_after_its_messages_and_never_again() -> None:
    world = active(CAMERA, LIDAR)
    world.inbox.message('lidar', 'l')
    world.inbox.message('camera', 1)
    world.inbox.close_input('camera')
    assert world.taken() == [1, InputClosed('camera'), 'l']
    assert world.at(500.0).reports == []


def test_an_input_that_silence_has_closed_is_not_closed_again() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.at(101.0).inbox.close_input('camera')
    world.inbox.close_input('camera')
    assert world.taken() == [1, InputClosed('camera')]


def test_a_failed_node_is_told_after_the_messages_of_its_inputs() -> None:
    world = active(CAMERA, LIDAR)
    world.inbox.message('camera', 1)
    world.inbox.node_failed('cam', 'exited with code 3', ['camera'])
    world.inbox.close_input('camera')
    assert world.taken() == [1, NodeFailed('cam', 'exited with code 3', ('camera',)), InputClosed('camera')]


def test_a_source_that_had_ended_and_is_started_again_reopens_its_inputs() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.inbox.close_input('camera')
    world.inbox.node_restarted('cam')
    world.inbox.message('camera', 2)
    world.at(101.0)
    assert world.taken() == [
        1,
        InputClosed('camera'),
        NodeRestarted('cam'),
        InputRecovered('camera'),
        2,
        InputClosed('camera'),
    ]


def test_a_restarted_node_is_told_between_the_messages_of_its_incarnations() -> None:
    world = active(CAMERA, LIDAR)
    world.inbox.message('camera', 'old')
    world.inbox.node_restarted('cam')
    world.inbox.message('camera', 'new')
    assert world.taken() == ['old', NodeRestarted('cam'), 'new']


def test_all_inputs_closed_comes_after_every_message() -> None:
    world = active(CAMERA, LIDAR, TIMER)
    world.inbox.message('camera', 1)
    world.inbox.close_input('camera')
    world.inbox.message('lidar', 2)
    world.inbox.stop(StopCause.ALL_INPUTS_CLOSED)
    world.inbox.message('lidar', 3)
    taken = world.at(200.0).taken()
    assert taken[-1] == Stop(StopCause.ALL_INPUTS_CLOSED)
    assert taken[:-1] in ([1, InputClosed('camera'), 2], [1, 2, InputClosed('camera')])
    assert world.inbox.ended
    assert world.taken() == []


def test_a_stop_drops_messages_and_ends_timers_and_watchdogs() -> None:
    world = active(CAMERA, TIMER)
    world.inbox.message('camera', 1)
    world.inbox.node_restarted('cam')
    world.inbox.stop(StopCause.MANUAL)
    assert world.inbox.phase is Phase.STOPPING
    assert not world.inbox.ended
    world.inbox.message('camera', 2)
    assert world.at(500.0).taken() == [NodeRestarted('cam'), Stop(StopCause.MANUAL)]
    assert world.reports == []


def test_a_stop_overtakes_the_messages_before_all_inputs_closed() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.inbox.stop(StopCause.ALL_INPUTS_CLOSED)
    world.inbox.stop(StopCause.MANUAL)
    assert world.taken() == [Stop(StopCause.MANUAL)]


def test_a_stop_before_the_activation_opens_the_barrier(world: World) -> None:
    assert not world.inbox.wait_activated(0.0)
    world.inbox.stop(StopCause.MANUAL)
    assert world.inbox.wait_activated(0.0)
    assert world.taken() == [Stop(StopCause.MANUAL)]
    world.inbox.activate()
    assert world.inbox.phase is Phase.STOPPING


def test_listeners_hear_of_every_kind_of_item_until_removed() -> None:
    world = active(CAMERA, TIMER)
    heard = list[int]()

    def listener() -> None:
        heard.append(1)

    world.inbox.add_listener(listener)
    world.inbox.message('camera', 1)
    world.inbox.close_input('camera')
    world.at(100.0)
    world.inbox.stop(StopCause.MANUAL)
    assert len(heard) == 4
    world.inbox.remove_listener(listener)
    world.inbox.close()
    assert len(heard) == 4


def test_when_the_process_stood_still_messages_get_the_first_word() -> None:
    """The clock thread wakes late: what ROS delivers in the grace that follows is no silence."""
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.now = 101.0 + 2 * LATE

    def deliver(timeout: float | None = None) -> bool:
        assert timeout == LATE
        world.inbox._watchdog.message('camera', world.now)
        return True

    with pytest.MonkeyPatch.context() as patch, world.inbox._lock:
        patch.setattr(world.inbox._rearmed, 'wait', deliver)
        world.inbox._catch_up()
        world.inbox._advance(world.now)
    assert world.reports == []


def test_a_deadline_that_is_met_in_time_gets_no_grace() -> None:
    world = active(CAMERA)
    world.inbox.message('camera', 1)
    world.now = 101.0

    def refuse(_timeout: float | None = None) -> bool:
        pytest.fail('waited')

    with pytest.MonkeyPatch.context() as patch, world.inbox._lock:
        patch.setattr(world.inbox._rearmed, 'wait', refuse)
        world.inbox._catch_up()


def test_the_clock_thread_tells_what_a_message_has_brought_and_has_nothing_else_to_do() -> None:
    posted: list[NodeOp] = []
    told = threading.Event()

    def flush() -> None:
        if posted:
            told.set()

    inbox = Inbox([LIDAR], post=lambda op, **_: posted.append(op), flush=flush)
    thread = threading.Thread(target=inbox.run_clock)
    thread.start()
    inbox.activate()
    inbox.message('lidar', 1)
    assert told.wait(5.0)
    assert posted == [NodeOp.INPUT_OPENED]
    inbox.close()
    thread.join(5.0)
    assert not thread.is_alive()


def test_the_clock_thread_delivers_on_the_real_clock_and_ends() -> None:
    inbox = Inbox(
        [InputConfig(id='tick', source='dora/timer/millis/10', period=0.01), CAMERA],
        post=lambda *_a, **_k: None,
        flush=lambda: None,
    )
    thread = threading.Thread(target=inbox.run_clock)
    thread.start()
    inbox.activate()
    items = [inbox.take(5.0) for _ in range(5)]
    inbox.close()
    thread.join(5.0)
    assert not thread.is_alive()
    stamps = [item.timestamp for item in items if isinstance(item, Tick)]
    assert len(stamps) == 5
    assert stamps == sorted(stamps)


def test_a_flushing_message_drops_those_before_it_on_its_input_only() -> None:
    world = active(CAMERA, LIDAR)
    for payload in (1, 2):
        world.inbox.message('camera', payload)
    world.inbox.message('lidar', 'scan')
    world.inbox.message('camera', 3, flush=True)
    assert sorted(map(str, world.taken())) == ['3', 'scan']


def test_messages_of_a_merged_subscription_take_turns_and_the_oldest_makes_room() -> None:
    world = active(CAMERA)
    put = world.inbox.add_external(2)
    for payload in (1, 2):
        world.inbox.message('camera', payload)
    for message in 'abc':
        put(message)
    assert world.taken() == [1, ExternalMessage('b'), 2, ExternalMessage('c')]
    world.inbox.stop(StopCause.MANUAL)
    put('late')
    assert world.taken() == [Stop(StopCause.MANUAL)]


def test_closing_wakes_a_waiting_reader() -> None:
    world = active(CAMERA)
    taken: list[Item | None] = []
    thread = threading.Thread(target=lambda: taken.append(world.inbox.take(60.0)))
    thread.start()
    world.inbox.close()
    thread.join(5.0)
    assert taken == [None]


def test_an_input_with_backpressure_says_once_that_it_cannot_hold_everything() -> None:
    held = InputConfig(id='held', source='a/o', node='a', topic='/df/a/o', queue_size=1, queue_policy='backpressure')
    plain = InputConfig(id='plain', source='a/o', node='a', topic='/df/a/o', queue_size=1)
    world = active(held, plain)
    for number in range(100):
        world.inbox.message('held', number)
        world.inbox.message('plain', number)
    assert world.reports == []
    for number in range(100, 103):
        world.inbox.message('held', number)
    ((op, keys),) = world.reports
    assert op is NodeOp.WARNING
    assert keys['text'].startswith("input 'held': 100 messages wait, more are dropped")
    assert world.taken()[0:4:2] == [3, 4]
