"""Rows of the acceptance table on lifecycles, with real processes; ``ros:`` nodes are plain rclpy."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from lifecycle_msgs.msg import Transition

from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Runs
    from manager.observer import Observer

DATA = {'data': {'type': 'std_msgs/msg/String'}}


def test_a31_a_killed_lifecycle_node_becomes_active_again(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.ros_node('n', 'lifecycle_node.py', restart_policy='on-failure', restart_delay=0.05)
    manager = run(flow).running()
    assert observer.state('/flow/n') == 'active'
    for number in range(2):
        os.kill(flow.pid('n', number), signal.SIGKILL)
        manager.event('NODE_RESTARTED', 'n', count=number + 1)
    assert flow.marked('n', 'configure unconfigured') == [0, 1, 2]
    assert flow.marked('n', 'activate inactive') == [0, 1, 2]
    eventually(lambda: observer.state('/flow/n') == 'active')
    assert manager.errors() == []
    assert manager.interrupt() == 130


def test_a31_a_killed_node_of_the_node_api_becomes_active_again(flow: Flow, run: Runs, observer: Observer) -> None:
    inputs = {'tick': 'dora/timer/millis/50'}
    flow.node('n', 'events.py', inputs=inputs, restart_policy='on-failure', restart_delay=0.05)
    manager = run(flow).running()
    assert observer.state('/flow/n') == 'active'
    os.kill(flow.pid('n', 0), signal.SIGKILL)
    manager.event('NODE_RESTARTED', 'n')
    eventually(lambda: 1 in flow.marked('n', 'INPUT tick'))
    eventually(lambda: observer.state('/flow/n') == 'active')
    assert manager.interrupt() == 130


def test_a32_a_failed_configuration_is_a_failed_node(flow: Flow, run: Runs) -> None:
    broken = {'parameters': {'broken': True}}
    flow.ros_node('n', 'lifecycle_node.py', ros=broken, outputs=DATA)
    flow.ros_node('downstream', 'lifecycle_node.py', inputs={'data': 'n/data'})
    flow.ros_node('bystander', 'lifecycle_node.py')
    manager = run(flow).running()
    manager.event('NODE_UP', 'bystander')
    assert manager.texts('NODE_ENDED') == ['failed: lifecycle: configure failed in /flow/n (see its log)']
    assert manager.interrupt() == 1
    assert flow.marked('n', 'configure unconfigured') == [0]
    assert flow.marked('n', 'activate inactive') == []
    assert flow.marked('bystander', 'activate inactive') == [0]
    assert flow.marked('downstream', 'configure unconfigured') == [0]
    assert flow.marked('downstream', 'activate inactive') == []
    assert manager.states() == {'n': 'failed', 'downstream': 'stopped', 'bystander': 'stopped'}
    assert manager.outcome['result']['failures'][0]['node'] == 'n'


def test_a32_a_failed_configuration_ends_what_only_listens_to_it(flow: Flow, run: Runs) -> None:
    flow.ros_node('n', 'lifecycle_node.py', ros={'parameters': {'broken': True}}, outputs=DATA)
    flow.node('listener', 'events.py', inputs={'data': 'n/data'})
    manager = run(flow)
    assert manager.wait() == 1
    assert manager.states() == {'n': 'failed', 'listener': 'finished'}
    assert [line.split()[1] for line in flow.marks('listener')] == ['pid', 'NODE_FAILED', 'INPUT_CLOSED', 'STOP', 'end']
    assert manager.all('NODE_UP') == []


def test_a32_a_failed_configuration_is_retried_by_the_policy(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'max_restarts': 2}
    flow.ros_node('n', 'lifecycle_node.py', ros={'parameters': {'broken': True}}, **keys)
    manager = run(flow)
    assert manager.wait() == 1
    assert flow.marked('n', 'configure unconfigured') == [0, 1, 2]
    assert manager.states() == {'n': 'failed'}


def test_a33_a_node_that_activates_itself_is_asked_for_nothing(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.ros_node('n', 'lifecycle_node.py', ros={'parameters': {'autostart': True}})
    manager = run(flow).running()
    assert observer.state('/flow/n') == 'active'
    assert flow.marked('n', 'configure unconfigured') == [0]
    assert flow.marked('n', 'activate inactive') == [0]
    assert manager.interrupt() == 130
    assert flow.marked('n', 'deactivate active') == [0]
    assert manager.restarts() == {'n': 0}
    assert [line for line in manager.output if 'nvalid' in line['line']] == []


def test_a33_a_node_that_an_operator_deactivated_is_not_deactivated_again(
    flow: Flow, run: Runs, observer: Observer
) -> None:
    flow.ros_node('n', 'lifecycle_node.py')
    manager = run(flow).running()
    assert observer.change_state('/flow/n', Transition.TRANSITION_DEACTIVATE)
    assert manager.interrupt() == 130
    assert flow.marked('n', 'deactivate active') == [0]
    assert flow.marked('n', 'interrupted') == [0]
    assert [line for line in manager.output if 'nvalid' in line['line']] == []


def test_a34_a_failed_transition_shows_its_reason_and_leaves_a_traceback(flow: Flow, run: Runs) -> None:
    flow.node('n', 'events.py', inputs={'data': {'topic': '/data', 'type': 'no_such_msgs/msg/Nothing'}})
    manager = run(flow)
    assert manager.wait() == 1
    (reason,) = manager.texts('NODE_ENDED')
    assert reason.startswith('failed: lifecycle: ')
    assert 'no_such_msgs/msg/Nothing' in reason
    lines = [line['line'] for line in manager.output]
    assert any('on_configure failed:' in line for line in lines)
    assert 'Traceback (most recent call last):' in lines
    assert manager.outcome['statuses'][0]['error'] in reason
    assert manager.states() == {'n': 'failed'}
