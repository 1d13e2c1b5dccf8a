"""Fixtures for coordinators that really run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from adora_ros.transport import dds
from coordinator.harness import Client, Coordinators

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 20
"""Participants to provide for."""


@pytest.fixture
def profile(ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - it is restored first
    """Let managers and clients discover others as quickly as a manager does."""
    for name, value in dds.write_profile(tmp_path, MANY, os.environ).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def coordinators(profile: None, tmp_path: Path) -> Iterator[Coordinators]:  # noqa: ARG001 - it has to be there before
    """Return what starts coordinators and simulated managers, and end them after the test."""
    started = Coordinators(tmp_path)
    yield started
    started.close()


@pytest.fixture
def client(profile: None, ros_domain: int) -> Iterator[Client]:  # noqa: ARG001 - it has to be there before
    """Return a plain rclpy node with a parameter client for the store."""
    node = Client(ros_domain)
    yield node
    node.close()
