"""The commands of docs/machines.md work on one machine that plays both."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from coordinator.harness import DEADLINE, Process, without_profile
from manager.harness import ROOT
from support import eventually

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = {
    'ros2 run adora_ros coordinator': 'adora_ros.cli.coordinator',
    'ros2 run adora_ros manager': 'adora_ros.cli.manager',
    'adora': 'adora_ros.cli',
}


def commands(section: str) -> list[list[str]]:
    """Return the commands of a section of the page, as they run from the source."""
    page = (ROOT / 'docs' / 'machines.md').read_text(encoding='utf-8')
    text = page.split(f'## {section}\n')[1].split('\n## ')[0]
    found = []
    for line in re.findall(r'^    (.+)$', text, re.MULTILINE):
        program = next(name for name in PROGRAMS if line.startswith(name))
        arguments = (
            line[len(program) :].replace('--store sqlite', '--store memory').replace('config/', f'{ROOT}/config/')
        )
        found.append([sys.executable, '-m', PROGRAMS[program], *shlex.split(arguments)])
    return found


def test_the_commands_of_the_page_on_machines(tmp_path: Path) -> None:
    coordinator, robot, station, start, machines, stop, _by_hand = commands('Start')
    running = [
        Process(tmp_path / f'{number}.txt', command, without_profile())
        for number, command in enumerate((coordinator, robot, station))
    ]

    def ask(command: list[str]) -> str:
        done = subprocess.run(
            command,
            env={**without_profile(), 'PYTHONPATH': str(ROOT)},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        eventually(lambda: ask(machines).count('Connected') == 2, DEADLINE)
        assert re.match(
            r'started distributed_deployment: [0-9a-f-]{36} on robot, station\n', ask([*start, '--timeout', '30'])
        )
        ask(stop)
        for process in running[1:]:
            process.says('dataflow distributed_deployment: its manager ended with 0')
            assert process.end(signal.SIGTERM) == 0
        running[0].says('dataflow distributed_deployment is Succeeded')
    finally:
        for process in running:
            process.close()


def test_the_times_of_the_page_are_parameters_that_there_are(tmp_path: Path) -> None:
    (manager, coordinator) = commands('When a cable is pulled')
    for command, said in ((manager, 'machine robot waits for dataflows'), (coordinator, 'coordinator ready')):
        process = Process(tmp_path / 'process.txt', command, dict(os.environ))
        try:
            process.says(said)
            assert process.end(signal.SIGTERM) == 0
        finally:
            process.close()
