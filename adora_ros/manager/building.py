"""Makes what the nodes of a dataflow run: clones, downloads and build commands. Needs no ROS."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.dataflow import DownloadOrigin, GitOrigin
from adora_ros.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from adora_ros.dataflow import Dataflow, NodeSpec

    Output = Callable[[str, str], object]

CHUNK = 1 << 20
"""Bytes of a download that are read at a time."""
SILENCE = 60.0
"""Seconds after which a server that sends nothing is given up."""
_PIP = ('pip', 'pip3')


def build(
    dataflow: Dataflow,
    *,
    output: Output,
    nodes: Iterable[str] | None = None,
    uv: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Clone, download and build what the nodes of a dataflow need, one after another in the order of the file.

    What is there already is kept: a clone is brought to its ``rev``, ``tag`` or the newest of its branch, a file whose
    sum is right is not fetched again. Build commands run each time, in the working directory of the node and with its
    environment.

    Args:
        dataflow: loaded with ``built=False``.
        output: takes the id of a node and a line of what happens for it.
        nodes: ids of the nodes to build; all unless given.
        uv: whether ``pip`` lines are run through the package manager ``uv``.
        env: variables on top of this process's environment, below that of the nodes.

    Returns:
        The ids of the nodes for which there was anything to do.

    Raises:
        BuildError: something failed; the text says for which node, what and where.
        DataflowError: there is no node of one of the ids.

    """
    chosen = dataflow.nodes if nodes is None else tuple(dataflow.node(node_id) for node_id in nodes)
    done = []
    for node in chosen:
        if not is_buildable(node):
            continue
        _Builder(dataflow, node, output, {'GIT_TERMINAL_PROMPT': '0', **os.environ, **(env or {}), **node.env}).build(
            uv=uv
        )
        done.append(node.id)
    return tuple(done)


def is_buildable(node: NodeSpec) -> bool:
    """Return whether there is anything to clone, download or build for a node."""
    return node.origin is not None or bool(node.build)


class _Builder:
    def __init__(self, dataflow: Dataflow, node: NodeSpec, output: Output, env: Mapping[str, str]) -> None:
        self._node = node
        self._folder = dataflow.directory_of(node)
        self._base = dataflow.directory
        self._output = output
        self._env = env

    def build(self, *, uv: bool) -> None:
        origin = self._node.origin
        if isinstance(origin, GitOrigin):
            self._clone(origin)
        elif isinstance(origin, DownloadOrigin):
            self._download(origin)
        for line in self._node.build:
            self._say(f'$ {line}')
            self._run(self._command(line, uv=uv), self._folder, f'build command `{line}`')

    def _say(self, line: str) -> None:
        self._output(self._node.id, line)

    def _fail(self, what: str) -> BuildError:
        return BuildError(f'node `{self._node.id}`: {what}')

    def _command(self, line: str, *, uv: bool) -> list[str]:
        """Return the command of a line; ``pip`` is that of the interpreter which runs the nodes."""
        try:
            argv = shlex.split(line)
        except ValueError as error:
            what = f'build command `{line}` is not quoted as in a shell: {str(error).lower()}'
            raise self._fail(what) from error
        if not argv or argv[0] not in _PIP:
            return argv
        return ['uv', 'pip', *argv[1:]] if uv else [sys.executable, '-m', 'pip', *argv[1:]]

    def _run(self, argv: list[str], folder: Path, what: str) -> str:
        """Run a command, pass on what it prints, and return the last line of it."""
        last = ''
        try:
            with subprocess.Popen(
                argv,
                cwd=folder,
                env=dict(self._env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors='replace',
            ) as process:
                for line in process.stdout or ():
                    last = line.rstrip('\n')
                    self._say(last)
        except OSError as error:
            msg = f'{what}: {error.strerror or error} (in {folder})'
            raise self._fail(msg) from error
        if process.returncode:
            why = f'exit code {process.returncode}' if process.returncode > 0 else f'signal {-process.returncode}'
            msg = f'{what} ended with {why} (in {folder}){": " + last if last else ""}'
            raise self._fail(msg)
        return last

    # git

    def _clone(self, origin: GitOrigin) -> None:
        if not origin.folder.is_dir():
            self._new_clone(origin)
        elif not self._is_at(origin):
            self._say(f'fetching {origin.url}')
            self._git(origin.folder, 'fetch', '--quiet', '--tags', '--force', 'origin')
            self._check_out(origin, origin.folder)

    def _new_clone(self, origin: GitOrigin) -> None:
        """Clone beside the final place, so that a clone that is there is complete."""
        self._say(f'cloning {origin.url} into {origin.folder}')
        origin.folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix='.partial-', dir=origin.folder.parent))
        try:
            url = origin.url if '://' in origin.url else self._local(origin.url)
            self._git(self._base, 'clone', '--quiet', '--no-checkout', '--', url, str(partial))
            self._check_out(origin, partial)
            partial.rename(origin.folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _local(self, url: str) -> str:
        """Return a path as seen from everywhere, and anything else as it is."""
        path = self._base / url
        return str(path) if path.is_dir() else url

    def _is_at(self, origin: GitOrigin) -> bool:
        """Return whether a clone is at its ``rev`` or ``tag``, which never need a fetch then."""
        if origin.kind not in {'rev', 'tag'}:
            return False
        try:
            return self._commit(origin, origin.folder) == self._head(origin.folder)
        except BuildError:
            return False

    def _check_out(self, origin: GitOrigin, folder: Path) -> None:
        commit = self._commit(origin, folder)
        self._git(folder, 'checkout', '--quiet', '--detach', '--force', commit)
        self._say(f'at commit {commit}')

    def _commit(self, origin: GitOrigin, folder: Path) -> str:
        name = {
            'branch': f'refs/remotes/origin/{origin.reference}',
            'tag': f'refs/tags/{origin.reference}',
            'rev': f'{origin.reference}',
        }.get(str(origin.kind), 'refs/remotes/origin/HEAD')
        found = self._ask(folder, 'rev-parse', '--quiet', '--verify', '--end-of-options', f'{name}^{{commit}}')
        if found is None:
            wanted = f'{origin.kind} `{origin.reference}`' if origin.kind else 'default branch'
            msg = f'{origin.url} has no {wanted}'
            raise self._fail(msg)
        return found

    def _head(self, folder: Path) -> str | None:
        return self._ask(folder, 'rev-parse', '--verify', 'HEAD')

    def _git(self, folder: Path, *arguments: str) -> None:
        self._run(['git', *arguments], folder, f'git {arguments[0]}')

    def _ask(self, folder: Path, *arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ('git', *arguments),  # noqa: S607 - whichever git is on PATH
                cwd=folder,
                env=dict(self._env),
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            msg = f'git: {error.strerror}; install git'
            raise self._fail(msg) from error
        return done.stdout.strip() if done.returncode == 0 else None

    # Downloads

    def _download(self, origin: DownloadOrigin) -> None:
        if origin.sha256 is not None and origin.file.is_file() and _sha256(origin.file) == origin.sha256:
            return
        self._say(f'downloading {origin.url}')
        origin.file.parent.mkdir(parents=True, exist_ok=True)
        partial = origin.file.with_name(f'.partial-{os.getpid()}-{origin.file.name}')
        try:
            with urllib.request.urlopen(origin.url, timeout=SILENCE) as answer, partial.open('wb') as file:  # noqa: S310
                shutil.copyfileobj(answer, file, CHUNK)
            found = _sha256(partial)
            if origin.sha256 is not None and found != origin.sha256:
                msg = f'{origin.url} has the SHA-256 sum {found}, not {origin.sha256}'
                raise self._fail(msg)
            partial.chmod(0o755)
            partial.rename(origin.file)
        except OSError as error:
            msg = f'{origin.url}: {error}'
            raise self._fail(msg) from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()
        self._say(f'SHA-256 {found}')


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
