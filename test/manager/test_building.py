"""Clones, downloads and build commands."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import Dataflow, GitOrigin, command, load
from adora_ros.errors import BuildError
from adora_ros.manager.building import build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Lines = list[tuple[str, str]]


def git(folder: Path, *arguments: str) -> str:
    identity = ('-c', 'user.name=t', '-c', 'user.email=t@example.org')
    done = subprocess.run(('git', *identity, *arguments), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with the file ``node.py``, whose text is the number of the commit, and a tag on the first."""
    folder = tmp_path / 'origin' / 'repo'
    folder.mkdir(parents=True)
    git(folder, 'init', '--quiet', '--initial-branch=main')
    commit(folder, '1')
    git(folder, 'tag', 'v1')
    commit(folder, '2')
    return folder


def commit(folder: Path, text: str) -> str:
    (folder / 'node.py').write_text(text, encoding='utf-8')
    git(folder, 'add', '.')
    git(folder, 'commit', '--quiet', '-m', text)
    return git(folder, 'rev-parse', 'HEAD')


def flow(tmp_path: Path, *nodes: str) -> Path:
    file = tmp_path / 'flow' / 'f.yml'
    file.parent.mkdir(exist_ok=True)
    file.write_text('nodes:\n' + ''.join(f'  - {{{node}}}\n' for node in nodes), encoding='utf-8')
    return file


def made(file: Path) -> tuple[Dataflow, Lines]:
    lines: Lines = []
    build(load(file, built=False), output=lambda node, line: lines.append((node, line)))
    return load(file), lines


def test_each_reference_has_a_clone_of_its_own(tmp_path: Path, repository: Path) -> None:
    first = git(repository, 'rev-parse', 'v1')
    nodes = [f'id: {key}, git: {url}, path: node.py, build: ls node.py{more}' for key, url, more in (
        ('new', repository, ''),
        ('main', repository.as_uri(), ', branch: main'),
        ('tag', repository.as_uri(), ', tag: v1'),
        ('rev', '../origin/repo', f', rev: "{first[:12]}"'),
    )]  # fmt: skip
    file = flow(tmp_path, *nodes)
    dataflow, lines = made(file)
    assert [line for _, line in lines].count('node.py') == 4

    def texts() -> dict[str, str]:
        return {node.id: node.program.read_text(encoding='utf-8') for node in dataflow.nodes if node.program}

    assert texts() == {'new': '2', 'main': '2', 'tag': '1', 'rev': '1'}
    assert all(dataflow.directory_of(node).is_relative_to(tmp_path / 'flow' / 'git') for node in dataflow.nodes)
    assert command(dataflow.node('tag'))[1] == str(dataflow.directory_of(dataflow.node('tag')) / 'node.py')
    commit(repository, '3')
    _, lines = made(file)
    assert texts() == {'new': '3', 'main': '3', 'tag': '1', 'rev': '1'}
    assert [node for node, line in lines if line.startswith('fetching')] == ['new', 'main']
    assert isinstance(dataflow.nodes[0].origin, GitOrigin)
    assert not list((tmp_path / 'flow' / 'git').rglob('.partial-*'))


@pytest.mark.parametrize(
    ('keys', 'expected'),
    [
        ('tag: v2', '{url} has no tag `v2`'),
        ('branch: --help', '{url} has no branch `--help`'),
        ('rev: abcd', '{url} has no rev `abcd`'),
    ],
)
def test_a_reference_that_is_not_there(tmp_path: Path, repository: Path, keys: str, expected: str) -> None:
    url = repository.as_uri()
    file = flow(tmp_path, f'id: n, git: "{url}", path: node.py, {keys.replace("--help", "x--help")}')
    with pytest.raises(BuildError) as caught:
        made(file)
    assert str(caught.value) == f'node `n`: {expected.format(url=url).replace("--help", "x--help")}'
    assert not list((tmp_path / 'flow').rglob('.partial-*'))


def test_a_repository_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r'^node `n`: git clone ended with exit code 128 \(in .*\): .*exist'):
        made(flow(tmp_path, 'id: n, git: file:///nowhere/repo, path: node.py'))


def test_build_commands_run_in_order_with_the_environment_of_the_node(tmp_path: Path) -> None:
    lines = r'''"sh -c 'echo $NAME >> made'\n\nsh -c 'echo exit 0 > run; chmod +x run'\npip --version"'''
    file = flow(tmp_path, f'id: a, path: run, build: {lines}, env: {{NAME: one}}', 'id: b, path: /bin/sh')
    dataflow, said = made(file)
    assert (tmp_path / 'flow' / 'made').read_text(encoding='utf-8') == 'one\n'
    assert os.access(dataflow.nodes[0].program or '', os.X_OK)
    assert any('pip' in line or 'No module' in line for _, line in said)


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ("sh -c 'echo no; exit 3'", "build command `sh -c 'echo no; exit 3'` ended with exit code 3 (in {0}): no"),
        ('nosuchtool -x', 'build command `nosuchtool -x`: No such file or directory (in {0})'),
        ("a 'b", "build command `a 'b` is not quoted as in a shell: no closing quotation"),
    ],
)  # fmt: skip
def test_a_build_command_that_fails(tmp_path: Path, line: str, expected: str) -> None:
    file = flow(tmp_path, f'id: n, path: /bin/sh, build: "{line}"')
    with pytest.raises(BuildError) as caught:
        made(file)
    assert str(caught.value) == f'node `n`: {expected.format(tmp_path / "flow")}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Return the address of a server that has one file, ``node``."""
    (tmp_path / 'www').mkdir()
    (tmp_path / 'www' / 'node').write_text('#!/bin/sh\n', encoding='utf-8')

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path / 'www'))
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{running.server_port}'
        running.shutdown()


def test_downloads_are_checked(tmp_path: Path, server: str) -> None:
    digest = hashlib.sha256(b'#!/bin/sh\n').hexdigest()
    file = flow(
        tmp_path, f'id: n, path: "{server}/node", path_sha256: {digest.upper()}', f'id: m, path: "{server}/node"'
    )
    dataflow, lines = made(file)
    assert [node.program for node in dataflow.nodes] == [
        tmp_path / 'flow' / 'build' / digest / 'node',
        tmp_path / 'flow' / 'build' / 'node',
    ]
    assert [node for node, line in lines if line.startswith('downloading')] == ['n', 'm']
    _, lines = made(file)
    assert [node for node, line in lines if line.startswith('downloading')] == ['m']
    wrong = flow(tmp_path, f'id: n, path: "{server}/node", path_sha256: "{64 * "0"}"')
    with pytest.raises(BuildError, match=f'^node `n`: {server}/node has the SHA-256 sum {digest}, not 000'):
        made(wrong)
    with pytest.raises(BuildError, match=f'^node `n`: {server}/none: HTTP Error 404'):
        made(flow(tmp_path, f'id: n, path: "{server}/none"'))
    assert not list((tmp_path / 'flow').rglob('.partial-*'))
