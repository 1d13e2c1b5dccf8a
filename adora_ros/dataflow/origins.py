"""What a node runs: a program of the dataflow, on ``PATH``, in a git repository or behind a URL, or a command."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from adora_ros.dataflow import programs, values
from adora_ros.dataflow.model import DownloadOrigin, GitOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import NodeYaml
    from adora_ros.dataflow.yamltree import Loc

SHELL = 'shell'
DYNAMIC = 'dynamic'
"""As ``path``: somebody else starts the program."""
SHELL_VARIABLES = ('ADORA_ALLOW_SHELL_NODES', 'DORA_ALLOW_SHELL_NODES')
"""Either is ``true`` where a dataflow may run shell commands; a dataflow cannot set them."""
_REFERENCES = ('branch', 'tag', 'rev')
_URL = ('http://', 'https://')
_SCP = re.compile(r'(?:[^@/]+@)?([^/:]+):(?!//)(.+)')
"""``user@host:path``, which git takes for an ssh URL."""
_SHA256 = re.compile(r'[0-9a-fA-F]{64}')
_UNFIT = re.compile(r'[^A-Za-z0-9._-]')


@dataclass(frozen=True, kw_only=True)
class Program:
    """What a node with ``path`` runs."""

    path: str
    """As in the YAML, environment variables expanded."""
    program: Path | None
    """Absolute path; None if it is in error."""
    args: tuple[str, ...] = ()
    origin: GitOrigin | DownloadOrigin | None = None


class ProgramFinder:
    """Finds the programs of nodes.

    Args:
        directory: folder of the dataflow.
        file: name of the dataflow file.
        built: whether what has to be built, cloned or downloaded must be there.
        report: takes the problems.

    """

    def __init__(self, directory: Path, file: str, *, built: bool, report: Report) -> None:
        self._directory = directory
        self._file = file
        self._built = built
        self._report = report

    def find(self, node: NodeYaml, loc: Loc, env: Mapping[str, str], machine: str | None) -> Program | None:
        """Return what a node runs, None without a ``path``; what is in error is reported.

        Args:
            node: as written.
            loc: its place.
            env: the environment of its process.
            machine: where it runs, None for here; what is missing there is not an error here.

        """
        origin = self._git(node, loc)
        if node.path is None:
            return None
        text = values.expand(node.path, env, strict=False)
        if not text:
            self._report.error((*loc, 'path'), '`path` is empty; name the program to run')
            return Program(path=text, program=None)
        if text == SHELL:
            return self._shell(node, loc)
        if text == DYNAMIC:
            return Program(path=text, program=None)
        args = self._split(node.args, (*loc, 'args'))
        download = self._download(node, text, loc)
        if download is not None:
            program = self._found(str(download.file), self._directory, loc, env, machine, made=True)
            return Program(path=text, program=program, args=args, origin=download)
        directory = self._directory if origin is None else origin.folder
        made = bool(node.build) or origin is not None
        program = self._found(text, directory, loc, env, machine, made=made)
        return Program(path=text, program=program, args=args, origin=origin)

    def _found(
        self,
        text: str,
        directory: Path,
        loc: Loc,
        env: Mapping[str, str],
        machine: str | None,
        *,
        made: bool,
    ) -> Path:
        try:
            return programs.find_program(text, directory, env)
        except ValueError as error:
            if machine is not None:
                words = f'{error} on this machine; `{machine}` must have it'
                self._report.warning((*loc, 'path'), words, key=False)
            elif self._built:
                hint = f'; run `adora build {self._file}` first' if made else ''
                self._report.error((*loc, 'path'), f'{error}{hint}')
        return programs.absolute(text, directory)

    def _shell(self, node: NodeYaml, loc: Loc) -> Program:
        if not any(os.environ.get(name) == 'true' for name in SHELL_VARIABLES):
            words = f'`path: shell` runs any command, which is off; set {SHELL_VARIABLES[0]}=true to allow it'
            self._report.error((*loc, 'path'), words)
        if not node.args:
            self._report.error((*loc, 'path'), 'the command of `path: shell` is missing; give it in `args`')
        return Program(path=SHELL, program=Path('/bin/sh'), args=('-c', node.args or ''))

    def _git(self, node: NodeYaml, loc: Loc) -> GitOrigin | None:
        given = [key for key in _REFERENCES if getattr(node, key) is not None]
        if node.git is None:
            for key in given:
                self._report.error((*loc, key), f'`{key}` has no effect without `git`; give the repository', key=True)
            return None
        if len(given) > 1:
            words = f'{" and ".join(f"`{key}`" for key in given)} exclude each other; give one'
            self._report.error((*loc, given[-1]), words, key=True)
        for key in ('git', *given):
            text = getattr(node, key)
            if not text or text.startswith('-'):
                self._report.error((*loc, key), f'`{text}` is not the `{key}` of a repository')
        reference = getattr(node, given[0]) if given else None
        folder = self._directory / 'git' / _clone_path(node.git, given[0] if given else None, reference)
        return GitOrigin(
            url=node.git, kind=given[0] if given else None, reference=reference, folder=Path(os.path.normpath(folder))
        )

    def _download(self, node: NodeYaml, text: str, loc: Loc) -> DownloadOrigin | None:
        sha256 = node.path_sha256
        if not text.startswith(_URL):
            if sha256 is not None:
                self._report.error((*loc, 'path_sha256'), '`path_sha256` is for a `path` that is a URL', key=True)
            return None
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            self._report.error(
                (*loc, 'path_sha256'), f'`{sha256}` is not a SHA-256 sum, which has 64 hexadecimal digits'
            )
        elif sha256 is None:
            self._report.warning((*loc, 'path'), 'nothing says what the download must be; give its `path_sha256`')
        name = _component(unquote(urlsplit(text).path).rsplit('/', 1)[-1]) or 'download'
        folder = self._directory / 'build' / (sha256 or '').lower()
        return DownloadOrigin(url=text, sha256=sha256.lower() if sha256 else None, file=folder / name)

    def _split(self, text: str | None, loc: Loc) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(text)) if text else ()
        except ValueError as error:
            self._report.error(loc, f'`args` is not quoted as in a shell: {str(error).lower()}')
            return ()


def build_lines(text: str | None) -> tuple[str, ...]:
    """Return the commands of a ``build``, one a line."""
    return tuple(line.strip() for line in (text or '').splitlines() if line.strip())


def _clone_path(url: str, kind: str | None, reference: str | None) -> Path:
    """Return where a repository is cloned to, below the folder of all clones: one folder for each reference."""
    match = None if '://' in url else _SCP.fullmatch(url)
    host, path = (match[1], match[2]) if match else (urlsplit(url).hostname or 'localhost', urlsplit(url).path)
    parts = [_component(part) for part in path.split('/') if part.strip('.')]
    last = {None: 'default', 'rev': str(reference)}.get(kind, f'{kind}-{reference}')
    return Path(_component(host), *parts, _component(last))


def _component(text: str) -> str:
    """Return a text as one part of a path; what does not fit is replaced, and told apart by a digest."""
    fit = _UNFIT.sub('_', text)
    fit = fit if fit == text else f'{fit}-{hashlib.sha256(text.encode()).hexdigest()[:8]}'
    return f'_{fit}' if fit.strip('.') == '' and fit else fit
