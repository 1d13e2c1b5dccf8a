"""Hosts that cannot find each other by multicast."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from machines.harness import COORDINATOR, Desk
from machines.test_machines import chain, numbers, start
from manager.harness import DEADLINE
from support import eventually

if TYPE_CHECKING:
    from machines.harness import Network

PATH = f'{Path(sys.executable).parent}{os.pathsep}{os.environ.get("PATH", "")}'
SERVER = shutil.which('fast-discovery-server', path=PATH)
PORT = 11811


def servers(network: Network) -> dict[str, str]:
    """Start a discovery server of Fast DDS on host C, and return what lets others use it."""
    if SERVER is None or os.environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp') != 'rmw_fastrtps_cpp':
        pytest.skip('there is no discovery server of Fast DDS')
    host = network.hosts['C']
    server = host.run('server', [SERVER, '42', '-i', '0', '-l', host.address, '-p', str(PORT)])
    server.says('Server started')
    return {'ROS_DISCOVERY_SERVER': f'{host.address}:{PORT}'}


def addresses(network: Network) -> dict[str, str]:
    """Return what lets hosts know the addresses of all others."""
    return {'ROS_STATIC_PEERS': ';'.join(host.address for host in network.hosts.values())}


@pytest.mark.parametrize('means', [servers, addresses])
def test_a_dataflow_without_multicast(network: Network, means: object) -> None:
    for host in network.hosts.values():
        host.without_multicast()
    assert callable(means)
    env = means(network)
    for host in network.hosts.values():
        host.env.update(env)
    network.hosts['C'].run('coordinator', COORDINATOR).says('coordinator ready')
    desk = Desk(network.hosts['C'])
    flow = chain(network)
    run = start(network, desk, flow)
    desk.waits_for(run, 'Running')
    eventually(lambda: len(numbers(flow, 'sink')) > 5, DEADLINE)
    found = numbers(flow, 'sink')
    assert found == list(range(len(found)))
    command = network.hosts['A'].run('ps', [sys.executable, '-m', 'adora_ros.cli', 'ps', 'chain', '--json'])
    assert command.process.wait(DEADLINE) == 0, command.text
    assert {node['node']: node['state'] for node in json.loads(command.text)} == dict.fromkeys(
        ('source', 'near', 'relay', 'sink'), 'running'
    )
    desk.ask('stop chain')
    desk.waits_for(run, 'Succeeded')
