"""How managers that wait for work tell the coordinator that they are there, and how they are given some.

A waiting manager is the node ``/adora/machine_<machine>``. It publishes a :class:`MachineReport` on
``/adora/machines``: ``std_msgs/String`` with one JSON object each, reliable and transient-local, when something has
changed and every 3 s. The coordinator gives it a share of a dataflow by setting its parameter ``start`` (with
``rcl_interfaces/srv/SetParametersAtomically``, whose answer says whether it could) to a :class:`Start` as JSON. The
same start twice is one. What then becomes of the share is reported by the manager of that dataflow.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from adora_ros.coordinator.records import check_key
from adora_ros.dataflow.names import ros_name
from adora_ros.errors import RecordError, TransportError

TOPIC = '/adora/machines'
START = 'start'
"""The parameter by which a waiting manager is given a share of a dataflow."""


KEPT_ENDS = 100
"""Ends that a report tells of: a machine that never stops must not have more and more to say."""


@dataclass(frozen=True, kw_only=True)
class MachineReport:
    """What a waiting manager says.

    Attributes:
        machine: Name of its machine.
        hostname: What the machine calls itself.
        node: Full name of its node.
        named: Whether the machine was given its name, or goes by that of the host and takes nodes that name none.
        runs: The uuids of the dataflows of which it was given a share: of all that go on, and of those in ``ended``.
        ended: What became of the last :data:`KEPT_ENDS` whose managers have ended, by uuid: why it failed, empty if it
            did not. It counts where the manager itself has not been heard.
        leaving: Whether it ends.

    """

    machine: str
    hostname: str
    node: str
    named: bool
    runs: tuple[str, ...] = ()
    ended: dict[str, str] = dataclasses.field(default_factory=dict)
    leaving: bool = False


@dataclass(frozen=True, kw_only=True)
class Start:
    """A share of a dataflow that is to be started.

    Attributes:
        run: The uuid of the run.
        name: Name of the dataflow.
        file: Path of its YAML where it was started from.
        descriptor: The YAML as JSON.
        rest: Whether the nodes that name no machine are to run there, too.

    """

    run: str
    name: str
    file: str
    descriptor: str
    rest: bool


def node_name(machine: str) -> str:
    """Return the name of a machine's waiting manager in the namespace ``/adora``."""
    return f'machine_{ros_name(machine)}'


def with_end(report: MachineReport, run: str, error: str) -> MachineReport:
    """Return a report that also tells of an end; the oldest ones that it told of may be gone from it.

    Args:
        report: What was said before.
        run: The uuid of a dataflow that is among its runs.
        error: Why it failed; empty if it did not.

    """
    ended = {**report.ended, run: error}
    kept = dict(list(ended.items())[-KEPT_ENDS:])
    runs = tuple(each for each in report.runs if each in kept or each not in ended)
    return dataclasses.replace(report, runs=runs, ended=kept)


def encode(item: MachineReport | Start) -> str:
    """Return it as JSON."""
    return json.dumps(dataclasses.asdict(item), separators=(',', ':'))


def decode_report(text: str) -> MachineReport:
    """Return the report that JSON stands for.

    Raises:
        TransportError: it stands for none.

    """
    data = _object(text, MachineReport)
    try:
        report = MachineReport(**{**data, 'runs': tuple(data['runs'])})
        check_key('machine', report.machine)
    except RecordError as error:
        msg = f'not a report of a machine: {error}'
        raise TransportError(msg) from error
    return report


def decode_start(text: str) -> Start:
    """Return the start that JSON stands for.

    Raises:
        TransportError: it stands for none.

    """
    return Start(**_object(text, Start))


_TYPES: dict[str, Any] = {'str': str, 'bool': bool, 'tuple[str, ...]': list, 'dict[str, str]': dict}


def _object(text: str, cls: type[MachineReport | Start]) -> dict[str, Any]:
    kinds = {field.name: _TYPES[str(field.type)] for field in dataclasses.fields(cls)}
    try:
        data = json.loads(text)
    except ValueError as error:
        msg = f'not JSON: {text[:200]}'
        raise TransportError(msg) from error
    if not isinstance(data, dict) or {name: type(value) for name, value in data.items()} != kinds:
        msg = f'not a {cls.__name__}, which has {", ".join(kinds)}: {text[:200]}'
        raise TransportError(msg)
    return data
