"""``ros2 adora``, through the ``ros2`` command itself."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cli.harness import Project

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip('ros2cli.cli')

ROS2 = (sys.executable, '-c', 'import sys; sys.argv[0] = "ros2"; from ros2cli.cli import main; sys.exit(main())')
ONCE = 'from adora_ros import Node\n\nNode()\n'


def ros2(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **options}
    return subprocess.run([*ROS2, *arguments], capture_output=True, text=True, timeout=60, env=env, check=False)


def test_it_is_among_the_commands() -> None:
    assert 'adora      Run dataflows as supervised, lifecycle-managed nodes' in ros2('--help').stdout


def test_it_has_the_verbs_of_adora() -> None:
    done = ros2('adora', '--help')
    assert done.returncode == 0
    for verb in ('run', 'start', 'stop', 'list', 'ps', 'logs', 'machines', 'validate', 'graph', 'schema'):
        assert f'\n    {verb} ' in done.stdout


def test_run(tmp_path: Path) -> None:
    done = ros2('adora', 'run', str(Project(tmp_path).add('once', ONCE).file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == 'ok'


def test_a_failed_node(tmp_path: Path) -> None:
    done = ros2('adora', 'run', str(Project(tmp_path).add('bad', ONCE + 'raise SystemExit(3)\n').file))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == 'failed: bad: exit code 3'


def test_validate(tmp_path: Path) -> None:
    file = Project(tmp_path).add('once', ONCE).file
    assert ros2('adora', 'validate', str(file)).stdout == 'ok: 1 node, 0 edges\n'
    file.write_text('nodes: []\n')
    done = ros2('adora', 'validate', str(file))
    assert done.returncode == 2
    assert done.stderr.startswith(f'{file}:1:')


def test_an_error_names_the_command(tmp_path: Path) -> None:
    file = Project(tmp_path).add('once', ONCE).file
    done = ros2('adora', 'graph', str(file), '--output', str(tmp_path / 'no' / 'where.html'))
    assert done.returncode == 2
    assert done.stderr.startswith('ros2 adora: error: ')


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('ros2 ado', ['adora ']),
        ('ros2 adora va', ['validate ']),
        ('ros2 adora run --stop', ['--stop-after ']),
        ('ros2 adora validate fl', ['flow.yml ']),
    ],
)
def test_completion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: list[str]) -> None:
    pytest.importorskip('argcomplete')
    Project(tmp_path).add('flow', ONCE)
    monkeypatch.chdir(tmp_path)
    answer = tmp_path / 'answer'
    ros2(
        *(),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        COMP_TYPE='9',
        _ARGCOMPLETE='1',
        _ARGCOMPLETE_IFS='\n',
        _ARGCOMPLETE_STDOUT_FILENAME=str(answer),
    )
    assert answer.read_text().split('\n') == expected


def test_loading_it_needs_nothing_of_the_package() -> None:
    code = (
        'import sys; import ros2cli.command; import adora_ros.cli.ros2; '
        "print(*sorted(name for name in sys.modules if name.startswith(('adora_ros.', 'pydantic', 'rich'))))"
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['adora_ros.cli', 'adora_ros.cli.ros2']
