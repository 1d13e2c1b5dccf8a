"""Launch with real dataflows: ends, failures, shutdown, handlers, XML and YAML."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adora_ros.coordinator.records import DataflowRecord, Status
from adora_ros.coordinator.sqlite import SqliteStore
from support import eventually, processes_with

if TYPE_CHECKING:
    from launch.conftest import Stage

pytest.importorskip('launch.actions')

COORDINATOR_LAUNCH = Path(__file__).parents[2] / 'launch' / 'coordinator.launch.py'
DATAFLOW_LAUNCH = Path(__file__).parents[2] / 'launch' / 'dataflow.launch.py'

ENDLESS = 'nodes: [{id: listener, path: listener.py, inputs: {tick: dora/timer/secs/100}}]\n'
FINITE = 'nodes: [{id: once, path: once.py}]\n'
FAILING = """\
nodes:
  - {id: camera, path: crash.py, inputs: {tick: dora/timer/millis/100}, outputs: [image],
     restart_policy: on-failure, max_restarts: 1, restart_delay: 0.1}
  - {id: listener, path: listener.py, inputs: {image: camera/image}}
"""
FAILS_ON_COMMAND = """\
import sys
from pathlib import Path
from adora_ros import Node

for event in Node():
    if Path('fail').exists():
        sys.exit(3)
"""
XML = """\
<launch>
  <arg name="flow" default="$(dirname)/flow.yml"/>
  <dataflow file="$(var flow)" name="robot" namespace="fleet" use_sim_time="false" autostart="true"
            sigterm_timeout="20.5" if="true"/>
  <dataflow file="missing.yml" unless="true"/>
</launch>
"""
YAML = """\
launch:
- arg: {name: flow, default: $(dirname)/flow.yml}
- dataflow: {file: $(var flow), name: robot, namespace: fleet, use_sim_time: false, autostart: 'true'}
"""
HANDLERS = """\
from pathlib import Path

from adora_ros.launch.actions import Dataflow
from adora_ros.launch.event_handlers import OnDataflowFinished, OnInputClosed, OnNodeFailed, OnNodeRestarted
from launch import LaunchDescription
from launch.actions import LogInfo, RegisterEventHandler


def show(event, _context):
    facts = {key: value for key, value in vars(event).items() if key not in {'action', 'text'}}
    return LogInfo(msg=f'TOLD {type(event).__name__} {facts}')


def generate_launch_description():
    flow = Dataflow(file=str(Path(__file__).with_name('flow.yml')), output='log')
    none = LogInfo(msg='TOLD wrongly')
    return LaunchDescription([
        RegisterEventHandler(OnNodeRestarted(target_action=flow, node='camera', on_restarted=show)),
        RegisterEventHandler(OnNodeRestarted(node='listener', on_restarted=none)),
        RegisterEventHandler(OnNodeFailed(on_failed=show)),
        RegisterEventHandler(OnNodeFailed(target_action=lambda action: action is not flow, on_failed=none)),
        RegisterEventHandler(OnInputClosed(node='listener', input_id='image', on_closed=show)),
        RegisterEventHandler(OnInputClosed(node='listener', input_id='tick', on_closed=none)),
        RegisterEventHandler(OnDataflowFinished(target_action=flow, on_finished=show)),
        flow,
    ])
"""
BESIDE = """\
from pathlib import Path

from adora_ros.launch.actions import Dataflow
from adora_ros.launch.event_handlers import OnDataflowFinished
from launch import LaunchDescription
from launch.actions import ExecuteProcess, RegisterEventHandler


def generate_launch_description():
    after = ExecuteProcess(cmd=['echo', 'STILL', 'HERE'], output='screen')
    return LaunchDescription([
        RegisterEventHandler(OnDataflowFinished(on_finished=[after])),
        Dataflow(file=str(Path(__file__).with_name('flow.yml'))),
    ])
"""


def test_a_dataflow_that_ends_well_ends_launch_with_0(stage: Stage) -> None:
    flow = stage.write('flow.yml', FINITE)
    done = stage.launch(DATAFLOW_LAUNCH, f'dataflow:={flow}')
    assert done.returncode == 0, done.stdout
    assert 'all nodes ended well' in done.stdout
    assert 'process has finished cleanly' in done.stdout


def test_a_node_that_fails_makes_launch_exit_with_1(stage: Stage) -> None:
    flow = stage.write('flow.yml', FAILING)
    done = stage.launch(DATAFLOW_LAUNCH, f'dataflow:={flow}')
    assert done.returncode == 1, done.stdout
    assert f'dataflow {flow} failed: camera: gave up after 1 restart: exit code 3' in done.stdout


def test_a_file_in_error_makes_launch_exit_with_1(stage: Stage) -> None:
    flow = stage.write('flow.yml', 'nodes: [{id: a, path: once.py, restart: yes}]\n')
    done = stage.launch(DATAFLOW_LAUNCH, f'dataflow:={flow}')
    assert done.returncode == 1, done.stdout
    assert f'{flow}:1:' in done.stdout


def test_a_store_needs_a_coordinator(stage: Stage) -> None:
    flow = stage.write('flow.yml', FINITE)
    done = stage.launch(DATAFLOW_LAUNCH, f'dataflow:={flow}', 'store:=sqlite')
    assert done.returncode == 1
    assert 'store:=sqlite is that of the coordinator; add coordinator:=true' in done.stdout
    assert 'process started' not in done.stdout


@pytest.mark.parametrize(('interrupted', 'code', 'status'), [(False, 1, Status.FAILED), (True, 0, Status.SUCCEEDED)])
def test_a_coordinator_beside_the_dataflow_records_it_to_its_end(
    stage: Stage, *, interrupted: bool, code: int, status: Status
) -> None:
    stage.write('listener.py', FAILS_ON_COMMAND)
    flow = stage.write('flow.yml', ENDLESS.replace('secs/100', 'millis/50'))
    database = stage.folder / 'records' / 'c.db'
    process = stage.start(DATAFLOW_LAUNCH, f'dataflow:={flow}', 'coordinator:=true', f'store:=sqlite:{database}')
    try:
        stage.wait_for('coordinator ready: store sqlite')
        stage.wait_for('dataflow flow is Running')
        if interrupted:
            process.send_signal(signal.SIGINT)
        else:
            stage.write('fail', '')
        assert process.wait(30.0) == code
        assert [record.status for record in _records(database)] == [status]
        assert not processes_with('ROS_LOG_DIR', str(stage.folder / 'ros_log'))
    finally:
        process.kill()
        process.wait()


def _records(database: Path) -> tuple[DataflowRecord, ...]:
    store = SqliteStore(str(database), warn=pytest.fail)
    try:
        return store.list(DataflowRecord)
    finally:
        store.close()


def test_arguments_reach_the_dataflow(stage: Stage) -> None:
    stage.write(
        'once.py', 'from adora_ros import Node\n\nros = Node().ros_node\nprint(ros.get_fully_qualified_name())\n'
    )
    flow = stage.write('flow.yml', FINITE)
    done = stage.launch(DATAFLOW_LAUNCH, f'dataflow:={flow}', 'name:=robot', 'namespace:=/fleet', 'log_level:=warn')
    assert done.returncode == 0, done.stdout
    assert 'once | /fleet/robot/once' in done.stdout


@pytest.mark.parametrize(('name', 'text'), [('flow.launch.xml', XML), ('flow.launch.yaml', YAML)])
def test_xml_and_yaml(stage: Stage, name: str, text: str) -> None:
    pytest.importorskip(f'launch_{name.rpartition(".")[2]}')
    stage.write(
        'once.py', 'from adora_ros import Node\n\nros = Node().ros_node\nprint(ros.get_fully_qualified_name())\n'
    )
    stage.write('flow.yml', FINITE)
    done = stage.launch(stage.write(name, text))
    assert done.returncode == 0, done.stdout
    assert 'once | /fleet/robot/once' in done.stdout
    assert 'Task exception' not in done.stdout


def test_an_unknown_attribute_is_an_error(stage: Stage) -> None:
    pytest.importorskip('launch_xml')
    file = stage.write('flow.launch.xml', '<launch><dataflow file="flow.yml" respawn="true"/></launch>')
    done = stage.launch(file)
    assert done.returncode == 1
    assert "Unexpected attribute(s) found in `dataflow`: {'respawn'}" in done.stdout


def test_handlers_are_told_in_order(stage: Stage) -> None:
    stage.write('flow.yml', FAILING)
    done = stage.launch(stage.write('flow.launch.py', HANDLERS))
    assert done.returncode == 1, done.stdout
    assert [line.partition('TOLD ')[2] for line in done.stdout.splitlines() if 'TOLD ' in line] == [
        "NodeRestarted {'node': 'camera', 'incarnation': 1}",
        "NodeFailed {'node': 'camera', 'error': 'gave up after 1 restart: exit code 3'}",
        "InputClosed {'node': 'listener', 'input': 'image', 'source': 'camera/image'}",
        "DataflowFinished {'node': '', 'return_code': 1, 'error': 'camera: gave up after 1 restart: exit code 3'}",
    ]


def test_a_failure_does_not_end_the_rest_of_launch(stage: Stage) -> None:
    stage.write('flow.yml', FAILING)
    done = stage.launch(stage.write('flow.launch.py', BESIDE))
    assert done.returncode == 1, done.stdout
    assert '] STILL HERE' in done.stdout
    assert 'process has finished cleanly' in done.stdout


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_launch_stops_the_nodes_in_order(stage: Stage, number: signal.Signals) -> None:
    flow = stage.write('flow.yml', ENDLESS)
    process = stage.start(DATAFLOW_LAUNCH, f'dataflow:={flow}')
    try:
        stage.wait_for('DATAFLOW_RUNNING')
        process.send_signal(number)
        code = process.wait(30.0)
        assert code == 0 if number is signal.SIGINT else code != 0
        marker = str(stage.folder / 'ros_log')
        eventually(lambda: not processes_with('ROS_LOG_DIR', marker), 30.0, 'the end of all processes')
        assert stage.log('listener')[-1] == 'STOP MANUAL'
        assert 'all nodes ended well' in '\n'.join(stage.log('manager'))
    finally:
        process.kill()
        process.wait()


def test_launch_waits_longer_than_the_nodes_may_take(stage: Stage) -> None:
    stage.write(
        'listener.py', 'import time\nfrom adora_ros import Node\n\nlist(Node())\ntime.sleep(7)\nprint("slept")\n'
    )
    flow = stage.write('flow.yml', ENDLESS)
    process = stage.start(DATAFLOW_LAUNCH, f'dataflow:={flow}')
    try:
        stage.wait_for('DATAFLOW_RUNNING')
        process.send_signal(signal.SIGINT)
        assert process.wait(30.0) == 0
        assert stage.log('listener') == ['slept']
    finally:
        process.kill()
        process.wait()
