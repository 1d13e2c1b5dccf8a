"""``--namespace``, ``--use-sim-time`` and ``--events``, by real runs."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from cli.harness import MANAGER, START, Project, Running, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROS_NODE = """\
from adora_ros import Node

ros = Node().ros_node
print(ros.get_fully_qualified_name(), ros.get_parameter('use_sim_time').value)
"""
FOREIGN = """\
import rclpy

rclpy.init()
ros = rclpy.create_node('unnamed')
print(ros.get_fully_qualified_name(), ros.get_parameter('use_sim_time').value, flush=True)
rclpy.spin(ros)
"""


def test_namespace_and_simulated_time_reach_all_nodes(tmp_path: Path) -> None:
    project = Project(tmp_path).add('own', ROS_NODE)
    (tmp_path / 'foreign.py').write_text(FOREIGN)
    with project.file.open('a') as file:
        file.write('  - {id: foreign, ros: {executable: ./foreign.py, parameters: {x: 1}}}\n')
        file.write('  - {id: exempt, ros: {executable: ./foreign.py, parameters: {use_sim_time: false}}}\n')
    done = run('run', str(project.file), '--namespace', 'fleet/r1', '--use-sim-time', '--stop-after', '8s')
    lines = [line.split(' | ')[1] for line in done.stdout.splitlines() if ' | /' in line]
    assert sorted(lines) == [
        '/fleet/r1/flow/exempt False',
        '/fleet/r1/flow/foreign True',
        '/fleet/r1/flow/own True',
    ], done.stdout


def test_a_forbidden_namespace_is_bad_input(tmp_path: Path) -> None:
    project = Project(tmp_path).add_listener()
    done = run('run', str(project.file), '--namespace', 'r 1')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith('adora: error: namespace: `/r 1/flow` is not a ROS name')


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[socket.socket]:
    """Return a socket that listens for a manager at ``events`` in the test's folder."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / 'events'))
        server.listen(1)
        server.settimeout(START)
        yield server


def read(connection: socket.socket, last: str) -> list[dict[str, Any]]:
    """Return the events up to the first of kind ``last``."""
    connection.settimeout(START)
    events = []
    with connection.makefile() as lines:
        for line in lines:
            events.append(json.loads(line))
            if events[-1]['kind'] == last:
                return events
    message = f'no {last} in {events}'
    raise AssertionError(message)


@pytest.mark.parametrize('half', [True, False])
def test_events_go_to_a_socket_whose_end_stops_the_dataflow(
    tmp_path: Path, reader: socket.socket, *, half: bool
) -> None:
    project = Project(tmp_path).add_listener()
    manager = Running(tmp_path, '--dataflow', str(project.file), '--events', str(tmp_path / 'events'), program=MANAGER)
    try:
        connection, _ = reader.accept()
        events = read(connection, 'DATAFLOW_RUNNING')
        assert [event['kind'] for event in events] == [
            'DATAFLOW_STARTING',
            'NODE_STARTING',
            'NODE_UP',
            'DATAFLOW_RUNNING',
        ]
        assert [event['seq'] for event in events] == [1, 2, 3, 4]
        assert events[0]['details']['stop_within'] == '15.0'
        if half:
            connection.shutdown(socket.SHUT_WR)
            assert read(connection, 'DATAFLOW_ENDED')[-1]['details'] == {'error': ''}
        connection.close()
        assert manager.process.wait(START) == 0
        assert manager.lines[-1] == 'ok'
    finally:
        manager.close()


def test_a_signal_beside_the_reader_s_wish_is_no_interruption(tmp_path: Path, reader: socket.socket) -> None:
    project = Project(tmp_path).add_listener()
    manager = Running(tmp_path, '--dataflow', str(project.file), '--events', str(tmp_path / 'events'), program=MANAGER)
    try:
        connection, _ = reader.accept()
        read(connection, 'DATAFLOW_RUNNING')
        manager.process.send_signal(2)
        connection.shutdown(socket.SHUT_WR)
        assert read(connection, 'DATAFLOW_ENDED')[-1]['details'] == {'error': ''}
        connection.close()
        assert manager.process.wait(START) == 0
    finally:
        manager.close()


def test_nobody_at_the_socket_is_bad_input(tmp_path: Path) -> None:
    project = Project(tmp_path).add_listener()
    done = run('run', str(project.file), '--events', '@nobody')
    assert done.returncode == 2
    assert (
        done.stderr
        == 'adora: error: --events @nobody: Connection refused; give the address of a listening Unix socket\n'
    )
