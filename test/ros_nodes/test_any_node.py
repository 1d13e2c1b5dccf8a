"""Existing ROS 2 nodes in a dataflow, as they are: plain ones, two in one process, from a package, in C++."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import String

from manager.harness import DEADLINE, NODES
from support import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from manager.harness import Flow, Runs
    from manager.observer import Observer

STRING = 'std_msgs/msg/String'


def _ask(flow: Flow, **inputs: Any) -> None:
    """Add a node of the Node API that asks, and gets the answers on ``inputs``."""
    tick = {'tick': 'dora/timer/millis/50'}
    flow.node('ask', 'asking.py', 'why', inputs={**tick, **inputs}, outputs={'question': {'type': STRING}})


def _answers(flow: Flow, words: str) -> None:
    eventually(lambda: flow.marked('ask', f'answer {words}'), DEADLINE, f'{words}: {flow.marks("ask")[-3:]}')


def test_a_plain_node_with_parameters_remappings_and_a_namespace(flow: Flow, run: Runs) -> None:
    ros = {'parameters': {'prefix': 'p q'}, 'namespace': 'left', 'name': 'answerer', 'remappings': {'answer': 'reply'}}
    flow.ros_node('n', 'answering.py', ros=ros, inputs={'question': 'ask/question'})
    _ask(flow, reply={'topic': '/flow/left/reply', 'type': STRING})
    manager = run(flow).running()
    _answers(flow, '/flow/left/answerer p q why')
    assert manager.interrupt() == 130
    assert flow.marked('n', 'interrupted') == [0]
    assert manager.errors() == []


def test_a_plain_node_with_a_parameter_file_and_ports(flow: Flow, run: Runs) -> None:
    (flow.folder / 'p.yaml').write_text('/**:\n  ros__parameters:\n    prefix: filed\n')
    flow.ros_node(
        'n', 'answering.py', ros={'parameters': 'p.yaml'}, inputs={'question': 'ask/question'}, outputs=['answer']
    )
    _ask(flow, answer={'source': 'n/answer', 'type': STRING})
    manager = run(flow).running()
    _answers(flow, '/flow/n filed why')
    assert manager.interrupt() == 130


def test_two_nodes_in_one_process_keep_apart(flow: Flow, run: Runs) -> None:
    ros = {'arguments': 'second', 'remappings': {'second:__node': 'other', 'second:answer': '/flow/other/answer'}}
    flow.ros_node('n', 'answering.py', ros=ros, inputs={'question': 'ask/question'}, outputs=['answer'])
    _ask(
        flow,
        first={'source': 'n/answer', 'type': STRING},
        second={'topic': '/flow/other/answer', 'type': STRING},
    )
    manager = run(flow).running()
    _answers(flow, '/flow/n none why')
    _answers(flow, '/flow/other none why')
    assert sorted(line for line in flow.marks('n') if 'name' in line) == ['0 name /flow/n', '0 name /flow/other']
    assert manager.interrupt() == 130


def test_an_executable_of_a_package(flow: Flow, run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip('ament_index_python')
    prefix = tmp_path / 'prefix'
    (prefix / 'share/ament_index/resource_index/packages').mkdir(parents=True)
    (prefix / 'share/ament_index/resource_index/packages/answers').touch()
    executable = prefix / 'lib/answers/answering'
    executable.parent.mkdir(parents=True)
    executable.write_text(f'#!/bin/sh\nexec {sys.executable} {NODES / "answering.py"} "$@"\n')
    executable.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}:{os.environ.get("AMENT_PREFIX_PATH", "")}')
    flow.any_node(
        'n',
        ros={'package': 'answers', 'executable': 'answering'},
        inputs={'question': 'ask/question'},
        outputs=['answer'],
    )
    _ask(flow, answer={'source': 'n/answer', 'type': STRING})
    manager = run(flow).running()
    _answers(flow, '/flow/n none why')
    assert manager.interrupt() == 130


def test_a_node_in_cpp(flow: Flow, run: Runs, observer: Observer) -> None:
    ament = pytest.importorskip('ament_index_python.packages')
    try:
        ament.get_package_prefix('demo_nodes_cpp')
    except (LookupError, OSError):
        pytest.skip('the package demo_nodes_cpp is not installed')
    flow.any_node('talker', ros={'package': 'demo_nodes_cpp', 'executable': 'talker'}, outputs=['chatter'])
    manager = run(flow).running()
    heard = observer.listen(String, '/flow/talker/chatter')
    eventually(lambda: heard, DEADLINE)
    assert manager.interrupt() == 130
    assert manager.restarts() == {'talker': 0}


def test_an_external_topic_is_an_input_and_an_output_goes_to_any_topic(
    flow: Flow, run: Runs, observer: Observer
) -> None:
    flow.node(
        'ask', 'asking.py', 'why',
        inputs={'tick': 'dora/timer/millis/50', 'answer': {'topic': '/outside/answer', 'type': STRING}},
        outputs={'question': {'topic': '/outside/question', 'type': STRING}},
    )  # fmt: skip
    manager = run(flow)
    heard = observer.listen(String, '/outside/question')
    publisher = observer.node.create_publisher(String, '/outside/answer', 10)
    manager.running()
    eventually(lambda: any(message.data == 'why' for message in heard), DEADLINE)
    eventually(lambda: publisher.get_subscription_count() == 1, DEADLINE)
    publisher.publish(String(data='because'))
    _answers(flow, 'because')
    assert manager.interrupt() == 130


def test_an_outside_publisher_of_weaker_qos_is_reported_as_such(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.node('n', 'events.py', inputs={'image': {'topic': '/outside/image', 'type': STRING, 'qos': 'reliable'}})
    manager = run(flow).running()
    quiet = PublisherEventCallbacks(use_default_callbacks=False)
    observer.node.create_publisher(String, '/outside/image', qos_profile_sensor_data, event_callbacks=quiet)
    assert manager.event('WARNING', 'n')['text'] == (
        "input 'image': a publisher of /outside/image offers a weaker reliability than this input asks for and is not "
        'heard; adapt the `qos` of the input'
    )
    assert manager.interrupt() == 130
    assert manager.outcome['statuses'][0]['error'].startswith("input 'image': a publisher")
    assert manager.texts('INPUT_CLOSED') == []


def test_a58_the_status_lists_waiting_and_closed_inputs_with_source_and_age(
    flow: Flow, run: Runs, observer: Observer
) -> None:
    flow.node('src', 'silent_after.py', 3, 1000, outputs=['data'])
    flow.node(
        'n', 'events.py',
        inputs={'data': {'source': 'src/data', 'input_timeout': 0.5}, 'image': {'topic': '/image', 'type': STRING}},
    )  # fmt: skip
    statuses = observer.diagnostics('/flow/status')
    manager = run(flow).running()
    manager.event('INPUT_CLOSED', 'n')

    def found() -> bool:
        newest = (
            {s.name: {v.key: v.value for v in s.values} for s in statuses[-1].status}['flow: n'] if statuses else {}
        )
        closed, waiting = newest.get('input data', '').split(), newest.get('input image', '').split()
        assert closed[:2] == ['CLOSED', 'src/data'], newest
        assert waiting[:2] == ['WAITING', '/image'], newest
        return float(closed[2]) >= 0.5 and float(waiting[2]) > float(closed[2])

    eventually(found, DEADLINE)
    manager.process.kill()


def test_a_plain_node_hears_what_is_said_first(flow: Flow, run: Runs) -> None:
    flow.node(
        'say', 'say_once.py', 'why', inputs={'tick': 'dora/timer/secs/100'}, outputs={'question': {'type': STRING}}
    )
    flow.ros_node('n', 'answering.py', inputs={'question': 'say/question'})
    manager = run(flow).running()
    eventually(lambda: flow.marked('n', 'asked why') == [0], DEADLINE, 'the question')
    assert manager.interrupt() == 130
