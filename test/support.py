"""Helpers that every test area uses."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar('T')

DOMAINS_VARIABLE = 'ADORA_TEST_DOMAINS'
"""Range such as ``60-69`` to take the domains of a test run from."""

POLL_PERIOD = 0.02
"""Seconds between two looks at a condition."""


def eventually(condition: Callable[[], T], timeout: float = 10.0, message: str = '') -> T:
    """Wait until ``condition()`` is true and return its value.

    Args:
        condition: Called every 20 ms; an ``AssertionError`` that it raises means "not yet".
        timeout: Seconds to wait at most.
        message: What was waited for, for the failure text.

    Raises:
        AssertionError: The condition did not become true in time; carries the last value or the last assertion.

    """
    deadline = time.monotonic() + timeout
    while True:
        failure: AssertionError | None = None
        value: T | None = None
        late = time.monotonic() >= deadline
        try:
            value = condition()
        except AssertionError as error:
            failure = error
        if failure is None and value:
            return value
        if late:
            last = failure if failure is not None else f'last value: {value!r}'
            text = f'{message or "condition"} not met within {timeout} s: {last}'
            raise AssertionError(text) from failure
        time.sleep(POLL_PERIOD)


def processes_with(variable: str, value: str) -> list[int]:
    """Return the pids of the live processes that were started with ``variable=value`` in their environment.

    Zombies and processes of other users do not count; neither does this process.
    """
    wanted = f'{variable}={value}'.encode()
    found = []
    for entry in Path('/proc').iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / 'environ').read_bytes().split(b'\0'):
                found.append(int(entry.name))
    return sorted(found)


def kill_all(pids: list[int]) -> None:
    """Send SIGKILL to those of ``pids`` that still exist."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def domain_range(text: str | None) -> range:
    """Return the ROS domains that ``FIRST-LAST`` stands for; without a text 1 to 101.

    0 is everybody's default; above 101 the ports of Fast DDS reach into the range that Linux hands out to clients
    (https://docs.ros.org/en/kilted/Concepts/Intermediate/About-Domain-ID.html).
    """
    if not text:
        return range(1, 102)
    first, _, last = text.partition('-')
    return range(int(first), int(last or first) + 1)


@contextlib.contextmanager
def ros_domain_lease(domains: range, folder: Path | None = None) -> Iterator[int]:
    """Lend a ROS domain that no other lease of this machine holds.

    The lease is a lock that the kernel drops with the process, so that a killed test run leaves nothing taken.

    Args:
        domains: Candidates; the search starts at a random one, so that domains are not reused at once.
        folder: Where the lock files are; the same for all that share a machine.

    Raises:
        AssertionError: Every domain stayed taken for a minute.

    """
    folder = folder or Path(tempfile.gettempdir()) / f'adora_ros_test_domains_{os.getuid()}'
    folder.mkdir(mode=0o700, exist_ok=True)
    start = random.randrange(len(domains))

    def take() -> tuple[int, int] | None:
        for domain in (*domains[start:], *domains[:start]):
            handle = os.open(folder / f'{domain}.lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
            else:
                return domain, handle
        return None

    lease = eventually(take, 60.0, 'a free ROS domain')
    assert lease is not None
    domain, handle = lease
    try:
        yield domain
    finally:
        os.close(handle)
