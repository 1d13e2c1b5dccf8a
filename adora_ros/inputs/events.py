"""What a node is told, as typed events and as the dicts that dora's Python API gives.

:func:`as_dict` and :func:`from_dict` are each other's inverse for the events of this module. The keys are those of
dora 1.1: ``kind`` (``dora``), ``type``, and where they apply ``id``, ``value``, ``metadata`` and ``error``. An input on
a port that declares a ROS type has one more, ``message``. An event from a merged ROS 2 subscription has ``kind``
(``external``), ``value`` and ``message``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class InputState(str, Enum):
    """What is known about an input."""

    WAITING = 'WAITING'
    """No message so far, and none is overdue."""
    HEALTHY = 'HEALTHY'
    """Messages arrive, or are expected to arrive again."""
    CLOSED = 'CLOSED'
    """Silent for too long, or closed for good."""


class StopCause(str, Enum):
    """Why a node is asked to stop."""

    MANUAL = 'MANUAL'
    """Somebody stopped the dataflow or this node."""
    ALL_INPUTS_CLOSED = 'ALL_INPUTS_CLOSED'
    """No input can ever deliver again."""


# The fields are positional so that `case Input(id, value)` works in a match statement.


@dataclass(frozen=True)
class Input:
    """A message arrived, or a timer ticked."""

    id: str
    """Id of the input, as in the YAML."""
    value: Any
    """Arrow array; on a port that declares a ``type``, the Arrow form of ``message``: a struct array of one row."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The sender's parameters and ``timestamp``, an aware datetime in UTC."""
    message: Any = None
    """The ROS message on a port that declares a ``type``, else None."""


@dataclass(frozen=True)
class InputClosed:
    """An input fell silent for longer than its limit, or can never deliver again."""

    id: str


@dataclass(frozen=True)
class InputRecovered:
    """A message arrived on an input that silence had closed; the message follows."""

    id: str


@dataclass(frozen=True)
class NodeRestarted:
    """A new incarnation of a node that feeds this one is up."""

    id: str
    """Id of the restarted node."""


@dataclass(frozen=True)
class NodeFailed:
    """A node that feeds this one failed and will not be restarted."""

    id: str
    """Id of the failed node."""
    error: str
    affected_input_ids: tuple[str, ...] = ()
    """Inputs of this node that it fed."""


@dataclass(frozen=True)
class Stop:
    """The last event: finish what is under way and leave the loop."""

    cause: StopCause = StopCause.MANUAL


@dataclass(frozen=True)
class Error:
    """Something went wrong that the event loop outlives."""

    message: str


@dataclass(frozen=True)
class External:
    """A message arrived on a ROS 2 subscription that the script made and merged into the events."""

    value: Any
    """The message in Arrow form, a struct array of one row."""
    message: Any = None
    """The ROS message."""


Event = Input | InputClosed | InputRecovered | NodeRestarted | NodeFailed | Stop | Error | External

_TYPES: dict[type, str] = {
    InputClosed: 'INPUT_CLOSED',
    InputRecovered: 'INPUT_RECOVERED',
    NodeRestarted: 'NODE_RESTARTED',
    NodeFailed: 'NODE_FAILED',
    Stop: 'STOP',
    Error: 'ERROR',
}


def as_dict(event: Event) -> dict[str, Any]:
    """Return ``event`` as the dict that dora's ``node.next()`` gives.

    Raises:
        KeyError: ``event`` is not one of the events of this module.

    """
    if isinstance(event, Input):
        result = {'kind': 'dora', 'type': 'INPUT', 'id': event.id, 'value': event.value}
        result['metadata'] = dict(event.metadata)
        if event.message is not None:
            result['message'] = event.message
        return result
    if isinstance(event, External):
        return {'kind': 'external', 'value': event.value, 'message': event.message}
    result = {'kind': 'dora', 'type': _TYPES[type(event)]}
    if isinstance(event, Stop):
        result['id'] = event.cause.value
    elif isinstance(event, Error):
        result['error'] = event.message
    else:
        result['id'] = event.id
    if isinstance(event, NodeFailed):
        result['value'] = {
            'source_node_id': event.id,
            'error': event.error,
            'affected_input_ids': list(event.affected_input_ids),
        }
    return result


def from_dict(event: Mapping[str, Any]) -> Event | None:  # noqa: PLR0911 - one for each kind of event
    """Return the typed event for a dict in dora's shape.

    Returns:
        None for what this module has no type for, such as an event of a later dora.

    """
    if event.get('kind') == 'external':
        return External(event.get('value'), event.get('message'))
    if event.get('kind', 'dora') != 'dora':
        return None
    kind = event.get('type')
    if kind == 'INPUT':
        return Input(event['id'], event.get('value'), event.get('metadata') or {}, event.get('message'))
    if kind == 'NODE_FAILED':
        value = event.get('value') or {}
        return NodeFailed(event['id'], value.get('error', ''), tuple(value.get('affected_input_ids', ())))
    if kind == 'STOP':
        return Stop(_CAUSES.get(str(event.get('id')), StopCause.MANUAL))
    if kind == 'ERROR':
        return Error(event.get('error', ''))
    simple = _SIMPLE.get(str(kind))
    return None if simple is None else simple(event['id'])


_CAUSES = {cause.value: cause for cause in StopCause}
_SIMPLE: dict[str, type[InputClosed | InputRecovered | NodeRestarted]] = {
    'INPUT_CLOSED': InputClosed,
    'INPUT_RECOVERED': InputRecovered,
    'NODE_RESTARTED': NodeRestarted,
}
