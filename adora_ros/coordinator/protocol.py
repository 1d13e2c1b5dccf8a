"""How managers tell the coordinator what becomes of their dataflows.

A manager publishes reports on ``/adora/reports``: ``std_msgs/String`` with one JSON object each, reliable and
transient-local, so that a coordinator that starts later gets the last ones at once. Every report names the run, the
machine, the state that the manager's share of the dataflow is in *now*, and the number of the last step that led
there. There are three kinds:

* ``step``: the share has made a step. Steps are numbered from 1 without gaps. The first one carries the descriptor, if
  that is at most 32 KiB.
* ``heartbeat``: nothing new. Sent when nothing else was sent for 3 s.
* ``bye``: the manager ends, and its silence from now on means nothing.

A coordinator that sees a number it did not expect, a run that it does not know the descriptor of, or one that it has
not heard of since it started or since it took it for failed, calls the ``std_srvs/Trigger`` service that the report
names. The answer's message is a report, too, of the kind ``full``: with the descriptor, and the last 256 steps in
``steps``. So nothing has to be acknowledged, a manager needs no coordinator, and what happens while there is none is
told when there is one.

A manager that has not been heard of for 30 s, on the coordinator's steady clock, is gone. What it runs is then taken
for failed, until it reports again: the failure is only presumed.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from adora_ros.coordinator.records import Status, check_key
from adora_ros.errors import RecordError, TransportError

COORDINATOR = '/adora/coordinator'
"""Name of the coordinator's node, which it claims on its host (:mod:`adora_ros.transport.claims`)."""
STORE = '/adora/store'
"""Name of the node that has the records as its parameters."""
TOPIC = '/adora/reports'
SERVICE = '~/report'
"""Name of a manager's service, relative to its node."""
DEPTH = 32
"""Reports that the topic keeps for a coordinator that starts later."""
HEARTBEAT_PERIOD = 3.0
"""Seconds without a report after which a heartbeat is due."""
MACHINE_TIMEOUT = 30.0
"""Seconds without a report after which a manager is gone."""
RECOVERY_TIMEOUT = 30.0
"""Seconds that managers have to report after a coordinator has started again."""
KEPT_STEPS = 256
"""Steps that a manager remembers."""
INLINE_DESCRIPTOR = 32 * 1024
"""Bytes of a descriptor that may travel on the topic; larger ones are only in the answer of the service."""


class ReportKind(str, Enum):
    """Why a report was made."""

    STEP = 'step'
    HEARTBEAT = 'heartbeat'
    BYE = 'bye'
    FULL = 'full'


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a manager's share of a dataflow.

    Attributes:
        seq: Its number, from 1.
        status: Where it led.
        error: Why, if it failed.
        stamp: Wall time, ISO 8601 in UTC; a label.

    """

    seq: int
    status: Status
    error: str
    stamp: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a manager says.

    Attributes:
        kind: Why it says so.
        run: The uuid of the run.
        dataflow: Name of the dataflow.
        machine: Name of the machine.
        hostname: What the machine calls itself.
        service: Name of the service that gives a full report.
        last: The last step: the state now. Before the first it has the number 0.
        descriptor: The dataflow as JSON; empty where it is left out.
        steps: The steps that are remembered, oldest first; only in a full report.

    """

    kind: ReportKind
    run: str
    dataflow: str
    machine: str
    hostname: str
    service: str
    last: Step
    descriptor: str = ''
    steps: tuple[Step, ...] = ()


def encode(report: Report) -> str:
    """Return a report as JSON."""
    return json.dumps(dataclasses.asdict(report), separators=(',', ':'))


def decode(text: str) -> Report:
    """Return the report that JSON stands for.

    Raises:
        TransportError: it stands for none.

    """
    try:
        data: dict[str, Any] = json.loads(text)
        report = Report(
            kind=ReportKind(data['kind']),
            last=_step(data['last']),
            steps=tuple(_step(step) for step in data['steps']),
            **{name: _text(data[name]) for name in _TEXTS},
        )
        check_key('run', report.run)
        check_key('machine', report.machine)
    except (ValueError, TypeError, KeyError, RecordError) as error:
        msg = f'not a report of a manager: {error!r}: {text[:200]}'
        raise TransportError(msg) from error
    return report


_TEXTS = ('run', 'dataflow', 'machine', 'hostname', 'service', 'descriptor')


def _step(data: dict[str, Any]) -> Step:
    if type(data['seq']) is not int:
        msg = f'seq is {data["seq"]!r}, not a number'
        raise TypeError(msg)
    return Step(seq=data['seq'], status=Status(data['status']), error=_text(data['error']), stamp=_text(data['stamp']))


def _text(value: object) -> str:
    if not isinstance(value, str):
        msg = f'{value!r} is not a text'
        raise TypeError(msg)
    return value
