"""The supervisors that are compared: how each is started, and how its line about an exit is recognised."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.supervision.flows import NODES

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent.parent
COLOURS = re.compile(r'\x1b\[[0-9;]*m')
BOOTSTRAPPED = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
"""Set by a Python with ROS 2 wheels, together with a ``LD_LIBRARY_PATH`` that is right for it alone."""

ADORA = 'adora_ros'
COLD = 'adora_ros, cold'
DORA = 'dora-rs'
LAUNCH = 'ros2 launch'
NAMES = (ADORA, COLD, DORA, LAUNCH)


@dataclass(frozen=True, kw_only=True)
class System:
    """A supervisor.

    Attributes:
        name: What it is called.
        argv: The command; ``{flow}`` stands for the dataflow file.
        exit_line: Matches, once ``{node}`` is filled in, its first line about the exit of a node.
        env: Variables to set.
        versions: What it and what it stands on is, and in which version.
        watches_inputs: Whether it knows inputs that fall silent, and nodes that hang.
        keys: Keys at the root of its dataflow files.

    """

    name: str
    argv: tuple[str, ...]
    exit_line: str
    env: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    watches_inputs: bool = True
    keys: Mapping[str, Any] = field(default_factory=dict)

    def command(self, flow: Path) -> list[str]:
        """Return the command line for a dataflow file."""
        return [word.format(flow=flow) for word in self.argv]

    def environment(self, flow: Path, domain: int) -> dict[str, str]:
        """Return the environment that a user's shell would have.

        Args:
            flow: The dataflow file; logs go into its folder.
            domain: ROS domain.

        """
        env = dict(os.environ)
        if env.pop(BOOTSTRAPPED, None) is not None:
            env.pop('LD_LIBRARY_PATH', None)
        env |= {
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'ROS_DOMAIN_ID': str(domain),
            'ROS_LOG_DIR': str(flow.parent / 'log'),
            'BENCH_FLOW': str(flow),
            'BENCH_STAMPS': str(flow.parent),
        }
        return {**env, **self.env}

    def tells_exit(self, line: str, node: str) -> bool:
        """Return whether a line that it printed is about the exit of ``node``."""
        return re.search(self.exit_line.format(node=node), COLOURS.sub('', line)) is not None


def adora() -> System:
    """Return this package, run by this interpreter."""
    return System(
        name=ADORA,
        argv=(sys.executable, '-m', 'adora_ros.cli', 'run', '{flow}'),
        exit_line=r'\b{node} +NODE_EXITED\b',
        env={'PYTHONPATH': os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH', ''))))},
        versions=_versions('adora_ros', 'ros-rclpy', 'pyarrow'),
    )


def cold() -> System:
    """Return this package, which starts every node as a new interpreter."""
    return replace(adora(), name=COLD, keys={'warm': False})


def dora(path: Path | None) -> System | None:
    """Return dora-rs, or None if it is not there.

    Args:
        path: The ``dora`` command, or the environment that it is installed in; by default it is looked up in PATH.

    """
    given = path / 'bin' / 'dora' if path is not None and path.is_dir() else path
    command = str(given) if given is not None else shutil.which('dora')
    if command is None or not Path(command).is_file():
        return None
    folder = Path(command).absolute().parent
    return System(
        name=DORA,
        argv=(command, 'run', '{flow}'),
        exit_line=r'node exited with error: .*node_id={node}\b',
        env={'PATH': os.pathsep.join((str(folder), os.environ.get('PATH', '')))},
        versions=_foreign_versions(folder / 'python', 'dora-rs', 'dora-rs-cli', 'pyarrow'),
    )


def launch() -> System | None:
    """Return ``ros2 launch``, or None if it is not there."""
    command = shutil.which('ros2')
    if command is None:
        return None
    python = Path(command).parent / 'python3'
    return System(
        name=LAUNCH,
        argv=(command, 'launch', str(NODES / 'flow.launch.py')),
        exit_line=r'\[{node}-\d+\]: process has died',
        versions=_foreign_versions(python if python.exists() else Path('python3'), 'launch', 'rclpy', 'ros-rclpy'),
        watches_inputs=False,
    )


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _foreign_versions(python: Path, *packages: str) -> dict[str, str]:
    """Return the versions of packages in another environment; those that are not there are left out."""
    code = (
        'import sys\nfrom importlib.metadata import distributions\n'
        'for d in distributions():\n    if d.name in sys.argv[1:]: print(d.name, d.version)'
    )
    try:
        done = subprocess.run(
            (str(python), '-c', code, *packages), capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split() for line in done.stdout.splitlines())
