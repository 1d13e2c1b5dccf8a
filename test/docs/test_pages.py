"""The pages on migrating say what is so: their files are written, their commands are run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import node_api
from adora_ros.node import Node

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
