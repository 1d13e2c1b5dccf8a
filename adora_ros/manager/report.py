"""What each decision of the supervisor looks like in the journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatch

from adora_ros.dataflow import Dataflow
from adora_ros.manager.events import EventKind, Level
from adora_ros.supervision import (
    AllInputsClosedNotice,
    Effect,
    ExitCause,
    GaveUp,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    NodeUp,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One event to write; the attributes are those of :class:`adora_ros.manager.events.ManagerEvent`."""

    kind: EventKind
    text: str
    node: str
    incarnation: int = -1
    level: Level = Level.INFO
    details: dict[str, object] = field(default_factory=dict)


@singledispatch
def describe(effect: Effect, dataflow: Dataflow) -> Iterator[Entry]:
    """Yield the events that tell of an effect; none for one that only asks for something to be done."""
    del effect, dataflow
    yield from ()


@describe.register
def _(effect: ProcessEnded, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    level = Level.INFO if effect.end.cause is ExitCause.CLEAN else Level.WARN
    yield Entry(
        kind=EventKind.NODE_EXITED,
        text=f'exited: {effect.end.reason}',
        node=effect.node,
        incarnation=effect.incarnation,
        level=level,
        details={'cause': effect.end.cause.value, 'reason': effect.end.reason},
    )


@describe.register
def _(effect: RestartAnnounced, dataflow: Dataflow) -> Iterator[Entry]:
    limit = dataflow.node(effect.node).restart.max_restarts
    number = f' {effect.number}{f" of {limit}" if limit else ""}' if effect.number else ''
    yield Entry(
        kind=EventKind.RESTART_SCHEDULED,
        text=f'restart{number} in {effect.delay:g} s ({effect.reason})',
        node=effect.node,
        level=Level.WARN,
        details={'number': effect.number, 'delay': effect.delay, 'reason': effect.reason},
    )


@describe.register
def _(effect: RestartCancelled, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    yield Entry(
        kind=EventKind.RESTART_CANCELLED,
        text=f'restart cancelled: {effect.reason}',
        node=effect.node,
        details={'reason': effect.reason},
    )


@describe.register
def _(effect: GaveUp, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    times = f'{effect.restarts} restart' if effect.restarts == 1 else f'{effect.restarts} restarts'
    yield Entry(
        kind=EventKind.GAVE_UP,
        text=f'giving up after {times}: {effect.reason}',
        node=effect.node,
        level=Level.WARN,
        details={'restarts': effect.restarts, 'reason': effect.reason},
    )


@describe.register
def _(effect: NodeUp, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    again = effect.incarnation > 0
    yield Entry(
        kind=EventKind.NODE_RESTARTED if again else EventKind.NODE_UP,
        text=f'up again (incarnation {effect.incarnation})' if again else 'up',
        node=effect.node,
        incarnation=effect.incarnation,
        details={'consumers': ' '.join(effect.consumers)},
    )


@describe.register
def _(effect: NodeEnded, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    yield Entry(
        kind=EventKind.NODE_ENDED,
        text=f'{effect.state.value}: {effect.reason}' if effect.reason else effect.state.value,
        node=effect.node,
        level=Level.ERROR if effect.state is NodeState.FAILED else Level.INFO,
        details={'state': effect.state.value, 'reason': effect.reason},
    )


@describe.register
def _(effect: NodeFailedNotice, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    inputs = ', '.join(effect.inputs)
    yield Entry(
        kind=EventKind.NODE_FAILED,
        text=f'told that {effect.node} failed, which feeds {inputs}',
        node=effect.consumer,
        level=Level.WARN,
        details={'source': effect.node, 'error': effect.error, 'inputs': ' '.join(effect.inputs)},
    )


@describe.register
def _(effect: InputClosedNotice, dataflow: Dataflow) -> Iterator[Entry]:
    source = dataflow.node(effect.consumer).input(effect.input).source
    yield Entry(
        kind=EventKind.INPUT_CLOSED,
        text=f'input {effect.input} ({source}) closed: its source has ended',
        node=effect.consumer,
        details={'input': effect.input, 'source': source},
    )


@describe.register
def _(effect: AllInputsClosedNotice, dataflow: Dataflow) -> Iterator[Entry]:
    del dataflow
    yield Entry(kind=EventKind.ALL_INPUTS_CLOSED, text='all inputs closed', node=effect.consumer)
