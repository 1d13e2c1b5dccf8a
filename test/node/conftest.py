"""Fixtures for real node processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from node.harness import Dataflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def dataflow(tmp_path: Path, ros_domain: int) -> Iterator[Dataflow]:  # noqa: ARG001 - the domain outlives the nodes
    """Give the processes of a test a place, and end them after it."""
    nodes = Dataflow(tmp_path)
    try:
        yield nodes
    finally:
        nodes.close()
