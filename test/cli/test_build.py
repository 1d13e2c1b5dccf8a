"""``adora build``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
env: {ROOT: all, BOTH: all}
nodes:
  - id: camera
    path: made.py
    env: {BOTH: own}
    build: |
      sh -c "echo $ROOT $BOTH in ${PWD##*/}"

      touch made.py
  - id: base
    path: made.py
  - id: brain
    operators:
      - {id: one, python: made.py, build: echo one}
      - {id: two, python: made.py, build: "false"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / 'flow.yml'
    file.write_text(TEXT)
    return file


def test_commands_run_in_the_folder_of_the_file(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(['build', str(file), '--node', 'camera']) == 0
    said = capfd.readouterr().out.splitlines()
    assert said == [
        'camera | $ sh -c "echo $ROOT $BOTH in ${PWD##*/}"',
        f'camera | all own in {file.parent.name}',
        'camera | $ touch made.py',
        'built 1 of flow: camera',
    ]
    assert (file.parent / 'made.py').exists()


def test_a_command_that_fails_names_its_node(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(['build', str(file)]) == 1
    said = capfd.readouterr()
    assert said.err == f'adora: error: node `brain`: build command `false` ended with exit code 1 (in {file.parent})\n'
    assert 'brain  | one' in said.out


@pytest.mark.parametrize(
    ('command', 'problem'),
    [
        ('no-such-program --fast', 'no-such-program --fast`: No such file or directory (in {folder})'),
        ("echo 'half", "echo 'half` is not quoted as in a shell: no closing quotation"),
    ],
)
def test_a_command_that_cannot_be_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str, problem: str
) -> None:
    file = tmp_path / 'flow.yml'
    file.write_text(f'nodes:\n  - id: a\n    path: a.py\n    build: {command}\n')
    assert main(['build', str(file)]) == 1
    assert capfd.readouterr().err == f'adora: error: node `a`: build command `{problem.format(folder=tmp_path)}\n'


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('nodes:\n  - {id: a, path: a.py, biuld: make}\n', 'unknown key `biuld`'),
        ('nodes:\n  - {id: a, path: a.py, build: make, env: {A: $NOT_SET_HERE}}\n', '`NOT_SET_HERE` is not set'),
        ('nodes:\n  - {id: a, path: a.py}\n', 'nothing builds a node `b`'),
    ],
)
def test_bad_input(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, said: str) -> None:
    file = tmp_path / 'flow.yml'
    file.write_text(text)
    assert main(['build', str(file), '--node', 'b']) == 2
    assert said in capfd.readouterr().err


def test_nothing_to_build(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / 'flow.yml'
    file.write_text('nodes:\n  - {id: a, path: a.py}\n')
    assert main(['build', str(file)]) == 0
    assert capfd.readouterr().out == 'nothing to build: no node of flow has `build` or `git`\n'
