"""What a shell completes."""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from adora_ros.cli.completion import answer_shell, complete_dataflow, complete_node

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'sub').mkdir()
    for name in ('flow.yml', 'other.yaml', 'script.py', 'sub/inner.yml'):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('HOME', str(tmp_path))


@pytest.mark.parametrize(
    ('prefix', 'expected'),
    [
        ('', ['flow.yml', 'other.yaml', 'sub/']),
        ('f', ['flow.yml']),
        ('sub/', ['sub/inner.yml']),
        ('~/s', ['~/sub/']),
        ('script', []),
        ('nowhere/', []),
    ],
)
def test_folders_and_yaml_files(prefix: str, expected: list[str]) -> None:
    assert complete_dataflow(prefix) == expected


def test_an_absolute_path(tmp_path: Path) -> None:
    assert complete_dataflow(f'{tmp_path}/sub/i') == [f'{tmp_path}/sub/inner.yml']
    assert '/' not in complete_dataflow('/')
    assert complete_dataflow('/tm') == ['/tmp/']


def test_the_nodes_of_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path))
    for run, nodes in (('live', '[{"id": "camera"}, {"id": "cat"}, {"id": "sink"}]'), ('over', '[{"id": "cab"}]')):
        folder = tmp_path / 'flow' / run
        folder.mkdir(parents=True)
        (folder / 'run.json').touch()
        (folder / 'dataflow.json').write_text(f'{{"nodes": {nodes}}}', encoding='utf-8')
    with (tmp_path / 'flow' / 'live' / 'run.json').open('wb') as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert complete_node('ca') == ['camera', 'cat']
    assert complete_node('') == []


@pytest.mark.parametrize(
    ('line', 'expected'),
    [('adora va', ['validate ']), ('adora run --stop', ['--stop-after ']), ('adora validate fl', ['flow.yml '])],
)
def test_a_shell_is_answered(tmp_path: Path, line: str, expected: list[str]) -> None:
    pytest.importorskip('argcomplete')
    answer = tmp_path / 'answer'
    asked = {
        'COMP_LINE': line,
        'COMP_POINT': str(len(line)),
        'COMP_TYPE': '9',
        '_ARGCOMPLETE': '1',
        '_ARGCOMPLETE_IFS': '\n',
        '_ARGCOMPLETE_STDOUT_FILENAME': str(answer),
    }
    subprocess.run([sys.executable, '-m', 'adora_ros.cli'], env=os.environ | asked, check=True, timeout=60)
    assert answer.read_text().split('\n') == expected


def test_a_shell_is_not_answered_without_argcomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('_ARGCOMPLETE', '1')
    monkeypatch.setitem(sys.modules, 'argcomplete', None)
    answer_shell(argparse.ArgumentParser())
