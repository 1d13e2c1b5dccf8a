"""What is measured."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.coordinator import labels
from adora_ros.coordinator.client import CoordinatorClient
from adora_ros.coordinator.fallback import FallbackStore
from adora_ros.coordinator.limits import Limits
from adora_ros.coordinator.protocol import Report, ReportKind, Step
from adora_ros.coordinator.records import Record, Status
from adora_ros.coordinator.registry import Registry
from adora_ros.coordinator.sqlite import SqliteStore
from benchmarks.coordinator.lab import lab, say
from benchmarks.coordinator.reporters import DESCRIPTOR, STATES

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = 10_000
MANAGERS = 200
PROCESSES = 4
TURNS = 4
"""Runs that each manager makes, from its first step to its last, while steps are counted."""
HEARTBEAT = 3.0
"""Seconds between two heartbeats of a manager."""
HOUR = 3600.0
RUNS_AN_HOUR = 6
"""Runs that each manager ends in the simulated hour."""
RATE = 700.0
"""Heartbeats a second of each process while the hour is made short."""
HOUR_TAKES = MANAGERS * HOUR / HEARTBEAT / (RATE * PROCESSES)
"""Seconds that the heartbeats of the simulated hour take."""
IDLE = 10.0

Samples = dict[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One figure.

    Attributes:
        id: Its name in the JSON file.
        title: What it is.
        unit: Its unit.
        goal: What it is to reach; None for none.
        more: Whether more is better.

    """

    id: str
    title: str
    unit: str
    goal: float | None = None
    more: bool = False


MEASURES = (
    Measure(id='list', title=f'all of {RECORDS} records over ROS', unit='ms', goal=200.0),
    Measure(id='command', title=f'`adora list --json` with {RECORDS} records, from start to end', unit='ms'),
    Measure(id='idle', title=f'CPU with {RECORDS} records and nobody that reports', unit='% of one core'),
    Measure(id='durable', title='steps written to the disk, one after another', unit='1/s', goal=500.0, more=True),
    Measure(id='steps', title=f'steps of {MANAGERS} managers at once, over ROS', unit='1/s', goal=500.0, more=True),
    Measure(id='up', title=f'{MANAGERS} managers begin at the same time, until all are known to run', unit='s'),
    Measure(id='beating', title=f'CPU with {MANAGERS} managers, a heartbeat each every 3 s', unit='% of one core'),
    Measure(id='growth', title='memory after an hour of traffic, less that after 20 minutes', unit='MiB', goal=8.0),
    Measure(id='memory', title='memory after an hour of traffic', unit='MiB'),
)


def listing() -> Samples:
    """List many records, as a client and as a command."""
    found: Samples = {'list': [], 'command': [], 'idle': []}
    with lab(RECORDS) as bench, CoordinatorClient(30.0) as client:
        client.list()
        for _ in range(20):
            began = time.perf_counter()
            count = len(client.list())
            found['list'].append((time.perf_counter() - began) * 1000)
            assert count == RECORDS  # noqa: S101 - a figure about something else would be none
        for _ in range(3):
            began = time.perf_counter()
            command = [sys.executable, '-m', 'adora_ros.cli', 'list', '--json']
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            found['command'].append((time.perf_counter() - began) * 1000)
        found['idle'].append(_cpu(bench.cpu_seconds, IDLE))
    return found


def durable() -> Samples:
    """Write steps of many dataflows, each of them durable before the next."""

    class Nobody:
        def changed(self, before: Record | None, after: Record | None) -> None:
            pass

        def machine_lost(self, machine: str, age: float) -> None:
            pass

        def machine_back(self, machine: str) -> None:
            pass

        def warn(self, text: str) -> None:
            say(text)

    rates = []
    with tempfile.TemporaryDirectory(prefix='adora-bench-', dir=_disk()) as folder:
        store = FallbackStore(SqliteStore(str(Path(folder) / 'c.db'), warn=say), warn=say, clock=time.monotonic)
        registry = Registry(store, observer=Nobody(), limits=Limits(), label=labels.now)
        for batch in range(8):
            began = time.perf_counter()
            for number in range(100):
                for seq, status in enumerate(STATES, start=1):
                    registry.take(_report(f'{batch}-{number}', seq, status), time.monotonic())
            rates.append(4 * 100 / (time.perf_counter() - began))
        store.close()
    return {'durable': rates}


def managers() -> Samples:
    """Have many managers report at the same time."""
    found: Samples = {}
    with lab() as bench:
        bench.reporters(MANAGERS, PROCESSES)
        steps = TURNS * MANAGERS * len(STATES)
        began = time.monotonic()
        bench.ask(f'runs {TURNS}')
        found['steps'] = [steps / (bench.wait_for(Status.SUCCEEDED, TURNS * MANAGERS) - began)]
        bench.check_steps(steps)
        began = time.monotonic()
        bench.ask('begin')
        found['up'] = [bench.wait_for(Status.RUNNING, MANAGERS) - began]
        each = MANAGERS / PROCESSES
        cpu, clock = bench.cpu_seconds(), time.monotonic()
        bench.ask(f'beat {int(each * 20 / HEARTBEAT)} {each / HEARTBEAT}')
        found['beating'] = [(bench.cpu_seconds() - cpu) / (time.monotonic() - clock) * 100]
    return found


def hour() -> Samples:
    """Send as many messages as an hour has, in a time that is shorter and in which all of them are taken."""
    rss = []
    with lab() as bench:
        bench.reporters(MANAGERS, PROCESSES)
        bench.ask('begin')
        bench.wait_for(Status.RUNNING, MANAGERS)
        beats = int(MANAGERS / PROCESSES * HOUR / HEARTBEAT / RUNS_AN_HOUR)
        for number in range(RUNS_AN_HOUR):
            bench.ask(f'beat {beats} {RATE}')
            bench.check_kept_up()
            bench.ask('runs 1')
            bench.wait_for(Status.SUCCEEDED, (number + 1) * MANAGERS)
            rss.append(bench.rss())
        bench.check_steps(2 * MANAGERS + RUNS_AN_HOUR * MANAGERS * len(STATES))
    return {'growth': [rss[-1] - rss[1]], 'memory': [rss[-1]]}


RUNS: dict[str, Callable[[], Samples]] = {
    'listing': listing,
    'durable': durable,
    'managers': managers,
    'hour': hour,
}


def _report(run: str, seq: int, status: Status) -> Report:
    return Report(
        kind=ReportKind.STEP,
        run=run,
        dataflow='flow',
        machine='robot',
        hostname='robot',
        service='',
        last=Step(seq=seq, status=status, error='', stamp=labels.now()),
        descriptor=DESCRIPTOR if seq == 1 else '',
    )


def _cpu(seconds: Callable[[], float], duration: float) -> float:
    before, began = seconds(), time.monotonic()
    time.sleep(duration)
    return (seconds() - before) / (time.monotonic() - began) * 100


def _disk() -> str | None:
    """Return a folder on a disk rather than in memory, where the current one is on one."""
    with contextlib.suppress(OSError):
        if os.access('.', os.W_OK):
            return '.'
    return None
