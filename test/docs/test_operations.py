"""docs/operations.md: every command on it is run, in the order of the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from adora_ros.cli.main import parser

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs' / 'operations.md').read_text(encoding='utf-8')
FLOW = """\
nodes:
  - {id: camera, path: camera.py, inputs: {tick: dora/timer/millis/50}, outputs: [image], build: echo built}
  - {id: base, path: base.py, inputs: {image: camera/image}}
"""
CAMERA = """\
import pyarrow as pa
from adora_ros import Node

node = Node()
for event in node:
    node.log('warn', 'a frame is late')
    node.send_output('image', pa.array([1]))
"""
BASE = 'from adora_ros import Node\n\nfor event in Node():\n    pass\n'
PROGRAM = '#!/bin/sh\nexec {python} -m {module} "$@"\n'
ROS2 = '#!/bin/sh\nshift 2\nmodule=$1\nshift\nexec {python} -m adora_ros.cli.$module "$@"\n'
END = """
set +e
kill $(jobs -p)
wait
exit 0
"""


def script() -> str:
    """Return the commands of the page as one script that ends at the first one that fails."""
    lines = [line for block in re.findall(r'```sh\n(.*?)```', PAGE, re.DOTALL) for line in block.splitlines()]
    assert len(lines) > 25
    for number, line in enumerate(lines):
        for program, sign in (('coordinator', 'MACHINE'), ('manager', 'arm')):
            if line.startswith(f'ros2 run adora_ros {program}'):
                lines[number] += f'\nuntil adora machines 2>/dev/null | grep {sign} >/dev/null; do sleep 0.1; done'
    return '\n'.join(['set -e', *(f'echo {shlex.quote(f"$ {line}")}\n{line}' for line in lines)]) + END


def test_every_command(tmp_path: Path) -> None:
    for name, text in (('my_robot.yml', FLOW), ('camera.py', CAMERA), ('base.py', BASE)):
        (tmp_path / name).write_text(text)
    programs = tmp_path / 'bin'
    programs.mkdir()
    for name, text in (('adora', PROGRAM), ('ros2', ROS2)):
        (programs / name).write_text(text.format(python=sys.executable, module='adora_ros.cli'))
        (programs / name).chmod(0o755)
    env = {
        **os.environ,
        'PATH': f'{programs}:{os.environ["PATH"]}',
        'PYTHONPATH': str(ROOT),
        'HOME': str(tmp_path),
        'TMPDIR': str(tmp_path),
    }
    output = tmp_path / 'output'
    with output.open('w') as file:
        done = subprocess.run(
            ['bash', '-c', script()],
            cwd=tmp_path,
            env=env,
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=110,
            check=False,
        )
    text = output.read_text()
    assert done.returncode == 0, text[-3000:]
    for said in (
        'started my_robot: ',
        'restart of camera requested',
        'restarted my_robot: ',
        'stopped my_robot (',
        'WARN  a frame is late',
        'would remove ',
        '"last_heartbeat_ago_ms"',
        'coordinator ready: store sqlite',
    ):
        assert said in text, said


def test_the_unit_starts_what_there_is() -> None:
    (line,) = re.findall(r"^ExecStart=/bin/bash -c '(.*)'$", PAGE, re.MULTILINE)
    command = line.partition(' && exec ')[2]
    program, *arguments = shlex.split(command)
    assert program == 'adora'
    assert parser().parse_args(arguments).quiet


def test_the_exit_codes_are_those_of_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(['--help'])
    listed = set(re.findall(r'^    (\w+) ', capsys.readouterr().out, re.MULTILINE))
    table = PAGE.rpartition('## Exit codes')[2]
    documented = {name.split()[0] for name in re.findall(r'`([a-z][a-z. ]*)`', table)}
    assert listed - documented == set()
