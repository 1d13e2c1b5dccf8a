"""All dataflows and machines at once, as the service ``/adora/coordinator/list`` gives them.

``std_srvs/Trigger``, whose message is one JSON object. The parameters of ``/adora/store`` say the same, and more, one
value at a time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.coordinator.records import DataflowRecord, MachineRecord, Presence, Status
from adora_ros.errors import TransportError

if TYPE_CHECKING:
    from adora_ros.coordinator.orders import Orders
    from adora_ros.coordinator.registry import Registry

SERVICE = '/adora/coordinator/list'


@dataclass(frozen=True, kw_only=True)
class DataflowInfo:
    """A run of a dataflow.

    Attributes:
        uuid: Identifies the run.
        name: Name of the dataflow.
        status: Where it is.
        error: Every failure as ``node: reason``, joined by ``; ``; empty unless it failed.
        presumed: Whether the failure was concluded from silence, and would be corrected by a manager that reports.
        machines: The machines that it runs on.
        file: Path of its YAML where it was started from; empty unless the coordinator had it started.
        generation: Number of the last change of its record.
        created_at: Wall time of its start, ISO 8601 in UTC.
        updated_at: Wall time of the last change, as ``created_at``.

    """

    uuid: str
    name: str
    status: Status
    error: str
    presumed: bool
    machines: tuple[str, ...]
    file: str
    generation: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class MachineInfo:
    """A machine that was heard of.

    Attributes:
        id: Its name.
        hostname: What it calls itself.
        status: Whether it is heard of.
        waits: Whether a manager waits there to be given dataflows.
        last_heartbeat_ago_ms: Milliseconds since it was last heard of, on the coordinator's clock; None if that was not
            in this coordinator's life.

    """

    id: str
    hostname: str
    status: Presence
    waits: bool
    last_heartbeat_ago_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the coordinator knows.

    Attributes:
        dataflows: All of them, the oldest first.
        machines: All of them, by name.

    """

    dataflows: tuple[DataflowInfo, ...]
    machines: tuple[MachineInfo, ...]


_PLAIN = ('uuid', 'name', 'status', 'error', 'presumed', 'machines', 'file', 'generation', 'created_at', 'updated_at')


def encode(registry: Registry, orders: Orders, now: float) -> str:
    """Return the overview as JSON.

    Args:
        registry: The records.
        orders: Who waits.
        now: Steady time in seconds.

    """
    records = sorted(registry.list(DataflowRecord), key=lambda record: (record.created_at, record.uuid))
    return json.dumps(
        {
            'dataflows': [[getattr(record, name) for name in _PLAIN] for record in records],
            'machines': [_machine(record, registry, orders, now) for record in registry.list(MachineRecord)],
        },
        separators=(',', ':'),
    )


def _machine(record: MachineRecord, registry: Registry, orders: Orders, now: float) -> dict[str, object]:
    age = registry.heartbeat_age(record.id, now)
    return {
        'id': record.id,
        'hostname': record.hostname,
        'status': record.status,
        'waits': orders.is_waiting(record.id),
        'last_heartbeat_ago_ms': None if age is None else int(age * 1000),
    }


def decode(text: str) -> Overview:
    """Return what :func:`encode` has written.

    Raises:
        TransportError: the text is something else.

    """
    try:
        data = json.loads(text)
        dataflows = [dict(zip(_PLAIN, values, strict=True)) for values in data['dataflows']]
        return Overview(
            dataflows=tuple(
                DataflowInfo(**{**each, 'status': Status(each['status']), 'machines': tuple(each['machines'])})
                for each in dataflows
            ),
            machines=tuple(MachineInfo(**{**each, 'status': Presence(each['status'])}) for each in data['machines']),
        )
    except (ValueError, TypeError, KeyError) as error:
        msg = f'{SERVICE} did not answer with an overview: {error!r}: {text[:200]}'
        raise TransportError(msg) from error
