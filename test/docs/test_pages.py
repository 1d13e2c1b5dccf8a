"""The pages on migrating say what is so: their files are written, their commands are run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import node_api
from adora_ros.cli import coordinator, main, manager
from adora_ros.node import Node

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

SHEBANG = '#!/usr/bin/env python3\n'
FILE = re.compile(r'`([\w.]+\.(?:yml|py))`:\n\n```\w+\n(.*?)```|```yaml\n([^`]*?)```\n\nas `([\w.]+)`:\n', re.DOTALL)
COMMAND = re.compile(r'^\$ adora (.*)$', re.MULTILINE)


def run_page(name: str, folder: Path) -> str:
    """Write the files of a page, run its commands, and return what they print."""
    text = (ROOT / 'docs' / name).read_text(encoding='utf-8')
    for first, content, later, second in FILE.findall(text):
        path = folder / (first or second)
        path.write_text((content or later).replace(SHEBANG, f'#!{sys.executable}\n'), encoding='utf-8')
        path.chmod(0o755)
    output = ''
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    for command in COMMAND.findall(text):
        arguments = [sys.executable, '-m', 'adora_ros.cli', *shlex.split(command)]
        done = subprocess.run(
            arguments,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        output += done.stdout
        assert done.returncode == 0, f'{command}\n{done.stdout}'
    return output


PAGES = [ROOT / 'README.md', ROOT / 'README.zh-CN.md', *sorted((ROOT / 'docs').glob('*.md'))]
SHOWN = re.compile(r'```(?:sh|console|bash)\n(.*?)```|((?:^ {4}\S.*\n)+)', re.DOTALL | re.MULTILINE)
PROGRAMS: dict[tuple[str, ...], Callable[[], argparse.ArgumentParser]] = {
    ('adora',): main.parser,
    ('ros2', 'adora'): main.parser,
    ('ros2', 'run', 'adora_ros', 'manager'): manager.parser,
    ('ros2', 'run', 'adora_ros', 'coordinator'): coordinator.parser,
}


def shown_commands(page: Path) -> list[list[str]]:
    """Return the command lines that a page shows in blocks, each in words."""
    blocks = [block or indented for block, indented in SHOWN.findall(page.read_text(encoding='utf-8'))]
    parts = [
        part.strip().removeprefix('$ ') for block in blocks for line in block.splitlines() for part in line.split(';')
    ]
    return [[word for word in shlex.split(part, comments=True) if word != '&'] for part in parts if "'" not in part]


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_can_be_typed(page: Path) -> None:
    for words in shown_commands(page):
        for program, parser in PROGRAMS.items():
            if tuple(words[: len(program)]) == program and '--help' not in words:
                assert vars(parser().parse_args(manager.without_ros_arguments(words[len(program) :])))


def test_the_page_on_the_node_api_is_made_from_the_code() -> None:
    page = (ROOT / 'docs' / 'node-api.md').read_text(encoding='utf-8')
    assert page == node_api.page(), 'run python scripts/node_api.py > docs/node-api.md'


def test_the_page_on_the_node_api_leaves_nothing_out() -> None:
    described = {name for names in node_api.GROUPS.values() for name in names}
    assert {name for name in dir(Node) if not name.startswith('_')} - described == set()


def test_migrating_from_dora(tmp_path: Path) -> None:
    output = run_page('migrating-from-dora.md', tmp_path)
    assert output.count('image of 64 bytes') > 10
    assert 'warning:' not in output


def test_migrating_from_launch(tmp_path: Path) -> None:
    output = run_page('migrating-from-launch.md', tmp_path)
    assert output.count('moved 1') > 5
    assert len(re.findall(r'(?:map|planner)_server\W.*\bactive$', output, re.MULTILINE)) == 2
    assert 'warning:' not in output


def test_ros_nodes(tmp_path: Path) -> None:
    output = run_page('ros-nodes.md', tmp_path)
    assert output.count("heard hello [{'data': 'hello'}]") > 5
    assert output.count("answer to first {'success': True, 'message': 'done'}") > 1
    assert 'warning:' not in output
