"""The coordinator as commands see it: there or not, and its records."""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

from adora_ros.cli.tables import span, write_json, write_table
from adora_ros.coordinator.protocol import COORDINATOR, STORE
from adora_ros.errors import AdoraError, CommandError, NoAnswerError, NotRunningError, TransportError
from adora_ros.transport import dds
from adora_ros.transport.claims import claims

if TYPE_CHECKING:
    import argparse
    from types import TracebackType

    from typing_extensions import Self

    from adora_ros.cli.session import Session
    from adora_ros.coordinator.overview import Overview

SETTLE = 1.5
"""Seconds in which a coordinator on another machine is found."""


def is_on_this_host() -> bool:
    """Return whether the coordinator of the ROS domain runs on this host."""
    return any(claim.name == COORDINATOR for claim in claims())


def may_be_there() -> bool:
    """Return whether there may be a coordinator: nothing can be found where discovery ends at a host without one."""
    return is_on_this_host() or not dds.is_loopback_only(os.environ)


def ask_overview(session: Session, timeout: float) -> Overview | None:
    """Return all that the coordinator knows, None if there is none.

    Raises:
        NoAnswerError: the one on this host does not answer.
        CommandError: what it says makes no sense.

    """
    from std_srvs.srv import Trigger  # noqa: PLC0415 - it needs ROS, as a session does

    from adora_ros.coordinator import overview  # noqa: PLC0415

    here = is_on_this_host()
    try:
        answer = session.call(Trigger, overview.SERVICE, Trigger.Request(), timeout if here else min(timeout, SETTLE))
    except NoAnswerError:
        if here:
            raise
        return None
    try:
        return overview.decode(answer.message)
    except TransportError as error:
        raise CommandError(str(error)) from error


def machines(arguments: argparse.Namespace) -> int:
    """Show the machines that the coordinator knows.

    Raises:
        NotRunningError: there is no coordinator.
        NoAnswerError: it does not answer.

    """
    found = None
    if may_be_there():
        from adora_ros.cli.session import Session  # noqa: PLC0415 - it needs rclpy

        with Session() as session:
            found = ask_overview(session, arguments.timeout)
    if found is None:
        msg = 'no coordinator is running, which knows the machines; start one with `ros2 run adora_ros coordinator`'
        raise NotRunningError(msg)
    if arguments.json:
        write_json([dataclasses.asdict(machine) for machine in found.machines])
        return 0
    heads = ('MACHINE', 'HOSTNAME', 'STATUS', 'TAKES DATAFLOWS', 'LAST HEARTBEAT')
    rows = (
        (
            machine.id,
            machine.hostname,
            machine.status.value,
            'yes' if machine.waits else 'no',
            '' if machine.last_heartbeat_ago_ms is None else f'{span(machine.last_heartbeat_ago_ms / 1000)} ago',
        )
        for machine in found.machines
    )
    write_table(heads, rows)
    return 0


def write_record(session: Session, prefix: str, values: dict[str, Any], timeout: float) -> None:
    """Write the next generation of a record.

    Args:
        session: The way to it.
        prefix: Kind and key, such as ``builds.<uuid>``.
        values: Its fields, ``generation`` among them.
        timeout: Seconds.

    Raises:
        NoAnswerError: no coordinator answers.
        CommandError: it refuses.

    """
    from rcl_interfaces.srv import SetParametersAtomically  # noqa: PLC0415 - it needs ROS, as a session does
    from rclpy.parameter import Parameter  # noqa: PLC0415

    parameters = [Parameter(f'{prefix}.{name}', value=value).to_parameter_msg() for name, value in values.items()]
    request = SetParametersAtomically.Request(parameters=parameters)
    answer = session.call(SetParametersAtomically, f'{STORE}/set_parameters_atomically', request, timeout)
    if not answer.result.successful:
        raise CommandError(answer.result.reason)


class BuildNote:
    """The record of a build, as a context manager around it: Running, then Succeeded or Failed.

    It is only a note: without a coordinator there is none, and one that cannot be written does not end the build.
    """

    def __init__(self, uuid: str, dataflow: str, timeout: float) -> None:
        self._prefix = f'builds.{uuid}'
        self._dataflow = dataflow
        self._timeout = timeout
        self._noted = False

    def __enter__(self) -> Self:
        """Note the beginning."""
        if is_on_this_host():
            machine = socket.gethostname()
            self._write({'name': self._dataflow, 'machine': machine, 'status': 'Running', 'generation': 1})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Note the end."""
        if not self._noted:
            return
        if error is None:
            self._write({'status': 'Succeeded', 'generation': 2})
        else:
            text = str(error) if isinstance(error, AdoraError) else 'interrupted'
            self._write({'status': 'Failed', 'error': text, 'generation': 2})

    def _write(self, values: dict[str, Any]) -> None:
        from adora_ros.cli.session import Session  # noqa: PLC0415 - it needs rclpy

        try:
            with Session() as session:
                write_record(session, self._prefix, values, self._timeout)
            self._noted = True
        except (NoAnswerError, CommandError) as error:
            sys.stderr.write(f'adora: warning: the coordinator did not take the record of the build: {error}\n')
