"""``adora clean``."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from adora_ros.cli import clean as cleaning
from adora_ros.cli.main import main
from adora_ros.manager.runfile import RunFacts, RunFile
from adora_ros.transport import dds
from adora_ros.transport.rundir import log_root

if TYPE_CHECKING:
    from pathlib import Path

FACTS = RunFacts(uuid='', dataflow='flow', file='', manager='', domain='0', machine='', pid=1, started='now')
DAY = 86400


@pytest.fixture(autouse=True)
def _no_shared_memory_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dds, 'dead_segments', list)
    monkeypatch.setattr(cleaning, 'dead_folders', list)


def make_run(uuid: str, *, days: int, ended: bool = True) -> tuple[Path, RunFile]:
    folder = log_root() / 'flow' / uuid
    folder.mkdir(parents=True)
    file = RunFile(folder, dataclasses.replace(FACTS, uuid=uuid))
    (folder / 'camera.log').write_bytes(b'x' * 1024 * 1024)
    if ended:
        file.end(stamp='2030-01-02T03:04:05.000+00:00', error='')
    for path in (*folder.iterdir(), folder):
        os.utime(path, (time.time() - days * DAY,) * 2)
    return folder, file


def test_old_logs_go_and_those_of_runs_that_go_on_stay(capsys: pytest.CaptureFixture[str]) -> None:
    old, _ = make_run('old', days=8)
    young, _ = make_run('young', days=6)
    live, file = make_run('live', days=30, ended=False)
    said = f'{old} (logs of flow, ended 2030-01-02T03:04:05, 1.0 MiB)'
    assert main(['clean', '--dry-run']) == 0
    assert capsys.readouterr().out == f'would remove {said}\nwould remove 1 thing, 1.0 MiB\n'
    assert old.exists()
    assert main(['clean']) == 0
    assert capsys.readouterr().out == f'removed {said}\nremoved 1 thing, 1.0 MiB\n'
    assert [path.exists() for path in (old, young, live)] == [False, True, True]
    assert main(['clean', '--older-than', '5d']) == 0
    assert [path.exists() for path in (young, live)] == [False, True]
    file.end(stamp='', error='')


def test_what_is_in_shared_memory_of_dead_processes_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock, segment, folder = tmp_path / 'fastdds_1_el', tmp_path / 'fastdds_1', tmp_path / 'adora-x'
    lock.touch()
    segment.write_bytes(b'x' * 2 * 1024 * 1024)
    folder.mkdir()
    monkeypatch.setattr(dds, 'dead_segments', lambda: [lock])
    monkeypatch.setattr(cleaning, 'dead_folders', lambda: [folder])
    assert main(['clean']) == 0
    assert capsys.readouterr().out.splitlines() == [
        f'removed {segment} (shared memory of a dead ROS process, 2.0 MiB)',
        f'removed {folder} (shared memory of a run that is over, 0.0 MiB)',
        'removed 2 things, 2.0 MiB',
    ]
    assert list(tmp_path.glob('*x')) == []
    assert not segment.exists()
    assert not lock.exists()


def test_what_cannot_be_removed_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = make_run('old', days=8)

    def refuse(_path: Path) -> None:
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(shutil, 'rmtree', refuse)
    assert main(['clean']) == 1
    assert capsys.readouterr().err == f'adora: error: not removed: {folder}: Permission denied\n'
