"""Exit codes and last lines that a continuous integration or a service manager can rely on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from cli.harness import ADORA, Project, Running, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIES = """\
import os
from adora_ros import Node

Node()
os._exit(3)
"""
FOLLOWS = """\
import sys
from adora_ros import Node

sys.exit(4 if any(event['type'] == 'NODE_FAILED' for event in Node()) else 0)
"""
DONE = """\
from adora_ros import Node

Node()
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def background(project: Project) -> Iterator[Running]:
    running = Running(project.folder, 'run', str(project.add_listener().file))
    yield running
    running.close()


def test_a27_exit_code_0_when_all_went_well(project: Project) -> None:
    done = run('run', str(project.add('job', DONE).file))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, 'ok')


def test_a27_exit_code_0_when_the_time_was_up(project: Project) -> None:
    done = run('run', str(project.add_listener().file), '--stop-after', '1500ms')
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, 'ok')


def test_a27_exit_code_1_when_a_node_failed(project: Project) -> None:
    assert run('run', str(project.add('job', DIES).file)).returncode == 1


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=['SIGINT', 'SIGTERM'])
def test_a27_exit_code_128_plus_the_signal_that_interrupted(
    background: Running, number: signal.Signals, code: int
) -> None:
    background.wait_for('DATAFLOW_RUNNING')
    assert background.end(number) == code
    assert background.lines[-1] == f'interrupted: {number.name}'


def test_a_run_under_nohup_outlives_its_terminal(project: Project) -> None:
    nohup = ('nohup', *ADORA)
    running = Running(project.folder, 'run', str(project.add_listener().file), program=nohup)
    try:
        running.wait_for('DATAFLOW_RUNNING')
        running.process.send_signal(signal.SIGHUP)
        assert running.end(signal.SIGTERM) == 143
    finally:
        running.close()
    assert running.lines[-1] == 'interrupted: SIGTERM'


def test_a27_exit_code_1_when_a_node_had_failed_before_the_interruption(project: Project) -> None:
    project.add('job', DIES).add_listener()
    running = Running(project.folder, 'run', str(project.file))
    try:
        running.wait_for('failed: exit code 3')
        assert running.end(signal.SIGINT) == 1
    finally:
        running.close()
    assert running.lines[-1] == 'failed: job: exit code 3'


def test_a28_the_first_real_failure_is_named_on_the_last_line(project: Project) -> None:
    project.add('base', FOLLOWS, 'inputs: {x: camera/image}')
    project.add('camera', DIES, 'outputs: [image]')
    done = run('run', str(project.file))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == 'failed: camera: exit code 3'
    rows = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[-4:-2]}
    assert rows == {'base': 'failed', 'camera': 'failed'}
