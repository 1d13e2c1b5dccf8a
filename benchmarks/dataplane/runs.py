"""One measurement: a system, a size, a number of sinks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.supervision import systems
from benchmarks.supervision.session import MissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NODES = Path(__file__).with_name('nodes')
ADORA, DORA, DORA_POOL, RCLPY = 'adora_ros', 'dora-rs', 'dora-rs, pool of 1 GB', 'rclpy'
ORDER = (ADORA, RCLPY, DORA, DORA_POOL)
"""In which the systems are shown."""
POOL = '1GB'
LIMIT = 90.0
"""Seconds that a measurement may take, with the start of the processes and what is lost."""
POLL = 0.05


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is measured.

    Attributes:
        size: Of a value in bytes.
        count: How many values at most.
        limit: Seconds after which no more are sent.
        warm_up: How many values before them.
        sinks: How many nodes receive each of them.
        window: How many values may be on their way at a time: 1 measures latency, more throughput.
        gap: Seconds between a receipt and the next value.

    """

    size: int
    count: int
    limit: float = 12.0
    warm_up: int = 20
    sinks: int = 1
    window: int = 1
    gap: float = 0.002


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out.

    Attributes:
        latencies: Per value and sink, in milliseconds.
        last: Per value, to its last sink, in milliseconds.
        count: How many values were sent.
        lost: How many did not come, of all sinks.
        rate: Values per second.
        cpu: Processor time per value in milliseconds: ``source``, ``sink`` (of one) and ``supervisor``.

    """

    latencies: list[float]
    last: list[float]
    count: int
    lost: int
    rate: float
    cpu: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Way:
    """A system as it is measured.

    Attributes:
        name: What it is called.
        system: How a dataflow is run with it; None for processes without a dataflow.
        pool: Whether the source gets a pool of its own.
        link: What the nodes use.
        env: Variables to set.

    """

    name: str
    system: systems.System | None = None
    pool: bool = False
    link: str = 'arrow'
    env: tuple[tuple[str, str], ...] = ()


def ways(dora: Path | None) -> list[Way]:
    """Return what can be measured here."""
    found = [Way(name=ADORA, system=systems.adora()), Way(name=RCLPY, link='bytes')]
    other = systems.dora(dora)
    if other is not None:
        found += [Way(name=DORA, system=other), Way(name=DORA_POOL, system=other, pool=True)]
    return found


def in_order(systems: Iterable[str]) -> list[str]:
    """Return systems, each once, in the order in which they are shown; those of other names come last."""
    places = {name: place for place, name in enumerate(ORDER)}
    return sorted(dict.fromkeys(systems), key=lambda name: places.get(name, len(ORDER)))


def dataflow(task: Task, *, pool: bool) -> dict[str, Any]:
    """Return the dataflow of a task."""
    source: dict[str, Any] = {'id': 'source', 'path': str(NODES / 'sender.py'), 'outputs': ['data']}
    if pool:
        source['shared_memory_pool_size'] = POOL
    sinks = [
        {'id': f'sink{n}', 'path': str(NODES / 'taker.py'), 'args': str(n), 'inputs': {'data': 'source/data'}}
        for n in range(task.sinks)
    ]
    return {'nodes': [source, *sinks]}


def measure(way: Way, task: Task, domain: int) -> Result:
    """Measure.

    Raises:
        MissingError: nothing came out.

    """
    with tempfile.TemporaryDirectory(prefix='bench') as name:
        folder = Path(name)
        job = {**vars(task), 'folder': name, 'link': way.link}
        started = _start(way, task, folder, {'BENCH_JOB': json.dumps(job), **dict(way.env)}, domain)
        try:
            return _result(_wait(folder, task, started))
        finally:
            for process in started:
                _end(process)


def _start(way: Way, task: Task, folder: Path, env: Mapping[str, str], domain: int) -> list[subprocess.Popen[bytes]]:
    file = folder / f'bench_{os.getpid()}.yml'
    base = (way.system or systems.adora()).environment(file, domain)
    commands = [
        [sys.executable, str(NODES / 'sender.py')],
        *([sys.executable, str(NODES / 'taker.py'), str(n)] for n in range(task.sinks)),
    ]
    if way.system is not None:
        file.write_text(yaml.safe_dump(dataflow(task, pool=way.pool)), encoding='utf-8')
        commands = [way.system.command(file)]
    with (folder / 'output').open('wb') as output:
        return [
            subprocess.Popen(
                command,
                env={**base, **env},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            for command in commands
        ]


def _wait(folder: Path, task: Task, started: list[subprocess.Popen[bytes]]) -> dict[str, Any]:
    names = ['source', *(f'sink{n}' for n in range(task.sinks))]
    deadline = time.monotonic() + LIMIT
    while not all((folder / f'{name}.json').exists() for name in names):
        if time.monotonic() > deadline or any(process.poll() for process in started):
            tail = (folder / 'output').read_text(encoding='utf-8', errors='replace')[-1500:]
            msg = f'nothing came out; the last output:\n{tail}'
            raise MissingError(msg)
        time.sleep(POLL)
    return {name: json.loads((folder / f'{name}.json').read_text(encoding='utf-8')) for name in names}


def _result(found: dict[str, Any]) -> Result:
    source = found.pop('source')
    sinks = [sink['cpu'] for sink in found.values()]
    complete = [times for times in source['latencies_ns'] if times]
    count = source['count']
    per_value = 1000 / count
    return Result(
        latencies=[time / 1e6 for times in complete for time in times],
        last=[max(times) / 1e6 for times in complete],
        count=count,
        lost=source['lost'],
        rate=count / source['seconds'],
        cpu={
            'source': source['cpu'] * per_value,
            'sink': sum(sinks) / len(sinks) * per_value,
            'supervisor': source['cpu_supervisor'] * per_value,
        },
    )


def together(results: Sequence[Result]) -> Result:
    """Return the rounds of a measurement as one."""
    count = sum(each.count for each in results)
    return Result(
        latencies=[time for each in results for time in each.latencies],
        last=[time for each in results for time in each.last],
        count=count,
        lost=sum(each.lost for each in results),
        rate=count / sum(each.count / each.rate for each in results),
        cpu={process: sum(each.cpu[process] * each.count for each in results) / count for process in results[0].cpu},
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have a process end as Ctrl-C does; what does not is killed with its group."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(15.0)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
