"""Dataflows on three hosts: what is started where, what crosses, and what becomes of a host that is lost."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from machines.harness import PERIOD, THRESHOLD
from manager.harness import DEADLINE, ROOT, Flow
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.harness import Process
    from machines.harness import Desk, Network

LOSS = 0.1
"""Share of the frames that a bad cable loses."""
LOST, BACK = 'peer daemon disconnected daemon_id=B', 'peer daemon connected daemon_id=B'


def on(machine: str) -> dict[str, dict[str, str]]:
    return {'deploy': {'machine': machine}}


def numbers(flow: Flow, node: str) -> list[int]:
    """Return the numbers that a node has marked."""
    return [int(line.split('[')[1].rstrip(']')) for line in flow.marks(node) if 'INPUT data [' in line]


def chain(network: Network) -> Flow:
    """Return source (A) -> relay (B) -> sink (C), and a consumer of the source on its own host."""
    flow = Flow(network.folder, 'chain')
    flow.node('source', 'soak_source.py', 0, outputs=['data'], **on('A'))
    flow.node('near', 'events.py', inputs={'data': {'source': 'source/data', 'queue_size': 1000}}, **on('A'))
    flow.node(
        'relay',
        'passing_on.py',
        inputs={'data': 'source/data'},
        outputs=['data'],
        restart_policy='on-failure',
        **on('B'),
    )
    return flow.node('sink', 'events.py', inputs={'data': {'source': 'relay/data', 'queue_size': 1000}}, **on('C'))


def wait_on_all(network: Network, desk: Desk) -> None:
    for host in network.hosts.values():
        host.wait_for_work()
    wait_until_waiting(desk, 'ABC')


def start(network: Network, desk: Desk, flow: Flow) -> str:
    wait_on_all(network, desk)
    return str(desk.ask(f'start {flow.file}'))


def wait_until_waiting(desk: Desk, machines: Sequence[str]) -> None:
    """Wait until the coordinator knows that managers wait."""
    eventually(
        lambda: [each['id'] for each in desk.ask('overview')['machines'] if each['waits']] == list(machines), DEADLINE
    )


def test_a77_a78_each_host_runs_its_nodes_and_goes_on_without_another(
    network: Network, desk: Desk, coordinator: Process
) -> None:
    flow = chain(network)
    run = start(network, desk, flow)
    info = desk.waits_for(run, 'Running')
    assert info['machines'] == ['A', 'B', 'C']
    lost = Flow(network.folder, 'lost').node('node', 'events.py', **on('Q'))
    assert desk.ask(f'start {lost.file}') == 'no manager waits on machine `Q`; managers wait on A, B, C'

    # Each host has started its nodes and no other, and what is sent first arrives.
    nodes = {'near': 'A', 'relay': 'B', 'sink': 'C'}
    pids = {node: flow.pid(node, 0) for node in nodes}
    for node, machine in nodes.items():
        assert pids[node] in network.hosts[machine].pids(), node
    eventually(lambda: len(numbers(flow, 'sink')) > 5, DEADLINE)
    assert numbers(flow, 'sink') == list(range(len(numbers(flow, 'sink'))))

    # A restart on one host is told on another.
    os.kill(pids['relay'], signal.SIGKILL)
    pids['relay'] = flow.pid('relay', 1)
    eventually(lambda: '0 NODE_RESTARTED relay' in flow.marks('sink'), DEADLINE)

    # The cable of B is pulled.
    before = time.monotonic()
    network.hosts['B'].pull_cable()
    coordinator.says(LOST)
    assert time.monotonic() - before <= THRESHOLD + PERIOD + 1.0  # the last is how often we and the coordinator look
    for name in 'AC':
        network.hosts[name].has_noted(LOST)
    assert desk.machines() == {'A': 'Connected', 'B': 'Disconnected', 'C': 'Connected'}
    assert desk.dataflow(run)['status'] == 'Running'
    ps = network.hosts['A'].run('ps', [sys.executable, '-m', 'adora_ros.cli', 'ps', 'chain', '--timeout', '3'])
    assert ps.process.wait(DEADLINE) == 1
    assert [node in ps.text for node in ('near @A', 'relay @B', 'sink @C')] == [True, False, True], ps.text
    assert 'chain/manager_B did not answer within 3 s; look at its machine' in ps.text
    count = len(numbers(flow, 'near'))
    eventually(lambda: len(numbers(flow, 'near')) > count + 20, DEADLINE)
    network.hosts['B'].plug_cable()
    coordinator.says(BACK)
    count = len(numbers(flow, 'sink'))
    eventually(lambda: len(numbers(flow, 'sink')) > count, DEADLINE)

    # B stands still, with all that runs on it.
    network.hosts['B'].signal_all(signal.SIGSTOP)
    eventually(lambda: coordinator.text.count(LOST) == 2, DEADLINE)
    network.hosts['B'].signal_all(signal.SIGCONT)
    eventually(lambda: coordinator.text.count(BACK) == 2, DEADLINE)
    count = len(numbers(flow, 'sink'))
    eventually(lambda: len(numbers(flow, 'sink')) > count, DEADLINE)

    assert desk.ask('stop chain') == run
    desk.waits_for(run, 'Succeeded')
    assert numbers(flow, 'near') == list(range(len(numbers(flow, 'near'))))  # not one was lost beside all that
    assert [flow.pid(node, 1 if node == 'relay' else 0) for node in pids] == list(pids.values())
    assert [line for line in flow.marks('sink') if 'INPUT' not in line][1:] == [
        '0 NODE_RESTARTED relay',
        '0 STOP MANUAL',
        '0 end',
    ]


def test_how_nodes_end_is_told_on_other_hosts(network: Network, desk: Desk) -> None:
    flow = Flow(network.folder, 'ends')
    flow.node('burst', 'count.py', 200, outputs=['data'], **on('A'))
    flow.node('bad', 'crash.py', 'late', outputs=['data'], **on('A'))
    queue = {'queue_size': 1000}
    flow.node('reader', 'events.py', inputs={'data': {'source': 'burst/data', **queue}}, **on('B'))
    flow.node('other', 'events.py', inputs={'data': {'source': 'bad/data', **queue}}, **on('C'))
    run = start(network, desk, flow)
    info = desk.waits_for(run, 'Failed')
    assert info['error'] == 'bad: exit code 3'
    assert flow.marks('reader')[1:] == [
        *(f'0 INPUT data [{number}]' for number in range(200)),
        '0 INPUT_CLOSED data',
        '0 STOP ALL_INPUTS_CLOSED',
        '0 end',
    ]
    assert flow.marks('other')[1:] == [
        '0 NODE_FAILED bad',
        '0 INPUT_CLOSED data',
        '0 STOP ALL_INPUTS_CLOSED',
        '0 end',
    ]


def test_the_situation_of_a_robot_that_loses_its_link_stops_it_and_lets_it_drive_on(
    network: Network, desk: Desk
) -> None:
    robot, station = network.hosts['A'], network.hosts['B']
    robot.wait_for_work('robot')
    station.wait_for_work('station')
    wait_until_waiting(desk, ['robot', 'station'])
    run = str(desk.ask(f'start {ROOT / "config" / "distributed_deployment.yml"}'))
    desk.waits_for(run, 'Running')
    robot.pull_cable()
    robot.has_noted('stopped: the last command is 0.', 'base')
    station.has_noted('imu: lost', 'pilot')
    robot.plug_cable()
    robot.has_noted('commands again', 'base')
    station.has_noted('imu: back', 'pilot')
    desk.ask(f'stop {run}')
    desk.waits_for(run, 'Succeeded')
    for host in (robot, station):
        host.has_noted('all nodes ended well')


def test_a_cable_that_loses_every_tenth_frame_loses_no_message_and_no_machine(
    network: Network, desk: Desk, coordinator: Process
) -> None:
    cable = network.hosts['B'].bad_cable()
    cable.loses(LOSS)
    long = {'queue_size': 1000}
    flow = Flow(network.folder, 'lossy').node('source', 'steady.py', 0.01, outputs=['data'], **on('A'))
    flow.node('relay', 'passing_on.py', inputs={'data': {'source': 'source/data', **long}}, outputs=['data'], **on('B'))
    # It connects late, and what is sent first has to wait for it, two machines away.
    flow.node('sink', 'events.py', 2.0, inputs={'data': {'source': 'relay/data', **long}}, **on('C'))
    wait_on_all(network, desk)
    waiting = {name: host.pids() for name, host in network.hosts.items()}
    run = str(desk.ask(f'start {flow.file}'))
    desk.waits_for(run, 'Running')
    eventually(lambda: len(numbers(flow, 'sink')) > 300, DEADLINE)
    found = numbers(flow, 'sink')
    assert found == list(range(len(found)))
    carried, lost = cable.loses(1.0)
    assert lost > LOSS / 2 * carried > 100
    assert LOST not in coordinator.text

    # It carries nothing for longer than the threshold.
    coordinator.says(LOST)
    for name in 'AC':
        network.hosts[name].has_noted(LOST)
    cable.loses(LOSS)
    coordinator.says(BACK)
    count = len(numbers(flow, 'sink'))
    eventually(lambda: len(numbers(flow, 'sink')) > count + 100, DEADLINE)

    # The source ends first, and its last words reach who is two machines away.
    desk.ask('stop lossy')
    desk.waits_for(run, 'Succeeded')
    sent = int(flow.marks('source')[-1].rpartition(' ')[2])
    found = numbers(flow, 'sink')
    gaps = [number for number, follows in itertools.pairwise(found) if follows != number + 1]
    assert found[-1] == sent - 1
    assert len(gaps) <= 1  # what was sent while the cable carried nothing
    assert coordinator.text.count(LOST) == 1
    eventually(lambda: {name: host.pids() for name, host in network.hosts.items()} == waiting, DEADLINE)
