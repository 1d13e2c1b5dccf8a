"""Dataflows that span machines: started and stopped by the coordinator, whose managers wait there."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from adora_ros.coordinator.client import CoordinatorClient
from adora_ros.coordinator.records import Status
from adora_ros.errors import CommandError, CoordinatorError

if TYPE_CHECKING:
    import argparse

    from adora_ros.coordinator.overview import DataflowInfo
    from adora_ros.dataflow import Dataflow

STEP = 0.2
"""Seconds between two looks at how a start goes on."""


def start_on_machines(dataflow: Dataflow, arguments: argparse.Namespace) -> int:
    """Have a dataflow started on its machines, and wait until it is up.

    Raises:
        CommandError: there is no coordinator, nobody waits on a machine, or it did not come up and is stopped.

    """
    try:
        with CoordinatorClient() as client:
            run = client.start(dataflow)
            try:
                info = _wait_until_up(client, run, arguments.timeout)
            except BaseException:
                with contextlib.suppress(CoordinatorError):
                    client.stop(run)
                raise
    except CoordinatorError as error:
        raise CommandError(str(error)) from error
    if info.status is Status.FAILED:
        msg = f'{info.name} failed: {info.error}'
        raise CommandError(msg)
    where = ', '.join(info.machines)
    sys.stdout.write(f'{run}\n' if arguments.quiet else f'started {info.name}: {run} on {where}\n')
    if arguments.attach:
        sys.stderr.write('adora: warning: --attach is for one machine; follow it with `adora events -f`\n')
    return 0


def want_stopped(run: str, timeout: float) -> None:
    """Have the coordinator note that a dataflow is to be stopped, also where a machine is away at the moment.

    A dataflow that it did not start is none of its business.
    """
    with contextlib.suppress(CoordinatorError), CoordinatorClient(timeout) as client:
        client.stop(run)


def _wait_until_up(client: CoordinatorClient, run: str, timeout: float) -> DataflowInfo:
    deadline = time.monotonic() + timeout
    while True:
        info = client.find(run)
        if info.status is Status.RUNNING or info.status.final:
            return info
        if time.monotonic() >= deadline:
            msg = f'{info.name} was not up within {timeout:g} s, and is stopped; it is {info.status.value}'
            raise CommandError(msg)
        time.sleep(STEP)
