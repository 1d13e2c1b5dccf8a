"""A coordinator with a store on the disk, and processes that report to it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from adora_ros.coordinator.client import CoordinatorClient
from adora_ros.coordinator.labels import now
from adora_ros.coordinator.records import DataflowRecord, Part, Status
from adora_ros.coordinator.sqlite import SqliteStore
from benchmarks.coordinator.reporters import DESCRIPTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 120.0
BACKLOG = 1.0
"""Seconds within which a coordinator that keeps up answers: its queue holds more than it is sent in that time."""
MIB = 1024 * 1024


class LabError(Exception):
    """Something did not happen in time."""


class Lab:
    """One coordinator and what reports to it."""

    def __init__(self, folder: Path, records: int = 0) -> None:
        """Start a coordinator.

        Args:
            folder: Where its database and its output go.
            records: Dataflows of the past that it finds in its store.

        """
        self.database = folder / 'coordinator.db'
        fill(self.database, records)
        self._output = folder / 'coordinator.log'
        command = [sys.executable, '-m', 'adora_ros.cli.coordinator', '--store', f'sqlite:{self.database}']
        with self._output.open('wb') as output:
            self.process = psutil.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        self._reporters: list[subprocess.Popen[str]] = []
        self._wait(lambda: 'coordinator ready' in self._output.read_text(encoding='utf-8'), 'the coordinator')
        self._client = CoordinatorClient(PATIENCE)
        self._client.list()

    def reporters(self, managers: int, processes: int) -> None:
        """Start processes that report for many managers."""
        each = managers // processes
        for number in range(processes):
            command = [sys.executable, '-m', 'benchmarks.coordinator.reporters']
            command += ['--count', str(each), '--first', str(number * each)]
            self._reporters.append(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            )
        self._join()

    def ask(self, line: str) -> None:
        """Have all reporters do something at the same time, and wait until they have."""
        for reporter in self._reporters:
            if reporter.stdin is not None:
                reporter.stdin.write(f'{line}\n')
        self._join()

    def wait_for(self, status: Status, count: int) -> float:
        """Wait until ``count`` dataflows are in a state; return the steady time at which they were."""
        self._wait(
            lambda: sum(info.status is status for info in self._client.list()) >= count, f'{count} {status.value}'
        )
        return time.monotonic()

    def check_steps(self, count: int) -> None:
        """See to it that every step was recorded as one, and that nothing went wrong on the way.

        Raises:
            LabError: it was not.

        """
        found = sum(info.generation for info in self._client.list())
        if found != count or 'WARN' in self._output.read_text(encoding='utf-8'):
            msg = f'{found} steps are recorded, not {count}:\n{self._output.read_text(encoding="utf-8")[-2000:]}'
            raise LabError(msg)

    def check_kept_up(self) -> None:
        """See to it that what was sent has been taken, and does not wait in a queue that may have overflowed.

        Raises:
            LabError: it was not.

        """
        began = time.monotonic()
        self._client.list()
        waited = time.monotonic() - began
        if waited > BACKLOG:
            msg = f'the coordinator fell behind: it answered after {waited:.1f} s'
            raise LabError(msg)

    def rss(self) -> float:
        """Return the coordinator's memory in MiB."""
        return float(self.process.memory_info().rss) / MIB

    def cpu_seconds(self) -> float:
        """Return the CPU time that the coordinator has used."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def close(self) -> None:
        """End everything."""
        self._client.close()
        for reporter in self._reporters:
            if reporter.stdin is not None:
                reporter.stdin.close()
            reporter.wait(PATIENCE)
        self.process.kill()
        self.process.wait()

    def _join(self) -> None:
        for reporter in self._reporters:
            if reporter.stdout is None or reporter.stdout.readline() != 'done\n':
                msg = 'a reporter has died'
                raise LabError(msg)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() >= deadline or self.process.poll() is not None:
                msg = f'{what}: not there after {PATIENCE:g} s:\n{self._output.read_text(encoding="utf-8")[-2000:]}'
                raise LabError(msg)
            time.sleep(0.05)


def say(text: str) -> None:
    """Show a line of trouble."""
    sys.stderr.write(f'{text}\n')


@contextlib.contextmanager
def lab(records: int = 0) -> Iterator[Lab]:
    """Yield a coordinator whose database is on the disk of the temporary folder."""
    with tempfile.TemporaryDirectory(prefix='adora-bench-') as folder:
        os.environ['ROS_LOG_DIR'] = folder
        made = Lab(Path(folder), records)
        try:
            yield made
        finally:
            made.close()


def fill(database: Path, count: int) -> None:
    """Write records of the past into a database."""
    store = SqliteStore(str(database), warn=say)
    stamp = now()
    for number in range(count):
        store.put(
            DataflowRecord(
                uuid=f'{number:08d}-0000-4000-8000-000000000000',
                name=f'flow_{number % 50}',
                descriptor=DESCRIPTOR,
                status=Status.SUCCEEDED,
                machines=('robot',),
                parts=(Part(machine='robot', status=Status.SUCCEEDED, seq=4),),
                created_at=stamp,
                updated_at=stamp,
            )
        )
    store.close()
