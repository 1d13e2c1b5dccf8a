"""Managers that wait, and the client that has dataflows started by them."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from adora_ros.coordinator.client import CoordinatorClient
from adora_ros.coordinator.records import Presence, Status
from adora_ros.dataflow import load
from adora_ros.errors import CoordinatorError
from coordinator.harness import DEADLINE, Coordinators, Process, without_profile
from manager.harness import Flow
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from adora_ros.coordinator.overview import DataflowInfo

MANAGER = (sys.executable, '-m', 'adora_ros.cli.manager')
ROS = ('--ros-args', '-p', 'heartbeat_period:=0.3')


@pytest.fixture
def waiting(coordinators: Coordinators) -> Iterator[Process]:
    """Return a manager that waits on machine A."""
    process = Process(coordinators.folder / 'waiting.log', [*MANAGER, '--machine', 'A', *ROS], without_profile())
    yield process
    process.close()


@pytest.fixture
def desk(profile: None) -> Iterator[CoordinatorClient]:  # noqa: ARG001 - it has to be there before
    """Return a client of the coordinator."""
    with CoordinatorClient(timeout=10.0) as client:
        yield client


def stream(folder: Path, **deploy: object) -> Flow:
    flow = Flow(folder, 'stream')
    flow.node('source', 'soak_source.py', 0, outputs=['data'], **deploy)
    return flow.node('sink', 'events.py', inputs={'data': 'source/data'}, **deploy)


def waits_for(desk: CoordinatorClient, run: str, status: Status) -> DataflowInfo:
    def found() -> DataflowInfo:
        info = desk.find(run)
        assert info.status is status, info
        return info

    return eventually(found, DEADLINE)


def test_a_dataflow_is_started_listed_and_stopped_through_the_coordinator(
    coordinators: Coordinators, waiting: Process, desk: CoordinatorClient
) -> None:
    coordinator = coordinators.start()
    eventually(lambda: [each.id for each in desk.machines() if each.waits] == ['A'], DEADLINE)
    dataflow = load(stream(coordinators.folder).file)
    run = desk.start(dataflow)
    info = waits_for(desk, run, Status.RUNNING)
    assert (info.name, info.machines, info.error, info.file) == ('stream', ('A',), '', str(dataflow.file))
    (machine,) = desk.machines()
    assert (machine.id, machine.status, machine.waits) == ('A', Presence.CONNECTED, True)
    assert machine.last_heartbeat_ago_ms is not None
    assert machine.last_heartbeat_ago_ms < 10_000
    with pytest.raises(CoordinatorError, match=rf'dataflow stream is Running \({run}\); stop it or choose another'):
        desk.start(dataflow)
    with pytest.raises(CoordinatorError, match='there is no dataflow `strea`; those that have not ended: stream'):
        desk.find('strea')

    # What is wanted outlives the coordinator.
    coordinator.end(signal.SIGKILL)
    coordinators.start()
    waits_for(desk, run[:8], Status.RUNNING)
    assert desk.stop('stream').uuid == run
    waits_for(desk, run, Status.SUCCEEDED)
    with pytest.raises(CoordinatorError, match='dataflow stream has ended: it is Succeeded'):
        desk.stop('stream')

    # A manager that could not run its share says why.
    elsewhere = load(stream(coordinators.folder, deploy={'machine': 'Q'}).file)
    with pytest.raises(CoordinatorError, match='no manager waits on machine `Q`; managers wait on A'):
        desk.start(elsewhere)
    second = desk.start(load(stream(coordinators.folder).file, name='again'))
    waits_for(desk, second, Status.RUNNING)
    assert waiting.end(signal.SIGTERM) == 0
    waits_for(desk, second, Status.SUCCEEDED)
    eventually(lambda: [each.status for each in desk.machines()] == [Presence.LEFT], DEADLINE)
    with pytest.raises(CoordinatorError, match=r'no manager without a name waits to take them.*wait on no machine'):
        desk.start(dataflow)


def test_without_a_coordinator_the_client_says_so(desk: CoordinatorClient) -> None:
    desk._timeout = 0.5
    with pytest.raises(CoordinatorError, match=r'did not answer within 0.5 s: no coordinator in ROS domain \d+'):
        desk.list()
