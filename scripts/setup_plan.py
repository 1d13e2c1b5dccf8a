"""What a set-up has to do, and how far pip is: the part of bootstrap.py that touches nothing."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

RUNTIME = 'runtime'
DEV = 'dev'
JAZZY = 'jazzy'
"""Like :data:`DEV`, with ROS 2 Jazzy as wheels, in an environment of its own."""
REQUIREMENTS = {RUNTIME: ('runtime.txt',), DEV: ('runtime.txt', 'dev.txt'), JAZZY: ('runtime.txt', 'dev.txt')}
ROS_REQUIREMENTS = {RUNTIME: 'ros.txt', DEV: 'ros.txt', JAZZY: 'ros-jazzy.txt'}
VENVS = {RUNTIME: '.venv', DEV: '.venv', JAZZY: '.venv-jazzy'}
PACKAGE_FILES = ('setup.py', 'setup.cfg', 'package.xml')
"""What decides how the package itself is installed."""

EXPECTED_PACKAGES = {(RUNTIME, True): 82, (DEV, True): 132, (RUNTIME, False): 13, (DEV, False): 65, (JAZZY, True): 132}
"""Packages that a set of requirements (with or without ROS 2) resolves to, roughly; for the progress display."""

MEGABYTES = {'bytes': 1e-6, 'kB': 1e-3, 'MB': 1.0, 'GB': 1e3}

NETWORK_SIGNS = re.compile(
    r'NewConnectionError|NameResolutionError|name resolution|Max retries|ConnectTimeout|ReadTimeout|ProxyError|'
    r'Connection (?:refused|reset|broken|aborted)|Network is unreachable|timed out'
)


@dataclass(frozen=True)
class State:
    """What is known about an environment; kept in a file inside it."""

    identity: str
    """Python, place and ROS 2 that it was made for."""
    installed: Mapping[str, str] = field(default_factory=dict)
    """Digest of the requirements by the name of the set that was installed."""
    complete: bool = False
    """False while an installation is under way."""
    wheels: bool = True
    """ROS 2 comes from wheels."""


@dataclass(frozen=True)
class Plan:
    """What there is to do: nothing, install a set, or start from an empty folder."""

    recreate: bool
    install: bool


def decide(state: State | None, identity: str, wanted: str, digest: str) -> Plan:
    """Compare what there is with what is wanted."""
    if state is None or not state.complete or state.identity != identity:
        return Plan(recreate=True, install=True)
    return Plan(recreate=False, install=state.installed.get(wanted) != digest)


def digest_of(paths: Sequence[Path]) -> str:
    """Return one hash over the names and contents of ``paths``."""
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f'{path.name} {len(content)}\n'.encode())
        digest.update(content)
    return digest.hexdigest()


def digests(root: Path) -> dict[str, str]:
    """Return the digest of each set of requirements below ``root``."""
    common = [root / name for name in PACKAGE_FILES]
    return {
        name: digest_of([*common, *(root / 'requirements' / file for file in (ROS_REQUIREMENTS[name], *files))])
        for name, files in REQUIREMENTS.items()
    }


def identity_of(root: Path, ros: str | None) -> str:
    """Return what .venv depends on besides the requirements."""
    version = '.'.join(str(part) for part in sys.version_info[:2])
    return f'python {version} of {sys.base_prefix}, project {root}, rclpy {ros or "from wheels"}'


class Progress:
    """Reads pip's output and says how far it is."""

    _SATISFIED = re.compile(r'\s*Requirement already satisfied: (\w[\w.-]*)')
    _COLLECT = re.compile(r'\s*(Collecting|Processing) (\S+)')
    _FETCH = re.compile(r'\s*(?:Downloading|Using cached) (\S+)(?: \((\d+(?:\.\d+)?) (bytes|kB|MB|GB)\))?')

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._found: set[str] = set()
        self._ready: set[str] = set()
        self._megabytes = 0.0
        self._installing = 0

    def feed(self, line: str) -> None:
        """Take one line of pip's output."""
        if match := self._SATISFIED.match(line):
            self._ready.add(match[1])
        elif match := self._COLLECT.match(line):
            self._found.add(match[2])
            if match[1] == 'Processing':
                self._ready.add(match[2])
        elif line.startswith('Installing collected packages:'):
            self._installing = line.count(',') + 1
        elif (match := self._FETCH.match(line)) and not match[1].endswith('.metadata'):
            self._ready.add(match[1])
            self._megabytes += float(match[2] or 0) * MEGABYTES[match[3] or 'bytes']

    def __str__(self) -> str:
        if self._installing:
            return f'installing {self._installing} packages ({self._megabytes:.0f} MB downloaded)'
        done = len(self._ready)
        total = max(self._expected, len(self._found), done)
        return f'downloading packages, {done} of about {total}, {self._megabytes:.0f} MB'


def diagnosis(output: Sequence[str]) -> str:
    """Return in one line why pip failed."""
    text = '\n'.join(output)
    if 'No space left on device' in text:
        return 'the disk is full'
    if NETWORK_SIGNS.search(text):
        return 'the package index cannot be reached; check the network and the configuration of pip'
    errors = [line.partition(':')[2].strip() for line in output if line.startswith('ERROR:')]
    return errors[-1] if errors else next((line for line in reversed(output) if line.strip()), 'pip said nothing')
