"""Isolation: every test has a ROS domain, a log folder and an environment of its own, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from support import DOMAINS_VARIABLE, domain_range, eventually, kill_all, processes_with, ros_domain_lease

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEST_VARIABLE = 'ADORA_TEST_ID'
"""In the environment of every process that a test starts; the value differs from test to test."""

EXIT_GRACE = 2.0
"""Seconds that the processes of a test have to be gone after its end."""

FOREIGN_VARIABLES = (
    'ADORA_NODE_CONFIG',
    'ADORA_RUN',
    'CYCLONEDDS_URI',
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
    'NOTIFY_SOCKET',
    'RMW_IMPLEMENTATION',
    'ROS_DISCOVERY_SERVER',
    'ROS_LOCALHOST_ONLY',
    'ROS_NAMESPACE',
    'ROS_STATIC_PEERS',
    'WATCHDOG_USEC',
)
"""What the surroundings may set and a test must not see."""

SPAWN_EVENTS = frozenset({'os.fork', 'os.forkpty', 'os.posix_spawn', 'subprocess.Popen'})


class _Spawns:
    """Counts the processes that this interpreter starts."""

    def __init__(self) -> None:
        self.count = 0
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event in SPAWN_EVENTS:
            self.count += 1


_spawns = _Spawns()


def pytest_configure() -> None:
    """Take SIGINT for this process and what it starts: a background job of a shell script ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def ros_domain(tmp_path: Path) -> Iterator[int]:
    """Run the test in a ROS domain of its own, on this host only, and fail it if it leaves a process behind.

    Yields:
        The domain; it is in ``ROS_DOMAIN_ID`` of this process and so of its children. Everything is restored after.

    """
    test_id = uuid.uuid4().hex
    with (
        ros_domain_lease(domain_range(os.environ.get(DOMAINS_VARIABLE))) as domain,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in FOREIGN_VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv('ROS_DOMAIN_ID', str(domain))
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('ROS_LOG_DIR', str(tmp_path / 'ros_log'))
        patch.setenv(TEST_VARIABLE, test_id)
        spawned = _spawns.count
        yield domain
        if _spawns.count != spawned:
            _assert_no_process_left(test_id)


def _assert_no_process_left(test_id: str) -> None:
    try:
        eventually(lambda: not processes_with(TEST_VARIABLE, test_id), EXIT_GRACE)
    except AssertionError:
        left = processes_with(TEST_VARIABLE, test_id)
        kill_all(left)
        pytest.fail(f'the test left processes behind: {left}')
