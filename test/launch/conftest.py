"""Launch as a process of its own, on dataflows and launch files of a test.

The fixtures are here rather than in a module, whose name ``launch.harness`` would be looked for in ROS 2's launch.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import eventually

PROGRAM = Path(__file__).with_name('program.py')
DEADLINE = 60.0
"""Seconds for anything that launch does on a busy machine."""

LISTENER = """\
from adora_ros import Node

for event in Node():
    print(event['type'], event.get('id'), flush=True)
"""
CRASH = """\
import sys
from adora_ros import Node

Node().next()
sys.exit(3)
"""
ONCE = """\
from adora_ros import Node

Node()
"""


class Stage:
    """A folder with node scripts, and what is launched in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, script in (('listener', LISTENER), ('crash', CRASH), ('once', ONCE)):
            self.write(f'{name}.py', script)

    def write(self, name: str, text: str) -> Path:
        """Write a file and return its path."""
        file = self.folder / name
        file.write_text(text, encoding='utf-8')
        return file

    def launch(self, file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a launch file to its end; all that it prints is in ``stdout``."""
        command = [sys.executable, str(PROGRAM), str(file), *arguments]
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEADLINE, check=False
        )

    def start(self, file: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Run a launch file in a session of its own, so that a signal to launch reaches nobody else."""
        with (self.folder / 'console.txt').open('w') as log:
            command = [sys.executable, str(PROGRAM), str(file), *arguments]
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def wait_for(self, text: str) -> None:
        """Wait until what :meth:`start` started has printed a text."""
        console = self.folder / 'console.txt'
        eventually(lambda: text in console.read_text(encoding='utf-8'), DEADLINE, f'{text!r} on the console')

    def log(self, node: str) -> list[str]:
        """Return what a node of the only run printed, from its log file."""
        (file,) = self.folder.glob(f'ros_log/*/*/{node}.log')
        return [line.split(maxsplit=2)[-1] for line in file.read_text(encoding='utf-8').splitlines()]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
