"""Fixtures for dataflows that run on several hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from machines.harness import COORDINATOR, THRESHOLD, Desk, Network, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coordinator.harness import Process


@pytest.fixture
def network(ros_domain: int, tmp_path: Path) -> Iterator[Network]:  # noqa: ARG001 - the domain outlives the hosts
    """Return three hosts."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    made = Network(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def coordinator(network: Network) -> Process:
    """Return a coordinator on host C."""
    ros = ('--ros-args', '-p', f'machine_timeout:={THRESHOLD}')
    made = network.hosts['C'].run('coordinator', [*COORDINATOR, *ros])
    made.says('coordinator ready')
    return made


@pytest.fixture
def desk(network: Network, coordinator: Process) -> Desk:  # noqa: ARG001 - it is asked
    """Return somebody on host C who asks the coordinator."""
    return Desk(network.hosts['C'])
