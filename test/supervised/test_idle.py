"""What supervision costs while nothing happens."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manager.harness import Flow, Runs

NODES = 50
SHARE = 0.05
"""Of one core."""
SPAN = 5.0
"""Seconds of measurement."""


def cpu_seconds(pid: int) -> float:
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def test_a45_fifty_idle_nodes_with_health_checks_cost_less_than_a_twentieth_of_a_core(flow: Flow, run: Runs) -> None:
    """The nodes speak sd_notify alone, so that the test measures the manager and not how it is to start 50 of rclpy."""
    for number in range(NODES):
        flow.node(f'n{number}', 'notify_only.py', health_check_timeout=4.0)
    manager = run(flow)
    manager.event('DATAFLOW_RUNNING', timeout=90.0)
    time.sleep(2.0)  # the start is not what is measured
    before, start = cpu_seconds(manager.process.pid), time.monotonic()
    time.sleep(SPAN)
    share = (cpu_seconds(manager.process.pid) - before) / (time.monotonic() - start)
    assert share < SHARE
    assert manager.interrupt() == 130
    assert set(manager.states().values()) == {'stopped'}
    assert manager.all('NODE_KILLED') == []
