"""``adora logs``: from the files alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from adora_ros.cli.loglines import Logs, level_of, node_files, parse
from adora_ros.cli.main import main
from adora_ros.manager.logfile import LogFile
from adora_ros.manager.logs import Stream
from adora_ros.manager.runfile import RunFacts, RunFile
from adora_ros.transport.rundir import log_root

if TYPE_CHECKING:
    from pathlib import Path

ROS_ERROR = '[ERROR] [1700000000.123456789] [flow.camera]: no device'
ENTRY = json.dumps({'level': 'debug', 'message': 'hi', 'node_id': 'camera'})


def stamp(second: int) -> str:
    return f'2030-01-02T03:04:{second:02d}.000+00:00'


def make_run(dataflow: str, uuid: str, second: int = 0) -> Path:
    folder = log_root() / dataflow / uuid
    folder.mkdir(parents=True)
    facts = RunFacts(
        uuid=uuid, dataflow=dataflow, file='', manager='', domain='0', machine='', pid=1, started=stamp(second)
    )
    RunFile(folder, facts).end(stamp=stamp(59), error='')
    return folder


@pytest.fixture
def folder() -> Path:
    folder = make_run('flow', '1234-abcd')
    (folder / 'camera.1.log').write_text(f'{stamp(1)} stdout one\n{stamp(2)} stderr {ROS_ERROR}\n')
    (folder / 'camera.log').write_text(f'{stamp(4)} stdout {ENTRY}\n{stamp(6)} stderr Traceback\n')
    (folder / 'base.log').write_text(f'{stamp(3)} stdout three\n{stamp(5)} stdout five\n')
    (folder / 'manager.log').write_text(f'{stamp(0)} warn NODE_EXITED camera[0] exited: exit code 3\n')
    (folder / 'console.log').write_text('Traceback (most recent call last):\n')
    return folder


@pytest.mark.parametrize(
    ('text', 'stream', 'level'),
    [
        ('plain', Stream.STDOUT, 'stdout'),
        ('plain', Stream.STDERR, 'warn'),
        (ROS_ERROR, Stream.STDERR, 'error'),
        ('[FATAL] [1.2] [n]: x', Stream.STDERR, 'error'),
        (ENTRY, Stream.STDOUT, 'debug'),
        ('{"level": 3}', Stream.STDOUT, 'stdout'),
        ('{', Stream.STDOUT, 'stdout'),
        ('[INFO] no ROS line', Stream.STDOUT, 'stdout'),
    ],
)
def test_the_level_of_a_line(text: str, stream: Stream, level: str) -> None:
    assert level_of(text, stream) == level


def test_a_damaged_line_keeps_its_place() -> None:
    line = parse('camera', b'half a li', stamp(7))
    assert (line.stamp, line.text, line.level) == (stamp(7), 'half a li', 'stdout')


def test_lines_of_all_nodes_and_rotated_files_come_in_the_order_of_time(folder: Path) -> None:
    assert [path.name for path in node_files(folder)['camera']] == ['camera.1.log', 'camera.log']
    source = Logs(folder)
    assert source.known == ('base', 'camera', 'manager')
    assert [int(line.stamp[17:19]) for line in source.past()] == [0, 1, 2, 3, 4, 5, 6]
    assert source.new() == []
    source.close()


def test_following_outlives_rotation(tmp_path: Path) -> None:
    file = LogFile(tmp_path / 'camera.log', max_size=100, max_files=3)
    source = Logs(tmp_path)
    seen = []
    for number in range(40):
        file.write(f'{stamp(0)} stdout line {number}\n'.encode())
        if number == 10:
            seen += [line.text for line in source.past()]
        elif number > 10:
            seen += [line.text for line in source.new()]
    assert seen[-30:] == [f'line {number}' for number in range(10, 40)]
    source.close()
    file.close()


@pytest.mark.parametrize(
    ('arguments', 'seconds'),
    [
        (['--level', 'warn'], [0, 2, 6]),
        (['--grep', 'DEVICE'], [2]),
        (['--node', 'base', '--node', 'manager'], [0, 3, 5]),
        (['--tail', '2'], [5, 6]),
        (['--since', '5m'], [0, 1, 2, 3, 4, 5, 6]),
        (['--follow'], [0, 1, 2, 3, 4, 5, 6]),
    ],
)
@pytest.mark.usefixtures('folder')
def test_what_is_shown(arguments: list[str], seconds: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['logs', 'flow', *arguments, '--json']) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [int(line['stamp'][17:19]) for line in shown] == seconds


@pytest.mark.usefixtures('folder')
def test_a_run_is_named_by_its_dataflow_or_uuid(capsys: pytest.CaptureFixture[str]) -> None:
    later = make_run('flow', '1299-ffff', 30)
    (later / 'camera.log').write_text(f'{stamp(1)} stdout later\n')
    for name, expected in (('flow', 'later'), ('129', 'later'), ('123', 'three')):
        assert main(['logs', name]) == 0
        assert expected in capsys.readouterr().out
    assert main(['logs']) == 0
    said = capsys.readouterr()
    assert 'camera | later' in said.out
    assert said.err == 'logs of flow (1299-ffff), the last run\n'
    assert main(['logs', '12']) == 2
    assert 'ambiguous; give more of the uuid: flow (1299-fff), flow (1234-abc)' in capsys.readouterr().err
    assert main(['logs', 'other']) == 1
    assert capsys.readouterr().err.startswith('adora: error: no run `other`; there is flow (1299-fff)')
    assert main(['logs', 'flow', '--node', 'lidar']) == 1
    assert 'no log of a node `lidar`' in capsys.readouterr().err


def test_where_there_are_no_runs_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))  # runs whose log folder could not be written are there
    assert main(['logs']) == 1
    assert f'there are no runs in {log_root()}; set ROS_LOG_DIR' in capsys.readouterr().err


@pytest.mark.parametrize('arguments', [['logs', '--help'], ['--help'], ['list']])
def test_no_command_imports_ros_without_need(arguments: list[str]) -> None:
    code = (
        'import sys\nfrom adora_ros.cli.main import main\n'
        f'try: main({arguments!r})\nexcept SystemExit: pass\n'
        'sys.exit("rclpy" in sys.modules and sys.argv[1] or 0)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code, 'rclpy was imported'], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
