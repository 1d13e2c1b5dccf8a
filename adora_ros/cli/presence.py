"""Whether there is anything to look at, known before ROS is loaded."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from adora_ros.errors import NoAnswerError, NotRunningError
from adora_ros.transport import dds
from adora_ros.transport.claims import Claim, claims

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from adora_ros.cli.fleet import Fleet, Flow, Manager
    from adora_ros.cli.session import Session

NO_ANSWER = 'no answer'
NOTHING_RUNS = 'no dataflow is running; start one with `adora start FILE`'


def manager_claims() -> tuple[Claim, ...]:
    """Return the claims of managers on this host."""
    return tuple(claim for claim in claims() if claim.name.rpartition('/')[2].startswith('manager'))


def anything_runs() -> bool:
    """Return whether it makes sense to look: nothing can be found where discovery ends at a host without managers."""
    return bool(manager_claims()) or not dds.is_loopback_only(os.environ)


@contextlib.contextmanager
def joined(name: str | None = None, *, anyway: bool = False) -> Iterator[tuple[Session, Fleet]]:
    """Join ROS and listen to all managers.

    Args:
        name: The dataflow that is looked for; None for any.
        anyway: Whether to join although there are none for sure.

    Raises:
        NotRunningError: there are none for sure.

    """
    if not (anyway or anything_runs()):
        raise NotRunningError(NOTHING_RUNS if name is None else f'no running dataflow `{name}`')
    from adora_ros.cli.fleet import Fleet  # noqa: PLC0415 - it needs rclpy
    from adora_ros.cli.session import Session  # noqa: PLC0415

    with Session() as session:
        yield session, Fleet(session)


def look_around(timeout: float) -> tuple[Flow, ...]:
    """Return all dataflows that run; see :meth:`adora_ros.cli.fleet.Fleet.find_all`."""
    if not anything_runs():
        return ()
    with joined() as (_, fleet):
        return fleet.find_all(timeout)


def no_answer(manager: Manager, timeout: float) -> str:
    """Return what to say of a manager that does not answer."""
    if manager.pid is None:
        return f'{manager.name} did not answer within {timeout:g} s; look at its machine'
    name = manager.namespace.lstrip('/')
    return (
        f'{manager.name} (pid {manager.pid}) did not answer within {timeout:g} s; '
        f'`adora stop {name} --force` ends it and its nodes'
    )


def say_silent(flows: Iterable[Flow], timeout: float) -> None:
    """Complain of managers that do not answer.

    Raises:
        NoAnswerError: there are any.

    """
    silent = [manager for flow in flows for manager in (*flow.managers, *flow.absent) if manager.status is None]
    if silent:
        sys.stdout.flush()
        raise NoAnswerError('; '.join(no_answer(manager, timeout) for manager in silent))
