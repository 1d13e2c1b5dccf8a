"""Fixtures for dataflows that really run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from manager import harness
from manager.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def flow(tmp_path: Path) -> harness.Flow:
    """Return an empty dataflow."""
    return harness.Flow(tmp_path)


@pytest.fixture
def run(ros_domain: int) -> Iterator[harness.Runs]:  # noqa: ARG001 - the domain outlives the managers
    """Return what starts managers, and end them after the test."""
    with harness.runs() as started:
        yield started


@pytest.fixture
def observer(ros_domain: int) -> Iterator[Observer]:
    """Return a plain ROS node in the domain of the test."""
    node = Observer(ros_domain)
    yield node
    node.close()
