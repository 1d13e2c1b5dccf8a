"""Managers that run nodes, under a coordinator that is stopped, killed, or not there."""

from __future__ import annotations

import signal
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from diagnostic_msgs.msg import DiagnosticArray

from coordinator.harness import DEADLINE, Coordinators, Process, without_profile
from manager.harness import Flow
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordinator.harness import Client

MANAGER = (sys.executable, '-m', 'adora_ros.cli.manager')
STALE = 5.0
"""Seconds without news after which diagnostic_aggregator calls an item stale."""
LEASE = 5.0
"""Seconds after which DDS forgets a participant that does not announce itself."""


class Managers:
    """Starts managers with short periods, each with a dataflow of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Process] = []

    def start(self, flow: Flow) -> Process:
        """Start one."""
        ros = ('--ros-args', '-p', 'heartbeat_period:=0.3')
        command = [*MANAGER, '--dataflow', str(flow.file), '--machine', 'A', '--color', 'never', *ros]
        process = Process(self._folder / f'{flow.file.stem}.log', command, without_profile())
        self._started.append(process)
        return process

    def close(self) -> None:
        """End those that are left."""
        for process in self._started:
            process.close()


@pytest.fixture
def managers(coordinators: Coordinators) -> Iterator[Managers]:
    """Return what starts managers, and end them after the test."""
    started = Managers(coordinators.folder)
    yield started
    started.close()


def stream(folder: Path, name: str = 'stream') -> Flow:
    """Return a dataflow of a source that sends ten numbers a second, and a sink that marks them."""
    flow = Flow(folder, name)
    flow.node('source', 'soak_source.py', 0, outputs=['data'])
    return flow.node('sink', 'events.py', inputs={'data': {'source': 'source/data', 'queue_size': 1000}})


def runs(client: Client, name: str) -> list[str]:
    """Return the uuids of the runs of a dataflow."""
    names = client.ask('list_parameters', ['dataflows'], 0).result.names
    keys = [each.split('.')[1] for each in names if each.endswith('.name')]
    return [key for key in keys if client.values(f'dataflows.{key}')['name'] == name]


def topics(client: Client) -> set[str]:
    """Return the names of all topics."""
    return {name for name, _ in client.node.get_topic_names_and_types()}


def received(flow: Flow) -> list[str]:
    """Return the messages that the sink has marked."""
    return [line for line in flow.marks('sink') if 'INPUT data' in line]


def test_a71_a_coordinator_that_comes_and_goes_ten_times_is_told_each_time_and_touches_no_node(
    coordinators: Coordinators, managers: Managers, client: Client
) -> None:
    flow = stream(coordinators.folder)
    manager = managers.start(flow)  # there is no coordinator yet
    manager.says('nodes are up')
    pid = flow.pid('sink', 0)
    for _ in range(10):
        coordinator = coordinators.start()
        coordinator.says('dataflow stream is Running')
        coordinator.end(signal.SIGKILL)
    coordinators.start().says('dataflow stream is Running')
    (run,) = runs(client, 'stream')
    # Two steps before anybody listened, which were told in order, and two for each of the ten restarts.
    client.waits_for(f'dataflows.{run}', status='Running', generation=2 + 2 * 10, machines=['A'], error='')
    count = len(received(flow))
    eventually(lambda: len(received(flow)) > count, DEADLINE)
    assert manager.end(signal.SIGTERM) == 128 + signal.SIGTERM
    client.waits_for(f'dataflows.{run}', status='Succeeded', generation=2 + 2 * 10 + 2)
    assert received(flow) == [f'0 INPUT data [{number}]' for number in range(len(received(flow)))]
    assert flow.marks('sink')[0] == f'0 pid {pid}'
    assert flow.marked('sink', 'end') == [0]


def test_a70_a72_a75_a_coordinator_that_was_stopped_for_longer_than_any_limit_misses_nobody(
    coordinators: Coordinators, managers: Managers, client: Client
) -> None:
    coordinator = coordinators.start(machine_timeout=1.5)
    flow = stream(coordinators.folder)
    manager = managers.start(flow)
    coordinator.says('dataflow stream is Running')
    (run,) = runs(client, 'stream')
    pid = flow.pid('sink', 0)
    eventually(
        lambda: topics(client).issuperset(f'/stream/{node}/transition_event' for node in ('source', 'sink')), DEADLINE
    )
    before = topics(client)

    coordinator.send(signal.SIGSTOP)
    time.sleep(LEASE + 1.0)
    coordinator.send(signal.SIGCONT)
    client.waits_for('machines.A', status='Connected')
    eventually(lambda: client.values('machines.A')['last_heartbeat_ago_ms'] < 1000, DEADLINE)
    assert client.values(f'dataflows.{run}')['generation'] == 2
    assert 'disconnected' not in coordinator.text
    assert [line for line in flow.marks('sink') if 'pid' in line] == [f'0 pid {pid}']
    assert topics(client) == before

    # A72 and A75: what ended, what ended badly and what goes on while a coordinator is gone is known to the next one.
    broken = Flow(coordinators.folder, 'broken')
    broken.node('bad', 'crash.py', 'late', outputs=['data']).node('good', 'events.py', inputs={'data': 'bad/data'})
    assert managers.start(broken).process.wait(DEADLINE) == 1
    (past,) = runs(client, 'broken')
    failed = client.waits_for(f'dataflows.{past}', status='Failed')
    assert failed['error'].startswith('bad: ')
    coordinator.end(signal.SIGKILL)
    again = coordinators.start()
    again.says('2 dataflows, 1 of them not final')
    client.waits_for(f'dataflows.{run}', status='Running', generation=4)
    assert client.values(f'dataflows.{past}') == failed
    again.end(signal.SIGKILL)
    manager.send(signal.SIGTERM)
    eventually(lambda: flow.marked('sink', 'end') == [0], DEADLINE)
    manager.process.wait(DEADLINE)


class Aggregator:
    """Listens to ``/diagnostics`` as an aggregator does: per item when it came, and with which level and message."""

    def __init__(self, client: Client) -> None:
        self.items: dict[str, list[tuple[float, int, str]]] = {}
        client.node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 10)

    def count(self, name: str) -> int:
        """Return how often an item has come."""
        return len(self.items.get(name, []))

    def gap(self, name: str) -> float:
        """Return the longest time in seconds between two messages of an item."""
        times = [time for time, _, _ in self.items[name]]
        return max(later - earlier for earlier, later in pairwise(times))

    def alarms(self) -> list[tuple[str, str]]:
        """Return the items that were not OK at some time, but for starting, with their messages."""
        came = [(name, level, text) for name, entries in self.items.items() for _, level, text in entries]
        return [(name, text) for name, level, text in came if level and text != 'starting']

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            entry = (time.monotonic(), status.level[0], status.message)
            self.items.setdefault(status.name, []).append(entry)


def test_a68_items_are_always_fresh_and_those_of_a_dead_machine_go_stale(
    coordinators: Coordinators, managers: Managers, client: Client
) -> None:
    aggregator = Aggregator(client)
    coordinators.start(machine_timeout=2.0)
    flow = stream(coordinators.folder).node('once', 'clean_exit.py')
    manager = managers.start(flow)
    own = ('stream: source', 'stream: sink', 'stream: once')
    machines = 'adora: machines'
    eventually(lambda: all(aggregator.count(name) >= 5 for name in (*own, machines)), DEADLINE)
    assert max(aggregator.gap(name) for name in (*own, machines)) < STALE
    assert aggregator.alarms() == []
    assert aggregator.items['stream: once'][-1][2].startswith('finished')
    assert aggregator.items[machines][-1][2] == '1 connected'

    manager.end(signal.SIGKILL)
    eventually(lambda: aggregator.items[machines][-1][1:] == (2, 'not heard of: A'), DEADLINE)
    counts = [aggregator.count(name) for name in own]
    summaries = aggregator.count(machines)
    eventually(lambda: aggregator.count(machines) >= summaries + 3, DEADLINE)
    assert [aggregator.count(name) for name in own] == counts
    assert {name for name, _ in aggregator.alarms()} == {machines}
    managers.start(flow).says('nodes are up')
    eventually(lambda: aggregator.items[machines][-1][1:] == (0, '1 connected'), DEADLINE)
