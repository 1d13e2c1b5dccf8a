"""Events and states as ``diagnostic_msgs``, which every ROS tool can show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from adora_ros.inputs import InputState
from adora_ros.manager.events import DataflowStatus, EventKind, Health, InputStatus, Level, ManagerEvent, NodeStatus
from adora_ros.supervision import NodeState

if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTE_OF_LEVEL = {
    Level.DEBUG: DiagnosticStatus.OK,
    Level.INFO: DiagnosticStatus.OK,
    Level.WARN: DiagnosticStatus.WARN,
    Level.ERROR: DiagnosticStatus.ERROR,
}
_BYTE_OF_HEALTH = {
    Health.OK: DiagnosticStatus.OK,
    Health.WARN: DiagnosticStatus.WARN,
    Health.ERROR: DiagnosticStatus.ERROR,
}
NANOSECONDS = 1_000_000_000
_INPUT = 'input '
_NUMBERS = ('next_restart_s', 'last_activity_age_s', 'cpu_percent', 'rss_mb', 'up_s')


def event_message(event: ManagerEvent, *, dataflow: str, machine: str) -> DiagnosticArray:
    """Return one event as an array of one status."""
    values = {
        'event': event.kind.value,
        'node': event.node,
        'incarnation': str(event.incarnation),
        'seq': str(event.seq),
        'level': event.level.value,
        **event.details,
    }
    status = _status(f'{dataflow}: {event.node}' if event.node else dataflow, machine, event.text, values)
    status.level = _BYTE_OF_LEVEL[event.level]
    return _array([status], event.stamp)


class StatusMessages:
    """Makes the messages of the states of nodes, one status each.

    What has not changed since the last message is kept: a manager that does nothing but tell how its nodes are would
    spend most of its time on this.

    Args:
        dataflow: Name of the dataflow.
        machine: Name of the machine.

    """

    def __init__(self, *, dataflow: str, machine: str) -> None:
        self._dataflow = dataflow
        self._machine = machine
        self._made: dict[str, tuple[DiagnosticStatus, dict[str, str]]] = {}

    def message(self, statuses: Iterable[NodeStatus], *, stamp: int) -> DiagnosticArray:
        """Return the next message; the one before it changes.

        Args:
            statuses: The states.
            stamp: Wall time in nanoseconds since the epoch.

        """
        self._made = {status.node: self._make(status) for status in statuses}
        return _array([message for message, _ in self._made.values()], stamp)

    def _make(self, status: NodeStatus) -> tuple[DiagnosticStatus, dict[str, str]]:
        values = _node_values(status)
        message, before = self._made.get(status.node, (None, {}))
        if message is None or before.keys() != values.keys():
            message = _status(f'{self._dataflow}: {status.node}', self._machine, '', values)
        else:
            for pair, (key, text) in zip(message.values, values.items(), strict=True):
                if before[key] != text:
                    pair.value = text
        message.message = _headline(status)
        message.level = _BYTE_OF_HEALTH[status.health]
        return message, values


def dataflow_status(status: DataflowStatus, *, machine: str) -> DiagnosticStatus:
    """Return the state of a dataflow; it has the dataflow's name, without a node's behind it."""
    values = {
        'state': status.state,
        'error': status.error,
        'run': status.run,
        'pid': str(status.pid),
        'hostname': status.hostname,
        'file': status.file,
        'folder': status.folder,
        'stays': str(status.stays).lower(),
        'up_s': _text(status.up_s),
        'other_machines': json.dumps(status.other_machines),
        **{name: str(count) for name, count in status.counters.items()},
    }
    text = f'{status.state}: {status.error}' if status.error else status.state
    message = _status(status.dataflow, machine, text, values)
    message.level = _BYTE_OF_HEALTH[Health.ERROR if status.error else Health.OK]
    return message


def _node_values(status: NodeStatus) -> dict[str, str]:
    return {
        'state': status.state.value,
        'incarnation': str(status.incarnation),
        'pid': _text(status.pid),
        'restarts': str(status.restarts),
        'last_exit': status.last_exit,
        'error': status.error,
        'next_restart_s': _text(status.next_restart_s),
        'closed_inputs': ' '.join(status.closed_inputs),
        'last_activity_age_s': _text(status.last_activity_age_s),
        'cpu_percent': _text(status.cpu_percent),
        'rss_mb': _text(status.rss_mb),
        'up_s': _text(status.up_s),
        'payload_fallbacks': str(status.payload_fallbacks),
        'payload_drops': str(status.payload_drops),
        **{f'{_INPUT}{port.id}': _input_text(port) for port in status.inputs},
    }


def _input_text(port: InputStatus) -> str:
    """Return ``<state> <source> <age in seconds>``, the last part empty if it is not known."""
    return f'{port.state.value} {port.source} {_text(port.age_s)}'.rstrip()


def _headline(status: NodeStatus) -> str:
    """Return the state and, where it is not all well, why."""
    parts: list[str] = [status.state.value]
    if status.closed_inputs:
        parts.append(f'closed inputs: {", ".join(status.closed_inputs)}')
    if status.health is not Health.OK and status.last_exit:
        parts.append(status.last_exit)
    if status.health is not Health.OK and status.error and status.error not in status.last_exit:
        parts.append(status.error)
    return '; '.join(parts)


def _status(name: str, machine: str, message: str, values: dict[str, str]) -> DiagnosticStatus:
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(name=name, hardware_id=machine, message=message, values=pairs)


def _array(statuses: list[DiagnosticStatus], stamp: int) -> DiagnosticArray:
    message = DiagnosticArray(status=statuses)
    message.header.stamp = Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
    return message


def _text(value: float | None) -> str:
    return '' if value is None else f'{value:.3f}'.rstrip('0').rstrip('.')


# And back


def read_event(message: DiagnosticArray) -> ManagerEvent:
    """Return the event that a message of :func:`event_message`'s making tells of.

    Raises:
        KeyError, ValueError, IndexError: it is of another making.

    """
    status = message.status[0]
    values = _values(status)
    return ManagerEvent(
        seq=int(values.pop('seq')),
        stamp=message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec,
        level=Level(values.pop('level')),
        kind=EventKind(values.pop('event')),
        node=values.pop('node'),
        incarnation=int(values.pop('incarnation')),
        text=status.message,
        details=values,
    )


def read_status(message: DiagnosticArray) -> tuple[DataflowStatus, tuple[NodeStatus, ...]]:
    """Return the states that a message on ``/<dataflow>/status`` tells of.

    Raises:
        KeyError, ValueError, IndexError: it is not such a message.

    """
    *nodes, dataflow = message.status
    return _read_dataflow(dataflow), tuple(_read_node(status) for status in nodes)


def _read_dataflow(status: DiagnosticStatus) -> DataflowStatus:
    values = _values(status)
    plain = {name: values.pop(name) for name in ('state', 'error', 'run', 'hostname', 'file', 'folder')}
    return DataflowStatus(
        dataflow=status.name,
        pid=int(values.pop('pid')),
        stays=values.pop('stays') == 'true',
        up_s=_number(values.pop('up_s')),
        other_machines=tuple(json.loads(values.pop('other_machines'))),
        counters={name: int(count) for name, count in values.items()},
        **plain,
    )


def _read_node(status: DiagnosticStatus) -> NodeStatus:
    values = _values(status)
    pid = values['pid']
    return NodeStatus(
        node=status.name.partition(': ')[2],
        state=NodeState(values['state']),
        health=next(health for health, byte in _BYTE_OF_HEALTH.items() if byte == status.level),
        incarnation=int(values['incarnation']),
        pid=int(pid) if pid else None,
        restarts=int(values['restarts']),
        last_exit=values['last_exit'],
        error=values['error'],
        closed_inputs=tuple(values['closed_inputs'].split()),
        inputs=tuple(_read_input(key[len(_INPUT) :], text) for key, text in values.items() if key.startswith(_INPUT)),
        payload_fallbacks=int(values['payload_fallbacks']),
        payload_drops=int(values['payload_drops']),
        **{name: _number(values[name]) for name in _NUMBERS},
    )


def _read_input(input_id: str, text: str) -> InputStatus:
    state, source, *age = text.split()
    return InputStatus(id=input_id, source=source, state=InputState(state), age_s=float(age[0]) if age else None)


def _values(status: DiagnosticStatus) -> dict[str, str]:
    return {pair.key: pair.value for pair in status.values}


def _number(text: str) -> float | None:
    return float(text) if text else None
