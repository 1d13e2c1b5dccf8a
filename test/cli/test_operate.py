"""Dataflows in the background, operated as a user does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.cli.main import main
from adora_ros.transport.claims import claims
from cli.harness import ADORA, LISTENER, START, Project, Running, run
from support import eventually, processes_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COORDINATOR = (sys.executable, '-m', 'adora_ros.cli.coordinator')
CAMERA = """\
import pyarrow as pa
from adora_ros import Node

node = Node()
print('hello', flush=True)
for event in node:
    node.send_output('image', pa.array([1]))
"""
DIES = 'raise SystemExit(3)\n'
HANGS = 'import time\n\ntime.sleep(100)\n'
ONCE = 'from adora_ros import Node\n\nNode()\n'
INPUTS = 'inputs: {image: camera/image, other: slow/data}'


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    yield Project(tmp_path)
    for claim in claims():
        if claim.pid is not None:
            os.kill(claim.pid, signal.SIGKILL)


@pytest.fixture
def adora(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return what runs a command and returns its exit code and what it wrote.

    All but ``start``, whose child outlives it, are spared a process of their own.
    """

    def call(*arguments: str) -> tuple[int, str, str]:
        if arguments[0] == 'start':
            done = run(*arguments)
            return done.returncode, done.stdout, done.stderr
        capfd.readouterr()
        code = main(arguments)
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


def robot(project: Project) -> Project:
    project.add('camera', CAMERA, 'inputs: {tick: dora/timer/millis/50}, outputs: [image]')
    project.add('slow', LISTENER, 'inputs: {tick: dora/timer/secs/1000}, outputs: [data]')
    return project.add('base', LISTENER, INPUTS)


def facts(out: str, node: str) -> dict[str, Any]:
    return next(each for each in json.loads(out) if each['node'] == node)


def cut_short(*arguments: str, by: Callable[[Any], object]) -> tuple[int, bytes]:
    """End a command once it has shown something; return its exit code and what it complained of."""
    with subprocess.Popen([*ADORA, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shown:
        assert shown.stdout is not None
        assert shown.stderr is not None
        assert shown.stdout.readline()
        by(shown)
        complaints = shown.stderr.read()
        return shown.wait(START), complaints


def test_a_dataflow_in_the_background(project: Project, adora: Callable[..., tuple[int, str, str]]) -> None:
    file = str(robot(project).file)
    code, out, err = adora('start', file, '--detach')
    assert (code, err) == (0, '')
    first = out.removeprefix('started flow: ').strip()
    code, out, _ = adora('list', '--json')
    (entry,) = json.loads(out)
    assert (code, entry['uuid'], entry['name'], entry['status'], entry['nodes']) == (0, first, 'flow', 'Running', 3)
    assert adora('list', '--status', 'failed', '--quiet') == (0, '', '')

    # A58: the operator finds the input that is missing, and who should feed it.
    def waiting() -> Any:
        _, out, _ = adora('ps', first[:8], '--json')
        return [each for each in facts(out, 'base')['inputs'] if each['id'] == 'other']

    (missing,) = eventually(waiting, START)
    assert (missing['source'], missing['state']) == ('slow/data', 'WAITING')
    assert 0 < missing['age_s'] < START
    assert adora('node', 'stop', 'slow') == (0, 'stop of slow requested\n', '')
    eventually(lambda: 'other CLOSED from slow/data, ' in adora('ps')[1], START)
    code, out, _ = adora('ps', 'flow')
    assert code == 0
    lines = {line.split()[1]: line for line in out.splitlines()[1:]}
    assert lines['slow'].split()[2] == 'stopped'
    assert lines['camera'].split()[2] == 'running'

    assert adora('node', 'restart', 'camera', '-d', 'flow') == (0, 'restart of camera requested\n', '')
    eventually(lambda: facts(adora('ps', '--json')[1], 'camera')['restarts'] == 1, START)
    code, out, _ = adora('node', 'info', 'camera')
    assert code == 0
    assert '\nrestarts ' in out
    code, out, _ = adora('events', 'flow', '--json')
    kinds = [json.loads(line)['kind'] for line in out.splitlines()]
    assert kinds[0] == 'DATAFLOW_STARTING'
    assert {'NODE_RESTARTED', 'INPUT_CLOSED'} <= set(kinds)

    assert cut_short('events', '--follow', by=lambda shown: shown.send_signal(signal.SIGINT)) == (130, b'')
    assert cut_short('topic', 'echo', '/flow/camera/image', by=lambda shown: shown.stdout.close()) == (141, b'')

    code, _, err = adora('start', file, '--detach')
    assert code == 2
    assert err.startswith('adora: error: /flow/manager is already running (pid ')
    code, out, _ = adora('restart')
    assert code == 0
    second = out.removeprefix('restarted flow: ').strip()
    assert second not in {'', first}
    assert facts(adora('ps', '--json')[1], 'slow')['state'] == 'running'
    assert adora('stop', '--grace-duration', '5s') == (0, f'stopped flow ({second})\n', '')
    assert adora('list', '--quiet') == (0, '', '')
    assert claims() == ()
    assert '| hello' in adora('logs', first[:8], '--node', 'camera')[1]
    assert 'DATAFLOW_ENDED all nodes ended well' in adora('logs', second[:8], '--node', 'manager', '--tail', '1')[1]


VERBS: tuple[tuple[str, ...], ...] = (
    ('list',),
    ('ps',),
    ('ps', 'flow'),
    ('events', 'flow'),
    ('stop',),
    ('stop', '--all'),
    ('restart', 'flow'),
    ('node', 'info', 'base'),
    ('node', 'restart', 'base'),
    ('node', 'stop', 'base', '--dataflow', 'flow'),
)


def test_a63_no_command_waits_for_ever_for_a_manager_that_hangs(
    project: Project, adora: Callable[..., tuple[int, str, str]]
) -> None:
    assert adora('start', str(project.add_listener('base').file), '--detach', '--quiet')[0] == 0
    (manager,) = claims()
    assert manager.pid is not None
    os.kill(manager.pid, signal.SIGSTOP)
    for verb in VERBS:
        began = time.monotonic()
        code, _, err = adora(*verb, '--timeout', '500ms')
        assert time.monotonic() - began < 5.0, verb
        assert code == 1, verb
        (line,) = err.splitlines()
        assert f'/flow/manager (pid {manager.pid}) did not answer within 0.5 s' in line, verb
        if verb[0] == 'node':
            assert 'node base: ' in line or verb[-1] == 'flow'
    _, out, _ = adora('list', '--json', '--timeout', '500ms')
    assert [(entry['name'], entry['status']) for entry in json.loads(out)] == [('flow', 'no answer')]
    code, out, _ = adora('stop', 'flow', '--force', '--timeout', '500ms')
    assert (code, out.startswith('killed /flow/manager')) == (0, True)
    assert claims() == ()
    run = json.loads(next((project.folder / 'ros_log' / 'flow').glob('*/run.json')).read_text())['uuid']
    assert processes_with('ADORA_RUN', run) == []


@pytest.mark.parametrize('verb', [*VERBS[2:5], *VERBS[6:], ('machines',)], ids=' '.join)
def test_a63_what_is_not_there_is_said_at_once(
    verb: tuple[str, ...], adora: Callable[..., tuple[int, str, str]]
) -> None:
    began = time.monotonic()
    code, out, err = adora(*verb)
    assert (code, out, len(err.splitlines())) == (1, '', 1)
    assert time.monotonic() - began < 1.0


def test_a_start_that_fails_leaves_nothing(project: Project, adora: Callable[..., tuple[int, str, str]]) -> None:
    project.add('base', ONCE).file.write_text('nodes: [{id: base, path: gone.py}]\n')
    code, out, err = adora('start', str(project.file), '--detach')
    assert (code, out) == (2, '')
    assert 'flow.yml:1:' in err
    project.nodes.clear()
    project.add('dies', DIES)
    code, out, err = adora('start', str(project.file), '--detach')
    assert (code, out) == (1, '')
    assert err.startswith('adora: error: flow failed: dies: exit code 3; ')
    project.add('hangs', HANGS, 'stop_grace: 0.2')
    code, out, err = adora('start', str(project.file), '--detach', '--timeout', '3s')
    assert (code, out) == (1, '')
    assert err.startswith('adora: error: not up within 3 s (hangs), and stopped; logs: ')
    assert claims() == ()


def test_start_attached(project: Project) -> None:
    running = Running(project.folder, 'start', str(robot(project).file))
    running.wait_for('camera  | hello')
    running.wait_for('manager | DATAFLOW_RUNNING 3 of 3 nodes are up')
    running.process.send_signal(signal.SIGHUP)  # its terminal was closed
    assert running.process.wait(START) == -signal.SIGHUP
    (manager,) = claims()
    assert main(['stop']) == 0
    assert manager.pid is not None

    running = Running(project.folder, 'start', str(project.file))
    running.wait_for('manager | DATAFLOW_RUNNING 3 of 3 nodes are up')
    assert running.end(signal.SIGINT) == 130
    assert 'manager | DATAFLOW_ENDED all nodes ended well' in running.text


def test_with_a_coordinator_the_past_is_known(project: Project, adora: Callable[..., tuple[int, str, str]]) -> None:
    file = project.add('job', ONCE, 'build: echo made').file
    coordinator = Running(project.folder, program=COORDINATOR)
    coordinator.wait_for('coordinator ready')
    assert adora('build', str(file))[:2] == (0, 'job | $ echo made\njob | made\nbuilt 1 of flow: job\n')
    code, out, _ = adora('start', str(file), '--detach', '--quiet')
    assert code == 0

    def finished() -> Any:
        return json.loads(adora('list', '--status', 'finished', '--json')[1])

    (entry,) = eventually(finished, START)
    assert (entry['uuid'], entry['name'], entry['status']) == (out.strip(), 'flow', 'Succeeded')
    code, out, _ = adora('machines', '--json')
    (machine,) = json.loads(out)
    assert (code, machine['status']) == (0, 'Left')
    assert 0 <= machine['last_heartbeat_ago_ms'] < START * 1000
    coordinator.process.send_signal(signal.SIGSTOP)
    for verb in ('list', 'machines'):
        code, _, err = adora(verb, '--timeout', '500ms')
        assert code == 1
        assert err == 'adora: error: /adora/coordinator/list did not answer within 0.5 s\n'
    coordinator.process.send_signal(signal.SIGCONT)
    assert coordinator.end(signal.SIGTERM) == 0
