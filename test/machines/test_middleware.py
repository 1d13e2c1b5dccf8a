"""Another middleware than Fast DDS, where one is installed; ROS 2 from wheels has no other one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from ament_index_python import get_resources

from coordinator.harness import DEADLINE, Coordinators
from manager.harness import Flow, Run
from support import eventually

if TYPE_CHECKING:
    from pathlib import Path

OTHERS = ('rmw_cyclonedds_cpp', 'rmw_connextdds')
"""Those that need no router of their own."""


def installed() -> list[str]:
    """Return the other implementations that are installed."""
    try:
        known = get_resources('rmw_typesupport')
    except (LookupError, OSError):  # there is no index at all
        return []
    return [name for name in OTHERS if name in known]


@pytest.mark.usefixtures('ros_domain')
def test_a_dataflow_its_coordinator_and_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not installed():
        pytest.skip(f'none of {", ".join(OTHERS)} is installed')
    monkeypatch.setenv('RMW_IMPLEMENTATION', installed()[0])
    flow = Flow(tmp_path).node('source', 'count.py', 200, outputs=['data'])
    flow.node('sink', 'events.py', inputs={'data': {'source': 'source/data', 'queue_size': 1000}})
    flow.node('steady', 'soak_source.py', 0, outputs=['data'], restart_policy='on-failure')
    flow.node('watch', 'events.py', inputs={'data': 'steady/data'})

    def adora(*arguments: str) -> str:
        command = [sys.executable, '-m', 'adora_ros.cli', *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout

    coordinators = Coordinators(tmp_path)
    try:
        coordinators.start()
        run = Run(flow).running()
        eventually(lambda: flow.marks('sink')[-1:] == ['0 end'], DEADLINE)
        assert flow.marks('sink')[1:-1] == [
            *(f'0 INPUT data [{number}]' for number in range(200)),
            '0 INPUT_CLOSED data',
            '0 STOP ALL_INPUTS_CLOSED',
        ]
        adora('node', 'restart', 'steady', '-d', 'flow')
        flow.pid('steady', 1)
        eventually(lambda: '0 NODE_RESTARTED steady' in flow.marks('watch'), DEADLINE)
        states = {node['node']: node['state'] for node in json.loads(adora('ps', 'flow', '--json'))}
        assert states == {'source': 'finished', 'sink': 'finished', 'steady': 'running', 'watch': 'running'}
        adora('stop', 'flow')
        assert run.wait() == 0
        eventually(lambda: [each['status'] for each in json.loads(adora('list', '--json'))] == ['Succeeded'], DEADLINE)
    finally:
        coordinators.close()
