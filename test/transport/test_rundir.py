"""Where a run keeps its files."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from adora_ros.dataflow import loads
from adora_ros.errors import ManagerError
from adora_ros.transport.rundir import dataflow_folder, log_root, make_run_folder, use_log_root


def test_the_log_root_is_that_of_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_LOG_DIR', '~/logs')
    monkeypatch.setenv('HOME', '/home/somebody')
    monkeypatch.delenv('ROS_HOME', raising=False)
    assert log_root() == Path('/home/somebody/logs')
    monkeypatch.setenv('ROS_LOG_DIR', '')
    assert log_root() == Path('/home/somebody/.ros/log')
    monkeypatch.setenv('ROS_HOME', '/srv/ros')
    assert log_root() == Path('/srv/ros/log')


def test_a_log_root_that_cannot_be_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'file').touch()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file'))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    assert dataflow_folder('flow') == tmp_path / f'adora_ros_{os.getuid()}' / 'flow'
    assert (tmp_path / f'adora_ros_{os.getuid()}' / 'flow').is_dir()


def test_no_folder_at_all_is_an_error_that_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'file').touch()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file'))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'file'))
    with pytest.raises(ManagerError, match='set ROS_LOG_DIR to one that can') as caught:
        dataflow_folder('flow')
    assert str(caught.value).count('Not a directory') == 2


def test_ros_logs_to_a_folder_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'new' / 'one'))
    use_log_root()
    assert os.environ['ROS_LOG_DIR'] == str(tmp_path / 'new' / 'one')
    (tmp_path / 'file').touch()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file' / 'log'))
    use_log_root()
    assert log_root() == tmp_path / f'adora_ros_{os.getuid()}'
    assert log_root().is_dir()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file' / 'log'))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'file'))
    with pytest.raises(ManagerError, match='set ROS_LOG_DIR to one that can'):
        use_log_root()


def test_a_run_has_a_folder_with_the_dataflow_as_given(tmp_path: Path) -> None:
    (tmp_path / 'n.py').touch()
    text = 'nodes:\n  - id: n\n    path: n.py\n    env: {A: 1}\n'
    dataflow = loads(text, path=tmp_path / 'flow.yml')
    folder = make_run_folder(dataflow, 'some-uuid')
    assert folder == log_root() / 'flow' / 'some-uuid'
    descriptor = json.loads((folder / 'dataflow.json').read_text(encoding='utf-8'))
    assert descriptor == {'nodes': [{'id': 'n', 'path': 'n.py', 'env': {'A': 1}}]}
    assert make_run_folder(dataflow, 'some-uuid') == log_root() / 'flow' / 'some-uuid-2'
