"""A command that locks up while it leaves ROS has said all it has to say, and ends with the exit code that it had."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from cli.harness import Project, Running, run
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCKS_UP = """\
import ctypes, importlib, sys
from rclpy.node import Node
from adora_ros.transport import leaving

leaving.PATIENCE = 0.5
Node.destroy_node = lambda _node: ctypes.PyDLL(None).pause()  # PyDLL keeps the interpreter's lock
sys.exit(importlib.import_module(f'adora_ros.cli.{sys.argv.pop(1)}').main())
"""

SESSION = """\
import signal
from adora_ros.cli.session import Session
from adora_ros.transport.leaving import leaving_last

def work():
    with Session():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return 7

raise SystemExit(leaving_last(work))
"""


def program(name: str) -> tuple[str, ...]:
    return (sys.executable, '-c', LOCKS_UP, name)


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Running]:
    folder = tmp_path / 'coordinator'
    folder.mkdir()
    started = Running(folder, program=program('coordinator'))
    yield started
    started.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Running]:
    started = Running(tmp_path, 'run', str(Project(tmp_path).add_listener().file), program=program('main'))
    yield started
    started.close()


def test_what_runs_long_ends_with_its_exit_code(coordinator: Running, manager: Running) -> None:
    coordinator.wait_for('coordinator ready')
    manager.wait_for('DATAFLOW_RUNNING')
    done = run('ps', '--json', program=program('main'))
    assert (done.returncode, done.stderr) == (0, '')
    assert '"node": "listener"' in done.stdout
    done = run('node', 'info', 'nobody', program=program('main'))
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('adora: error: no node `nobody`')
    assert manager.end(signal.SIGINT) == 130
    assert manager.lines[-1] == 'interrupted: SIGINT'
    eventually(lambda: 'dataflow flow is Succeeded' in coordinator.text)
    assert coordinator.end(signal.SIGTERM) == 0


def test_a_dataflow_that_fails_is_told_of(tmp_path: Path) -> None:
    file = Project(tmp_path).add('bad', 'from adora_ros import Node\n\nNode()\nraise SystemExit(3)\n').file
    for name, arguments in (('main', ('run',)), ('manager', ('--dataflow',))):
        done = run(*arguments, str(file), program=program(name))
        assert done.returncode == 1, done.stderr
        assert done.stdout.splitlines()[-1] == 'failed: bad: exit code 3'


def test_ctrl_c_is_given_back_before_ros_is_left() -> None:
    done = run(program=(sys.executable, '-c', SESSION))
    assert (done.returncode, done.stderr) == (7, '')
