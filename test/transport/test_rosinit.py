"""ROS in an environment that does not allow it."""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
import rclpy
from rclpy.context import Context

from adora_ros.cli.main import main
from adora_ros.errors import TransportError
from adora_ros.transport.rosinit import start_ros

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize('domain', ['abc', '-1', '233', '1.5'])
def test_a_domain_that_is_none(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', domain)
    with pytest.raises(TransportError, match=f'ROS_DOMAIN_ID is `{domain}`; use a number from 0 to 232'):
        start_ros(Context())


def test_what_rclpy_says_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_arguments: object) -> None:
        msg = 'no\n  middleware'
        raise RuntimeError(msg)

    monkeypatch.setattr(rclpy, 'init', fail)
    with pytest.raises(TransportError, match=r'ROS 2 cannot be started: no middleware$'):
        start_ros(Context())


def test_a_log_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'file').touch()
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file' / 'log'))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    context = Context()
    start_ros(context)
    context.shutdown()


@pytest.mark.parametrize('verb', ['list', 'run'])
def test_a_command_says_it_in_a_line(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'n.py').touch()
    (tmp_path / 'flow.yml').write_text('nodes:\n  - id: n\n    path: n.py\n')
    monkeypatch.setenv('ROS_DOMAIN_ID', 'abc')
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')  # else `list` need not ask ROS
    monkeypatch.setattr(sys, 'argv', ['adora'])
    assert main([verb, *([str(tmp_path / 'flow.yml')] if verb == 'run' else [])]) == 2
    assert 'adora: error: ROS_DOMAIN_ID is `abc`; use a number from 0 to 232' in capfd.readouterr().err
