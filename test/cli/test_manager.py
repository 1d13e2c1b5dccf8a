"""The ``manager`` executable: started at once, or driven over its lifecycle services."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest
import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from adora_ros.cli.manager import without_ros_arguments
from cli.harness import MANAGER, START, Project, Running, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any


class Operator:
    """A plain rclpy node that drives ``/flow/manager``."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('operator', context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._change: Any = self.node.create_client(ChangeState, '/flow/manager/change_state')
        self._get: Any = self.node.create_client(GetState, '/flow/manager/get_state')

    def state(self) -> int:
        """Return the id of the manager's state."""
        return int(self._call(self._get, GetState.Request()).current_state.id)

    def change(self, transition: int) -> bool:
        """Ask for a transition and return whether it succeeded."""
        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self._call(self._change, request).success)

    def _call(self, client: Any, request: Any) -> Any:
        assert client.wait_for_service(START)
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, START)
        assert future.done(), f'{client.srv_name} did not answer'
        return future.result()

    def close(self) -> None:
        """Leave."""
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()


@pytest.fixture
def operator() -> Iterator[Operator]:
    operator = Operator()
    yield operator
    operator.close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path).add_listener()


def start(project: Project, *arguments: str) -> Running:
    return Running(project.folder, '--dataflow', str(project.file), *arguments, program=MANAGER)


@pytest.mark.parametrize(
    ('given', 'own'),
    [
        ([], []),
        (['--dataflow', 'f'], ['--dataflow', 'f']),
        (['--dataflow', 'f', '--ros-args', '-r', 'a:=b', '-p', 'c:=1'], ['--dataflow', 'f']),
        (['--ros-args', '--log-level', 'info', '--', '--name', 'x'], ['--name', 'x']),
        (['--ros-args', '--', '--name', 'x', '--ros-args', '-r', 'a:=b'], ['--name', 'x']),
        (['--ros-args'], []),
    ],
)
def test_what_ros_tools_add_is_not_for_us(given: list[str], own: list[str]) -> None:
    assert without_ros_arguments(given) == own


def test_a_manager_starts_its_dataflow_at_once(project: Project) -> None:
    manager = start(project, '--ros-args', '--log-level', 'warn')
    try:
        manager.wait_for('DATAFLOW_RUNNING')
        assert manager.end(signal.SIGTERM) == 143
    finally:
        manager.close()
    assert manager.lines[-1] == 'interrupted: SIGTERM'


def test_a_manager_is_driven_over_its_lifecycle(project: Project, operator: Operator) -> None:
    manager = start(project, '--no-autostart')
    try:
        assert operator.state() == State.PRIMARY_STATE_UNCONFIGURED
        assert operator.change(Transition.TRANSITION_CONFIGURE)
        assert operator.state() == State.PRIMARY_STATE_INACTIVE
        assert 'NODE_STARTING' not in manager.text
        for number in (1, 2):
            assert operator.change(Transition.TRANSITION_ACTIVATE)
            assert operator.state() == State.PRIMARY_STATE_ACTIVE
            manager.wait_for('DATAFLOW_RUNNING', times=number)
            assert operator.change(Transition.TRANSITION_DEACTIVATE)
            assert operator.state() == State.PRIMARY_STATE_INACTIVE
            manager.wait_for('DATAFLOW_ENDED', 2.0, times=number)
        assert manager.process.poll() is None
        assert operator.change(Transition.TRANSITION_CLEANUP)
        assert operator.state() == State.PRIMARY_STATE_UNCONFIGURED
    finally:
        manager.close()


def test_a_file_that_is_wrong_fails_to_configure_and_may_be_corrected(project: Project, operator: Operator) -> None:
    good = project.file.read_text()
    project.file.write_text('nodez: []\n')
    manager = start(project, '--no-autostart')
    try:
        assert not operator.change(Transition.TRANSITION_CONFIGURE)
        assert operator.state() == State.PRIMARY_STATE_UNCONFIGURED
        manager.wait_for('flow.yml:1:1: error: unknown key `nodez`', 2.0)
        project.file.write_text(good)
        assert operator.change(Transition.TRANSITION_CONFIGURE)
    finally:
        manager.close()


def test_a_file_that_is_wrong_ends_a_manager_that_starts_at_once(project: Project) -> None:
    project.file.write_text('nodez: []\n')
    done = run('--dataflow', str(project.file), program=MANAGER)
    assert (done.returncode, done.stdout) == (2, '')
    assert re.search(r'flow\.yml:1:1: error: ', done.stderr)


def test_the_second_manager_of_a_name_is_refused_with_the_pid_of_the_first(project: Project) -> None:
    manager = start(project)
    try:
        manager.wait_for('DATAFLOW_RUNNING')
        done = run('--dataflow', str(project.file), program=MANAGER)
        assert (done.returncode, done.stdout) == (2, '')
        assert done.stderr == (
            f'manager: error: /flow/manager is already running (pid {manager.process.pid});'
            ' stop it or choose another --name\n'
        )
        assert manager.end(signal.SIGINT) == 130
    finally:
        manager.close()
