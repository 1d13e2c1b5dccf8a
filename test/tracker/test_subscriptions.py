"""InputTracker with rclpy nodes on every executor."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import String

from adora_ros import InputState, InputTracker
from adora_ros.errors import NodeError
from support import eventually
from tracker.turning import Diary

if TYPE_CHECKING:
    from tracker.turning import Turning

TIMEOUT = 0.3
LATENESS = 0.25
"""Seconds by which a callback may be late on a busy machine."""


def test_closes_by_silence_and_recovers_by_a_message(ros: Turning) -> None:
    diary = Diary()
    node = ros.node('base')
    tracker = InputTracker(node)
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10,
        input_timeout=TIMEOUT, on_closed=diary('closed'), on_recovered=diary('recovered'),
    )  # fmt: skip
    assert tracker.state('cmd') is InputState.WAITING
    ros.start()
    talker = ros.publisher(node, String, subscription)
    for number in range(3):
        talker.publish(String(data=str(number)))
    diary.wait('message', 3)
    assert tracker.state('cmd') is InputState.HEALTHY
    assert diary.wait('closed') - diary.time('message') == pytest.approx(TIMEOUT, abs=LATENESS)
    assert tracker.is_closed('cmd')
    assert tracker.closed_inputs() == ('cmd',)
    assert tracker.last_value('cmd').data == '2'
    assert (tracker.age('cmd') or 0.0) >= TIMEOUT
    talker.publish(String(data='again'))
    diary.wait('message', 4)
    assert diary.words[:6] == ['message', 'message', 'message', 'closed', 'recovered', 'message']
    diary.wait('closed', 2)
    assert tracker.input_timeouts == 2
    assert diary.words == ['message', 'message', 'message', 'closed', 'recovered', 'message', 'closed']
    tracker.destroy()


def test_a54_nothing_closes_before_the_first_message(ros: Turning) -> None:
    diary = Diary()
    tracker = InputTracker(ros.node('base'))
    tracker.create_subscription(String, 'cmd', diary('message'), 10, input_timeout=0.05, on_closed=diary('closed'))
    tracker.create_subscription(
        String, 'early', diary('message'), 10, first_message_timeout=0.2, on_closed=diary('early closed')
    )
    ros.start()
    diary.wait('early closed')
    assert diary.words == ['early closed']
    assert tracker.state('cmd') is InputState.WAITING
    tracker.destroy()


def test_a51_a_blocked_callback_does_not_delay_the_closing(ros: Turning) -> None:
    diary, release = Diary(), threading.Event()
    node = ros.node('base')
    tracker = InputTracker(node)

    def block(_: String) -> None:
        diary('message')()
        release.wait(20.0)

    subscription = tracker.create_subscription(
        String, 'cmd', block, 10, input_timeout=TIMEOUT, on_closed=diary('closed')
    )
    ros.start()
    ros.publisher(node, String, subscription).publish(String())
    message = diary.wait('message')
    assert diary.wait('closed') - message == pytest.approx(TIMEOUT, abs=LATENESS)
    assert diary.thread('closed') == 'adora-callbacks'
    release.set()
    tracker.destroy()


def test_a51_simulated_time_that_stands_still_does_not_delay_the_closing(single: Turning) -> None:
    from rclpy.parameter import Parameter  # noqa: PLC0415 - used once

    diary = Diary()
    node = single.node('base', parameter_overrides=[Parameter('use_sim_time', value=True)])
    tracker = InputTracker(node)
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10, input_timeout=TIMEOUT, on_closed=diary('closed')
    )
    single.start()
    single.publisher(node, String, subscription).publish(String())
    message = diary.wait('message')
    assert diary.wait('closed') - message == pytest.approx(TIMEOUT, abs=LATENESS)
    assert node.get_clock().now().nanoseconds == 0
    tracker.destroy()


def test_callbacks_can_run_in_the_executor(ros: Turning) -> None:
    diary = Diary()
    node = ros.node('base')
    tracker = InputTracker(node, callbacks='executor')
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10,
        input_timeout=TIMEOUT, on_closed=diary('closed'), on_recovered=diary('recovered'),
    )  # fmt: skip
    ros.start()
    talker = ros.publisher(node, String, subscription)
    for number in range(1, 4):
        talker.publish(String())
        diary.wait('message', number)
        diary.wait('closed', number)
    assert diary.words == ['message', 'closed', *['recovered', 'message', 'closed'] * 2]
    assert diary.thread('closed') not in {'adora-callbacks', 'adora-inputs'}
    tracker.destroy()


def test_callbacks_in_the_executor_wait_for_one(single: Turning) -> None:
    diary = Diary()
    node = Node('base', context=single.context)
    tracker = InputTracker(node, callbacks='executor')
    tracker.create_subscription(String, 'cmd', diary('m'), 10, first_message_timeout=0.05, on_closed=diary('closed'))
    eventually(lambda: tracker.is_closed('cmd'))
    single.start()
    assert diary.words == []
    single.executor.add_node(node)
    diary.wait('closed')
    tracker.destroy()
    node.destroy_node()


def test_a_callback_that_fails_ends_nothing(single: Turning) -> None:
    diary = Diary()
    tracker = InputTracker(single.node('base'))

    def fail() -> None:
        raise ValueError

    for name, callback in (('a', fail), ('b', diary('closed'))):
        tracker.create_subscription(String, name, diary('m'), 10, first_message_timeout=0.05, on_closed=callback)
    diary.wait('closed')
    tracker.destroy()


def test_a_slow_callback_is_overtaken_by_the_message_but_not_by_another_callback(single: Turning) -> None:
    diary, release = Diary(), threading.Event()
    node = single.node('base')
    tracker = InputTracker(node)

    def slow() -> None:
        release.wait(20.0)
        diary('closed')()

    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10, input_timeout=TIMEOUT, on_closed=slow, on_recovered=diary('recovered')
    )
    single.start()
    talker = single.publisher(node, String, subscription)
    talker.publish(String())
    eventually(lambda: tracker.is_closed('cmd'))
    talker.publish(String())
    diary.wait('message', 2)
    release.set()
    diary.wait('recovered')
    assert diary.words[:4] == ['message', 'message', 'closed', 'recovered']
    tracker.destroy()


@pytest.mark.parametrize('group', [MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup])
def test_any_qos_callback_group_and_kind_of_callback(single: Turning, group: type[Any]) -> None:
    diary = Diary()
    node = single.node('base')
    tracker = InputTracker(node)

    async def on_async(message: String) -> None:
        diary(f'async {message.data}')()

    def with_info(message: String, info: Any) -> None:
        diary(f'info {message.data} {info["source_timestamp"] > 0}')()

    options = {'callback_group': group()}
    subscriptions = [
        tracker.create_subscription(String, 'a', on_async, qos_profile_sensor_data, **options),
        tracker.create_subscription(String, 'b', with_info, 1, **options),
        tracker.create_subscription(String, 'c', diary('raw'), 1, raw=True, input_id='named', **options),
    ]
    single.start()
    for subscription in subscriptions:
        single.publisher(node, String, subscription).publish(String(data='x'))
    for words in ('async x', 'info x True', 'raw'):
        diary.wait(words)
    assert [tracker.state(name) for name in ('a', 'b', 'named')] == [InputState.HEALTHY] * 3
    assert isinstance(tracker.last_value('named'), bytes)
    tracker.destroy()


def test_an_incompatible_publisher_is_reported_as_such(ros: Turning) -> None:
    diary, seen = Diary(), list[Any]()
    policies: list[str] = []
    node = ros.node('base')
    tracker = InputTracker(node)
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10,
        first_message_timeout=60.0, on_closed=diary('closed'), on_incompatible_qos=policies.append,
        event_callbacks=SubscriptionEventCallbacks(incompatible_qos=seen.append),
    )  # fmt: skip
    assert tracker.incompatible_qos('cmd') is None
    ros.start()
    quiet = PublisherEventCallbacks(use_default_callbacks=False)
    talker = ros.node('talker')
    talker.create_publisher(String, subscription.topic_name, qos_profile_sensor_data, event_callbacks=quiet)
    eventually(lambda: policies, 20.0)
    assert policies == ['reliability']
    assert tracker.incompatible_qos('cmd') == 'reliability'
    assert [info.total_count for info in seen] == [1]
    assert diary.words == []
    tracker.destroy()


def test_destroy_ends_everything(single: Turning) -> None:
    diary = Diary()
    node = single.node('base')
    tracker = InputTracker(node)
    tracker.create_subscription(String, 'cmd', diary('m'), 10, first_message_timeout=0.1, on_closed=diary('closed'))
    threads = {thread for thread in threading.enumerate() if thread.name.startswith('adora-')}
    tracker.destroy()
    eventually(lambda: not any(thread.is_alive() for thread in threads))
    assert diary.words == []
    assert list(node.subscriptions) == []
    tracker.destroy()
    with pytest.raises(NodeError, match='was destroyed'):
        tracker.create_subscription(String, 'cmd', diary('m'), 10)


@pytest.mark.parametrize('end', ['destroy_node', 'shutdown'])
def test_a_node_that_is_gone_ends_its_tracker(single: Turning, end: str) -> None:
    diary = Diary()
    node = single.node('base')
    tracker = InputTracker(node)
    tracker.create_subscription(String, 'cmd', diary('m'), 10, first_message_timeout=0.2, on_closed=diary('closed'))
    (thread,) = (t for t in threading.enumerate() if t.name == 'adora-inputs')
    if end == 'shutdown':
        single.context.shutdown()
    else:
        node.destroy_node()
    thread.join(5.0)
    assert not thread.is_alive()
    assert diary.words == []


def test_what_is_tracked_twice_or_without_a_node_is_an_error(single: Turning) -> None:
    tracker = InputTracker(single.node('base'))
    tracker.create_subscription(String, 'cmd', [].append, 10)
    with pytest.raises(NodeError, match="input 'cmd' is tracked already: give the second one an input_id"):
        tracker.create_subscription(String, 'cmd', [].append, 10)
    tracker.create_subscription(String, 'cmd', [].append, 10, input_id='second')
    tracker.destroy()
    with pytest.raises(NodeError, match='has no node: make one with'):
        InputTracker(['image']).create_subscription(String, 'cmd', [].append, 10)


def test_a_subscription_that_cannot_be_made_leaves_its_name_free(single: Turning) -> None:
    tracker = InputTracker(single.node('base'))
    with pytest.raises(InvalidTopicNameException):
        tracker.create_subscription(String, 'a topic', [].append, 10, input_id='cmd')
    tracker.create_subscription(String, 'topic', [].append, 10, input_id='cmd')
    tracker.destroy()


def test_a_process_that_stood_still_was_not_silent(single: Turning) -> None:
    diary = Diary()
    node = single.node('base')
    pause = threading.Event()

    def clock() -> float:
        return time.monotonic() + (1000.0 if pause.is_set() else 0.0)

    tracker = InputTracker(node, clock=clock)
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10, input_timeout=5.0, on_closed=diary('closed')
    )
    single.start()
    talker = single.publisher(node, String, subscription)
    talker.publish(String())
    diary.wait('message')
    with tracker._changed:
        pause.set()
        talker.publish(String())
        tracker._changed.notify_all()
    diary.wait('message', 2)
    assert diary.words == ['message', 'message']
    assert tracker.state('cmd') is InputState.HEALTHY
    tracker.destroy()
