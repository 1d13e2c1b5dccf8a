"""What a node's process is started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from adora_ros.dataflow import Dataflow, loads
from adora_ros.manager.environment import RunContext, environment, node_config

TEXT = """
nodes:
  - id: camera
    path: n.py
    inputs: {tick: dora/timer/millis/100}
    outputs: [image, small]
    health_check_timeout: 2.5
    env: {WHO: node, ONLY: node}
  - id: viewer
    path: n.py
    inputs:
      image: {source: camera/image, queue_size: 30, input_timeout: 0.5}
      other: {topic: /other, type: std_msgs/msg/String, qos: {reliability: best_effort}, first_message_timeout: 3}
"""


@pytest.fixture
def context(tmp_path: Path) -> RunContext:
    (tmp_path / 'n.py').touch()
    dataflow: Dataflow = loads(TEXT, path=tmp_path / 'flow.yml')
    return RunContext(
        dataflow=dataflow,
        run_id='uuid',
        folder=tmp_path,
        machine='robot',
        local=frozenset(node.id for node in dataflow.nodes),
        env={'WHO': 'run', 'R': '1'},
    )


def env_of(context: RunContext, node: str, program: str = sys.executable, number: int = 0) -> dict[str, str]:
    spec = context.dataflow.node(node)
    config = node_config(context, spec, number, control_fd=9, life_fd=10, end_fd=11, closed_inputs=())
    return environment(context, spec, config, '@address', program)


def test_a_node_is_told_who_it_is(context: RunContext) -> None:
    viewer = context.dataflow.node('viewer')
    config = node_config(context, viewer, 4, control_fd=9, life_fd=10, end_fd=11, closed_inputs=('other',))
    assert (config.dataflow, config.dataflow_id, config.namespace, config.node_id) == (
        'flow',
        'uuid',
        '/flow',
        'viewer',
    )
    assert (config.incarnation, config.restart_count, config.machine, config.control_fd) == (4, 4, 'robot', 9)
    assert config.closed_inputs == ('other',)
    assert config.descriptor_file == str(context.folder / 'dataflow.json')


def test_a_node_is_told_its_inputs(context: RunContext) -> None:
    config = node_config(
        context, context.dataflow.node('viewer'), 0, control_fd=9, life_fd=10, end_fd=11, closed_inputs=()
    )
    image, other = config.inputs
    assert (image.source, image.node, image.topic) == ('camera/image', 'camera', '/flow/camera/image')
    assert (image.queue_size, image.input_timeout, image.period) == (30, 0.5, None)
    assert (other.node, other.topic, other.type) == (None, '/other', 'std_msgs/msg/String')
    assert (other.qos, other.first_message_timeout) == ({'reliability': 'best_effort'}, 3.0)
    camera = context.dataflow.node('camera')
    (tick,) = node_config(context, camera, 0, control_fd=9, life_fd=10, end_fd=11, closed_inputs=()).inputs
    assert (tick.period, tick.topic, tick.node) == (0.1, None, None)


def test_an_output_keeps_as_much_as_its_most_patient_consumer(context: RunContext) -> None:
    camera = context.dataflow.node('camera')
    outputs = node_config(context, camera, 0, control_fd=9, life_fd=10, end_fd=11, closed_inputs=()).outputs
    assert [(output.id, output.depth) for output in outputs] == [('image', 30), ('small', 10)]


def test_the_variables_of_a_node_win_over_those_of_the_run(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('WHO', 'shell')
    monkeypatch.setenv('SHELL_ONLY', 'shell')
    camera, viewer = env_of(context, 'camera'), env_of(context, 'viewer')
    assert [env[name] for env in (camera, viewer) for name in ('WHO', 'R', 'SHELL_ONLY')] == [
        'node', '1', 'shell', 'run', '1', 'shell',
    ]  # fmt: skip
    assert camera['ONLY'] == 'node'
    assert 'ONLY' not in viewer
    assert camera['PYTHONUNBUFFERED'] == '1'


def test_the_contract_is_in_the_environment(context: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('WATCHDOG_USEC', '1')
    monkeypatch.setenv('ADORA_RUN', 'outer')
    camera, viewer = env_of(context, 'camera', number=3), env_of(context, 'viewer')
    assert (camera['NOTIFY_SOCKET'], camera['ADORA_RUN'], camera['ADORA_INCARNATION']) == (
        '@address',
        'uuid',
        'camera/3',
    )
    assert camera['WATCHDOG_USEC'] == '2500000'
    assert 'WATCHDOG_USEC' not in viewer


FLAG, LIBRARIES = '_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH'


@pytest.fixture
def _bootstrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FLAG, '1')
    monkeypatch.setenv(LIBRARIES, os.pathsep.join([f'{sys.prefix}/lib', '/opt/cuda/lib', f'{sys.prefix}/lib/x.libs']))


@pytest.mark.usefixtures('_bootstrapped')
def test_our_own_interpreter_keeps_the_libraries_of_its_wheels(context: RunContext) -> None:
    for program in (sys.executable, str(Path(sys.executable).parent / 'python3')):
        env = env_of(context, 'camera', program)
        assert (env[FLAG], env[LIBRARIES]) == ('1', os.environ[LIBRARIES])


@pytest.mark.usefixtures('_bootstrapped')
def test_a_foreign_interpreter_does_not_get_the_libraries_of_our_wheels(context: RunContext) -> None:
    for program in ('/usr/bin/python3', '/home/somebody/.venv/bin/python', '/srv/robot/driver'):
        env = env_of(context, 'camera', program)
        assert FLAG not in env
        assert env[LIBRARIES] == '/opt/cuda/lib'


def test_the_libraries_of_an_installed_ros_are_for_everybody(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FLAG, raising=False)
    monkeypatch.setenv(LIBRARIES, '/opt/ros/kilted/lib')
    assert env_of(context, 'camera', '/opt/ros/kilted/lib/driver/driver_node')[LIBRARIES] == '/opt/ros/kilted/lib'
