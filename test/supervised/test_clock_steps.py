"""The wall clock is set while a dataflow runs: nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from manager.harness import ROOT
from support import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from manager.harness import Flow, Runs

STEP = """\
import os
import time

_step = {step}
_file = {file!r}
_wall, _wall_ns = time.time, time.time_ns


def _stepped():
    return _step if os.path.exists(_file) else 0


time.time = lambda: _wall() + _stepped()
time.time_ns = lambda: _wall_ns() + _stepped() * 1_000_000_000
"""
"""Python runs ``sitecustomize`` at its start, here in the manager and in all nodes."""


@pytest.mark.parametrize('hours', [1, -1], ids=['forward', 'back'])
def test_a_wall_clock_that_is_set_by_an_hour_changes_nothing(flow: Flow, run: Runs, tmp_path: Path, hours: int) -> None:
    site, step = tmp_path / 'site', tmp_path / 'step'
    site.mkdir()
    (site / 'sitecustomize.py').write_text(STEP.format(step=hours * 3600, file=str(step)), encoding='utf-8')
    checks: dict[str, Any] = {'health_check_timeout': 5.0, 'startup_timeout': 30.0, 'restart_policy': 'always'}
    flow.node('source', 'count.py', 1000, 0.1, outputs=['data'], **checks)
    port = {'source': 'source/data', 'input_timeout': 5.0, 'first_message_timeout': 30.0}
    flow.node('sink', 'events.py', inputs={'data': port, 'tick': 'dora/timer/secs/1'}, **checks)
    flow.node('backing_off', 'crash.py', 'late', restart_policy='always', restart_delay=300)
    flow.ros_node('plain', 'plain.py', **checks)
    manager = run(flow, env={'PYTHONPATH': f'{site}:{ROOT}'}).running()
    before = manager.event('RESTART_SCHEDULED', 'backing_off')
    ticks = len(flow.marked('sink', 'INPUT tick'))
    step.touch()
    eventually(lambda: len(flow.marked('sink', 'INPUT tick')) >= ticks + 4, 30.0, 'four further seconds')
    assert len(flow.marked('sink', 'INPUT tick')) <= ticks + 6
    assert manager.process.poll() is None
    assert manager.interrupt() == 1
    stopping = manager.event('DATAFLOW_STOPPING')
    assert (stopping['stamp'] - before['stamp']) / 1e9 == pytest.approx(hours * 3600, abs=120.0)
    during = [e for e in manager.events if before['seq'] < e['seq'] < stopping['seq'] and e['level'] != 'debug']
    assert [event for event in during if event['kind'] not in {'STATS', 'DATAFLOW_RUNNING', 'NODE_UP'}] == []
    assert manager.states() == {'source': 'stopped', 'sink': 'stopped', 'backing_off': 'failed', 'plain': 'stopped'}
