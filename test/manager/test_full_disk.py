"""Runs on a disk that is full, which is a real one of 2 MiB where mounting is permitted."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from manager.harness import Flow, Runs

SIZE = 2 * 1024 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small disk."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', f'size={SIZE}', 'tmpfs', str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip('there is no mount')
    if mounted.returncode:
        pytest.skip(f'mounting is not permitted: {mounted.stderr.strip()}')
    yield folder
    subprocess.run(['umount', '--lazy', str(folder)], check=True)


def test_a66_a_full_disk_stops_no_dataflow_and_is_said_once(
    flow: Flow, run: Runs, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ROS_LOG_DIR', str(disk))
    filler = disk / 'filler'
    filler.write_bytes(b'x' * (SIZE * 6 // 10))
    flow.node('flood', 'chatty.py', 0, restart_policy='always', restart_delay=0.2)
    manager = run(flow).running()
    warning = manager.event('WARNING')
    assert 'No space left on device; log lines are lost until it can be written' in warning['text']
    pid = flow.pid('flood', 0)
    subprocess.run(['kill', '-KILL', str(pid)], check=True)
    manager.event('NODE_RESTARTED', 'flood')
    assert [text for text in manager.texts('WARNING') if 'No space' in text] == [warning['text']]
    filler.unlink()
    eventually(lambda: 'the log files can be written again' in manager.texts('WARNING'))
    assert manager.interrupt() == 130
    assert manager.errors() == []


def test_a66_a_dataflow_starts_on_a_disk_that_is_full(
    flow: Flow, run: Runs, disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv('ROS_LOG_DIR', str(disk))
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    (disk / 'filler').write_bytes(b'x' * SIZE)
    manager = run(flow.node('n', 'events.py', inputs={'tick': 'dora/timer/millis/50'})).running()
    assert str(tmp_path / 'adora_ros_') in manager.event('DATAFLOW_STARTING')['details']['folder']
    assert manager.interrupt() == 130
