"""The watchdog of a consumer needs neither its manager nor its network."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Runs

TIMEOUT = 0.5
LATENESS = 0.3
DEADLINE = 30.0


@pytest.mark.parametrize('consumer', ['node_api', 'rclpy'])
def test_a50_the_consumer_brakes_while_its_manager_does_nothing(flow: Flow, run: Runs, consumer: str) -> None:
    command = {'cmd': {'source': 'src/cmd', 'input_timeout': TIMEOUT}}
    typed = {'cmd': {'type': 'std_msgs/msg/String'}}
    flow.node('src', 'commanding.py', inputs={'tick': 'dora/timer/millis/50'}, outputs=typed)
    if consumer == 'rclpy':
        flow.ros_node('base', 'tracking_base.py', ros={'arguments': str(TIMEOUT)}, inputs={'cmd': 'src/cmd'})
    else:
        flow.node('base', 'braking_base.py', inputs=command)
    manager = run(flow).running()
    eventually(lambda: flow.marked('base', 'drive'), DEADLINE)
    source, base = flow.pid('src', 0), flow.pid('base', 0)
    manager.process.send_signal(signal.SIGSTOP)
    try:
        os.kill(source, signal.SIGSTOP)
        stopped = time.monotonic()
        eventually(lambda: flow.marked('base', 'brake'), DEADLINE)
        assert time.monotonic() - stopped == pytest.approx(TIMEOUT, abs=LATENESS)
        os.kill(source, signal.SIGCONT)
        eventually(lambda: flow.marked('base', 'resume'), DEADLINE)
        os.kill(base, 0)
    finally:
        os.kill(source, signal.SIGCONT)
        manager.process.send_signal(signal.SIGCONT)
    assert manager.interrupt() == 130
    assert flow.marks('base').count('0 brake') == 1
    assert manager.restarts() == {'src': 0, 'base': 0}


def test_a49_the_consumer_brakes_when_its_source_is_killed(flow: Flow, run: Runs) -> None:
    flow.node(
        'src', 'commanding.py',
        inputs={'tick': 'dora/timer/millis/50'}, outputs={'cmd': {'type': 'std_msgs/msg/String'}},
        restart_policy='on-failure', restart_delay=2.0,
    )  # fmt: skip
    flow.ros_node('base', 'tracking_base.py', ros={'arguments': str(TIMEOUT)}, inputs={'cmd': 'src/cmd'})
    manager = run(flow).running()
    eventually(lambda: flow.marked('base', 'drive'), DEADLINE)
    os.kill(flow.pid('src', 0), signal.SIGKILL)
    killed = time.monotonic()
    eventually(lambda: flow.marked('base', 'brake'), DEADLINE)
    assert time.monotonic() - killed == pytest.approx(TIMEOUT, abs=LATENESS)
    eventually(lambda: flow.marked('base', 'source restarted src'), DEADLINE)
    eventually(lambda: flow.marked('base', 'resume'), DEADLINE)
    assert manager.interrupt() == 130
    words = [line.partition(' ')[2] for line in flow.marks('base') if not line.endswith('drive')]
    assert words[1:3] == ['brake', 'resume'] or words[1:4] == ['brake', 'source restarted src', 'resume']
