"""rclpy nodes, turned by each of the executors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from manager.conftest import flow, run
from tracker.turning import EXECUTORS, Turning

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ['flow', 'ros', 'run', 'single']


@pytest.fixture(params=EXECUTORS)
def ros(request: pytest.FixtureRequest, ros_domain: int) -> Iterator[Turning]:
    """Return a context with an executor, once for each kind."""
    turning = Turning(ros_domain, request.param)
    yield turning
    turning.close()


@pytest.fixture
def single(ros_domain: int) -> Iterator[Turning]:
    """Return a context with a single-threaded executor."""
    turning = Turning(ros_domain, 'single')
    yield turning
    turning.close()
