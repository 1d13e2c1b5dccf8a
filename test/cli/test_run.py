"""``adora run`` with terminals, pipes and readers of every kind."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.harness import ADORA, START, Project, Running, run
from support import eventually

COLORFUL = """\
from adora_ros import Node

node = Node()
print('\\x1b[31mred\\x1b[0m', flush=True)
node.log('info', 'hello', target='me', fields={'k': 'v'})
"""
SHOWS_ENV = """\
import os
from adora_ros import Node

Node()
print('A=' + os.environ['A'], 'B=' + os.environ['B'])
"""
FLOODS = """\
import os
import threading
from adora_ros import Node


def flood() -> None:
    while True:
        os.write(1, b'x' * 4095 + b'\\n')


node = Node()
threading.Thread(target=flood, daemon=True).start()
for event in node:
    pass
os._exit(0)
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_pipe_gets_plain_lines(project: Project) -> None:
    done = run('run', str(project.add('paint', COLORFUL).file))
    assert done.returncode == 0
    assert '\x1b' not in done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert 'paint | red' in lines
    assert 'paint | INFO  hello (me) k=v' in lines
    assert [line for line in lines if re.fullmatch(r'\d\d:\d\d:\d\d\.\d{3}  paint  NODE_UP {12}up', line)]


def test_a_terminal_gets_colours(project: Project) -> None:
    project.add('paint', COLORFUL)
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != 'NO_COLOR'} | {'TERM': 'xterm'}
    with subprocess.Popen([*ADORA, 'run', str(project.file)], stdout=theirs, env=env) as process:
        os.close(theirs)
        text = b''
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        assert process.wait(START) == 0
    os.close(ours)
    assert b'\x1b[31mred\x1b[0m' in text
    assert text.endswith(b'\x1b[32mok\x1b[0m\r\n')


def test_node_output_can_be_left_to_the_log_files(project: Project) -> None:
    done = run('run', str(project.add('paint', COLORFUL).file), '--no-node-output')
    assert done.returncode == 0
    assert 'paint |' not in done.stdout
    (folder,) = re.findall(r'^logs: (.*)$', done.stdout, re.MULTILINE)
    assert 'red' in Path(folder, 'paint.log').read_text(encoding='utf-8')


def test_variables_of_the_command_line_win_over_those_of_the_dataflow(project: Project) -> None:
    project.add('show', SHOWS_ENV)
    project.file.write_text('env: {A: yaml, B: yaml}\n' + project.file.read_text())
    done = run('run', str(project.file), '--env', 'A=line', '--name', 'other')
    assert done.returncode == 0
    assert 'show | A=line B=yaml' in done.stdout.splitlines()


def test_head_ends_with_its_line_and_the_run_by_itself(project: Project) -> None:
    project.add('paint', COLORFUL)
    script = f'{" ".join(ADORA)} run {project.file} | head -1; echo "${{PIPESTATUS[0]}}"'
    done = run('-c', script, program=('bash',))
    first, code = done.stdout.splitlines()
    assert 'DATAFLOW_STARTING' in first
    assert code == '0'
    assert 'Error' not in done.stderr


def test_a_reader_that_takes_nothing_does_not_delay_the_stop(project: Project) -> None:
    project.add('flood', FLOODS)
    with subprocess.Popen([*ADORA, 'run', str(project.file)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            log = eventually(lambda: next((project.folder / 'ros_log').glob('flow/*/flood.log'), None), START)
            assert log is not None
            eventually(lambda: log.stat().st_size > 20_000_000, START, 'a flood of output')
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert time.monotonic() - started < 8.0
        finally:
            if process.poll() is None:
                process.kill()


def test_the_second_run_of_a_name_is_refused_with_the_pid_of_the_first(project: Project) -> None:
    running = Running(project.folder, 'run', str(project.add_listener().file))
    try:
        running.wait_for('DATAFLOW_RUNNING')
        done = run('run', str(project.file))
        assert (done.returncode, done.stdout) == (2, '')
        assert done.stderr == (
            f'adora: error: /flow/manager is already running (pid {running.process.pid});'
            ' stop it or choose another --name\n'
        )
        assert running.end(signal.SIGINT) == 130
    finally:
        running.close()
