"""InputTracker in a lifecycle node, and what it hears of a dataflow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import String

from adora_ros import InputState, InputTracker
from adora_ros.errors import NodeError
from adora_ros.manager.diagnostics import event_message
from adora_ros.manager.events import EventKind, Level, ManagerEvent
from adora_ros.manager.ros import EVENTS_QOS
from adora_ros.transport.contract import CONFIG_VARIABLE, InputConfig, NodeConfig
from support import eventually
from tracker.turning import DEADLINE, Diary

if TYPE_CHECKING:
    from tracker.turning import Turning

TIMEOUT = 0.2


class Reticent(LifecycleNode):
    """A lifecycle node whose callbacks do not call their base class, so that no managed entity hears of them."""

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Succeed."""
        del state
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Succeed."""
        del state
        return TransitionCallbackReturn.SUCCESS


@pytest.mark.parametrize('kind', [LifecycleNode, Reticent])
def test_nothing_closes_while_the_node_is_not_active(ros: Turning, kind: type[LifecycleNode]) -> None:
    diary = Diary()
    node = ros.lifecycle_node(kind)
    tracker = InputTracker(node)
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10,
        input_timeout=TIMEOUT, first_message_timeout=TIMEOUT,
        on_closed=diary('closed'), on_recovered=diary('recovered'),
    )  # fmt: skip
    ros.start()
    talker = ros.publisher(node, String, subscription)
    talker.publish(String())
    diary.wait('message')
    time.sleep(2 * TIMEOUT)
    assert diary.words == ['message']
    assert tracker.state('cmd') is InputState.WAITING
    node.trigger_configure()
    node.trigger_activate()
    activated = time.monotonic()
    assert TIMEOUT / 2 < diary.wait('closed') - activated < 2.0
    node.trigger_deactivate()
    talker.publish(String())
    diary.wait('message', 2)
    time.sleep(2 * TIMEOUT)
    assert diary.words == ['message', 'closed', 'message']
    node.trigger_activate()
    talker.publish(String())
    diary.wait('closed', 2)
    assert diary.words == ['message', 'closed', 'message', 'recovered', 'message', 'closed']
    tracker.destroy()


def test_activation_arms_anew(single: Turning) -> None:
    diary = Diary()
    node = single.lifecycle_node()
    tracker = InputTracker(node)
    subscription = tracker.create_subscription(
        String, 'cmd', diary('message'), 10, input_timeout=TIMEOUT, on_closed=diary('closed')
    )
    node.trigger_configure()
    node.trigger_activate()
    single.start()
    single.publisher(node, String, subscription).publish(String())
    diary.wait('message')
    node.trigger_deactivate()
    time.sleep(2 * TIMEOUT)
    assert diary.words == ['message']
    node.trigger_activate()
    activated = time.monotonic()
    assert diary.wait('closed') - activated > TIMEOUT / 2
    tracker.destroy()


class News:
    """The events topic of a dataflow."""

    def __init__(self, ros: Turning, topic: str) -> None:
        self._publisher = ros.node('manager').create_publisher(DiagnosticArray, topic, EVENTS_QOS)
        self._seq = 0

    def restarted(self, node: str, *, stamp: int | None = None) -> None:
        """Publish that a node has been restarted."""
        self._seq += 1
        event = ManagerEvent(
            seq=self._seq, stamp=stamp or time.time_ns(), level=Level.INFO, kind=EventKind.NODE_RESTARTED,
            node=node, incarnation=self._seq, text='up again',
        )  # fmt: skip
        self._publisher.publish(event_message(event, dataflow='robot', machine='here'))


def _closed_input(ros: Turning, diary: Diary, tracker: InputTracker, node: Any) -> Any:
    """Return a publisher for an input that it fed and that silence has closed."""
    subscription = tracker.create_subscription(
        String, 'imu', diary('message'), 10,
        input_timeout=TIMEOUT, on_closed=diary('closed'), on_recovered=diary('recovered'),
    )  # fmt: skip
    ros.start()
    talker = ros.publisher(node, String, subscription)
    talker.publish(String(data='kept'))
    diary.wait('closed')
    return talker


def test_a55_a_restart_of_the_source_makes_a_closed_input_healthy_and_keeps_its_value(ros: Turning) -> None:
    diary = Diary()
    node = ros.node('base', namespace='/robot')
    tracker = InputTracker(node, sources={'imu': 'driver'}, on_node_restarted=lambda name: diary(f'restarted {name}')())
    news = News(ros, '/robot/events')
    news.restarted('driver', stamp=1)
    talker = _closed_input(ros, diary, tracker, node)
    news.restarted('camera')
    news.restarted('driver')
    diary.wait('restarted driver')
    assert tracker.last_value('imu').data == 'kept'
    assert (tracker.age('imu') or 0.0) >= TIMEOUT
    eventually(lambda: tracker.input_timeouts == 2, DEADLINE)
    assert tracker.is_closed('imu')
    assert diary.words == ['message', 'closed', 'restarted driver']
    talker.publish(String())
    diary.wait('message', 2)
    assert diary.words[:5] == ['message', 'closed', 'restarted driver', 'recovered', 'message']
    tracker.destroy()


def test_a_restart_makes_an_input_healthy_until_silence_closes_it_again(single: Turning) -> None:
    diary = Diary()
    node = single.node('base')
    tracker = InputTracker(
        node,
        sources={'imu': 'driver'},
        dataflow='robot',
        on_node_restarted=lambda _: diary(str(tracker.state('imu')))(),
    )
    news = News(single, '/robot/events')
    _closed_input(single, diary, tracker, node)
    news.restarted('driver')
    diary.wait(str(InputState.HEALTHY))
    eventually(lambda: tracker.is_closed('imu'), DEADLINE)
    tracker.destroy()


def test_a_node_that_a_manager_started_knows_its_sources(single: Turning, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = (InputConfig(id='imu', source='driver/imu', node='driver', topic='/robot/driver/imu'),)
    config = NodeConfig(
        dataflow='robot', dataflow_id='1', namespace='/robot', node_id='base', name='base', inputs=inputs
    )
    monkeypatch.setenv(CONFIG_VARIABLE, config.to_json())
    diary = Diary()
    node = single.node('base', cli_args=['--ros-args', '-r', 'imu:=/robot/driver/imu'])
    tracker = InputTracker(node, on_node_restarted=diary('restarted'))
    news = News(single, '/robot/events')
    _closed_input(single, diary, tracker, node)
    news.restarted('driver')
    diary.wait('restarted')
    tracker.destroy()


def test_sources_need_a_dataflow(single: Turning) -> None:
    with pytest.raises(NodeError, match='this node has no namespace that tells which: give dataflow="name"'):
        InputTracker(single.node('base'), sources={'imu': 'driver'})
