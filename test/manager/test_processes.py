"""Processes: what they start with, how their groups end, and that a failed start leaves nothing."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.errors import SpawnError
from adora_ros.manager.processes import Command, PosixChild, PosixProcesses, use_default_signals
from manager.harness import descriptors
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

REPORT = """
import json, os, signal
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
ignored = int(status['SigIgn'], 16)
print(json.dumps({
    'fds': {n: os.readlink(f'/proc/self/fd/{n}') for n in sorted(os.listdir('/proc/self/fd'), key=int)
            if os.path.exists(f'/proc/self/fd/{n}')},
    'ignored': [n for n in map(int, signal.valid_signals()) if ignored >> (n - 1) & 1],
    'blocked': sorted(int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    'session': os.getsid(0), 'group': os.getpgid(0), 'pid': os.getpid(), 'cwd': os.getcwd(),
    'cpus': sorted(os.sched_getaffinity(0)), 'env': dict(os.environ),
}))
"""


class Starter:
    """Starts shell and Python scripts and ends what is left of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: list[PosixChild] = []

    def python(self, script: str, **keys: Any) -> PosixChild:
        """Start a Python script that has no site packages."""
        return self.start(sys.executable, '-I', '-S', '-c', textwrap.dedent(script), **keys)

    def start(self, *argv: str, **keys: Any) -> PosixChild:
        """Start a program."""
        settings = {'env': dict(os.environ), 'cwd': self.folder, **keys}
        child = PosixProcesses().spawn(Command(argv=argv, **settings))
        self.children.append(child)
        return child

    def close(self) -> None:
        """Kill what is left."""
        for child in self.children:
            child.signal_group(signal.SIGKILL)
            if not child.is_reaped:
                child.reap()
            for fd in child.outputs:
                os.close(fd)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.close()


def exit_code(child: PosixChild) -> int:
    assert select.select([child.pidfd], [], [], 20.0)[0], 'no exit'
    return child.reap()


def output(child: PosixChild) -> str:
    text = b''
    while chunk := os.read(child.outputs[0], 65536):
        text += chunk
    return text.decode()


def report(child: PosixChild) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(child))
    assert exit_code(child) == 0
    return found


def test_a_child_has_a_session_and_a_group_of_its_own(start: Starter) -> None:
    child = start.python(REPORT)
    found = report(child)
    assert found['pid'] == found['session'] == found['group'] == child.pid
    assert found['cwd'] == str(start.folder)


def test_a_child_gets_exactly_the_environment_that_is_given(start: Starter) -> None:
    found = report(start.python(REPORT, env={'LC_ALL': 'C.UTF-8', 'A': 'b'}))
    assert found['env'] == {'LC_ALL': 'C.UTF-8', 'A': 'b'}


def test_a_child_inherits_its_streams_and_what_is_passed_and_nothing_else(start: Starter) -> None:
    passed, _other = os.pipe()
    leaky = os.dup(passed)
    os.set_inheritable(leaky, True)  # noqa: FBT003 - positional only
    found = report(start.python(REPORT, pass_fds=(passed,)))
    for fd in (passed, _other, leaky):
        os.close(fd)
    assert set(found['fds']) == {'0', '1', '2', str(passed)}
    assert found['fds']['0'] == '/dev/null'


def test_a_child_does_not_keep_the_pipes_of_another_open(start: Starter) -> None:
    first = start.python('import sys; sys.stdout.write("done")')
    second = start.python('import time; time.sleep(60)')
    assert output(first) == 'done'
    assert exit_code(first) == 0
    second.signal_group(signal.SIGKILL)
    assert exit_code(second) == -signal.SIGKILL


def test_signals_that_the_parent_ignores_or_blocks_have_their_defaults_in_a_child() -> None:
    """As under ``nohup``, or started in the background by a shell without job control."""
    script = f"""
    import os, signal, sys
    from pathlib import Path
    from adora_ros.manager.processes import Command, PosixProcesses, use_default_signals
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT, signal.SIGCHLD])
    use_default_signals()
    argv = (sys.executable, '-I', '-S', '-c', {REPORT!r})
    child = PosixProcesses().spawn(Command(argv=argv, env={{}}, cwd=Path('/')))
    sys.stdout.buffer.write(os.read(child.outputs[0], 65536))
    child.reap()
    """
    command = [sys.executable, '-c', textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, check=True, env=dict(os.environ))
    found = json.loads(done.stdout)
    python_ignores = {signal.SIGPIPE, signal.SIGXFSZ}
    assert set(found['ignored']) <= python_ignores
    assert found['blocked'] == []


def test_default_signals_leave_those_alone_that_python_turns_into_errors() -> None:
    use_default_signals()
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN


@pytest.mark.parametrize(('script', 'code'), [('raise SystemExit(7)', 7), ('import os; os.kill(os.getpid(), 9)', -9)])
def test_an_exit_shows_at_the_pidfd(start: Starter, script: str, code: int) -> None:
    child = start.python(script)
    fd = child.pidfd
    assert exit_code(child) == code
    with pytest.raises(OSError, match='Bad file descriptor'):
        os.fstat(fd)


@pytest.mark.parametrize(('script', 'code'), [('exit 7', 7), ('kill -SEGV $$', -11), ('exit 0', None)])
def test_a_failure_is_known_before_the_process_is_reaped(start: Starter, script: str, code: int | None) -> None:
    child = start.start('/bin/sh', '-c', f'kill -STOP $$; {script}')
    assert os.waitid(os.P_PID, child.pid, os.WSTOPPED) is not None
    assert child.failure() is None
    child.signal_group(signal.SIGCONT)
    assert select.select([child.pidfd], [], [], 20.0)[0], 'no exit'
    assert child.failure() == code


def test_a_group_is_gone_when_its_last_process_is(start: Starter) -> None:
    child = start.start('/bin/sh', '-c', 'sleep 60 & echo up; exit 0')
    assert os.read(child.outputs[0], 100) == b'up\n'
    assert exit_code(child) == 0
    assert not child.group_is_gone()
    child.signal_group(signal.SIGKILL)
    eventually(child.group_is_gone)
    child.signal_group(signal.SIGKILL)


def test_zombies_do_not_count_as_left(start: Starter) -> None:
    script = """
    import os, sys, time
    if not os.fork():
        os._exit(0)  # a zombie from here on
    if not os.fork():
        os.setsid()  # the parent of the zombie is still there, but in another group
        time.sleep(60)
    print('up', flush=True)
    time.sleep(60)
    """
    child = start.python(script)
    assert os.read(child.outputs[0], 100) == b'up\n'
    assert not child.group_is_gone()
    os.kill(child.pid, signal.SIGKILL)
    assert select.select([child.pidfd], [], [], 20.0)[0]
    assert Path(f'/proc/{child.pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()[0] == 'Z'
    assert child.group_is_gone(), 'the leader is a zombie, since nobody has waited for it'
    child.reap()
    for pid in PosixProcesses().marked({'PYTEST_CURRENT_TEST': os.environ['PYTEST_CURRENT_TEST']}):
        if pid != os.getpid():
            PosixProcesses().kill(pid)


@pytest.mark.parametrize(
    ('content', 'mode', 'text'),
    [
        (None, 0, 'No such file or directory'),
        ('#!/bin/sh\n', 0o644, 'Permission denied'),
        ('#!/no/such/interpreter\n', 0o755, 'No such file or directory'),
        ('just text', 0o755, 'Exec format error'),
        ('#!/bin/sh\n', 0o755, 'embedded null'),
    ],
)
def test_a_failed_start_says_why_and_leaves_nothing(
    start: Starter, tmp_path: Path, content: str | None, mode: int, text: str
) -> None:
    program = tmp_path / 'program'
    if content is not None:
        program.write_text(content, encoding='utf-8')
        program.chmod(mode)
    before = descriptors()
    with pytest.raises(SpawnError, match=text) as caught:
        start.start(str(program), *(['\0'] if text == 'embedded null' else []))
    assert str(program) in str(caught.value)
    assert descriptors() == before


@pytest.mark.parametrize('call', ['pidfd_open', 'pipe2'])
def test_a_start_without_free_descriptors_leaves_nothing(
    start: Starter, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    before = descriptors()
    real = getattr(os, call)
    calls: list[int] = []

    def exhausted(*arguments: int) -> Any:
        calls.append(1)
        if call == 'pidfd_open' or len(calls) > 1:
            raise OSError(errno.EMFILE, 'Too many open files')
        return real(*arguments)

    monkeypatch.setattr(os, call, exhausted)
    with pytest.raises(SpawnError, match='Too many open files'):
        start.python('import time; time.sleep(60)')
    monkeypatch.undo()
    assert descriptors() == before


def test_a_child_runs_on_the_cpus_that_it_is_given(start: Starter) -> None:
    cpu = min(os.sched_getaffinity(0))
    child = start.start('/bin/sh', '-c', f'sleep 0.2; exec {sys.executable} -I -S -c "$0"', REPORT, cpu_affinity=(cpu,))
    assert report(child)['cpus'] == [cpu]


def test_cpus_that_do_not_exist_are_said_so_and_the_child_runs(start: Starter) -> None:
    child = start.python(REPORT, cpu_affinity=(4000,))
    assert report(child)['cpus'] == sorted(os.sched_getaffinity(0))
    assert os.read(child.outputs[1], 4096) == b'cpu_affinity [4000] has no effect: [Errno 22] Invalid argument\n'


def test_processes_are_found_by_their_marks(start: Starter) -> None:
    env = {'ADORA_TEST_ID': os.environ['ADORA_TEST_ID'], 'MARK': 'one', 'OTHER': 'x'}
    child = start.python('import time; time.sleep(60)', env=env)
    start.python('import time; time.sleep(60)', env={**env, 'MARK': 'two'})
    processes = PosixProcesses()
    mine = {'ADORA_TEST_ID': os.environ['ADORA_TEST_ID']}
    eventually(lambda: list(processes.marked({**mine, 'MARK': 'one', 'OTHER': 'x'})) == [child.pid])
    assert list(processes.marked({**mine, 'MARK': 'on'})) == []
    assert list(processes.marked({**mine, 'MARK': 'one', 'OTHER': 'y'})) == []
    processes.kill(child.pid)
    assert exit_code(child) == -signal.SIGKILL
    processes.kill(child.pid)
