"""What a manager says about its dataflow: events as they happen and the state of each node, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from adora_ros.supervision import NodeState

if TYPE_CHECKING:
    from adora_ros.inputs import InputState


class Level(str, Enum):
    """How much an event matters."""

    DEBUG = 'debug'
    INFO = 'info'
    WARN = 'warn'
    ERROR = 'error'


class EventKind(str, Enum):
    """What happened."""

    DATAFLOW_STARTING = 'DATAFLOW_STARTING'
    DATAFLOW_RUNNING = 'DATAFLOW_RUNNING'
    DATAFLOW_STOPPING = 'DATAFLOW_STOPPING'
    DATAFLOW_ENDED = 'DATAFLOW_ENDED'
    NODE_STARTING = 'NODE_STARTING'
    NODE_UP = 'NODE_UP'
    NODE_EXITED = 'NODE_EXITED'
    NODE_KILLED = 'NODE_KILLED'
    NODE_ENDED = 'NODE_ENDED'
    NODE_STATUS = 'NODE_STATUS'
    RESTART_SCHEDULED = 'RESTART_SCHEDULED'
    RESTART_CANCELLED = 'RESTART_CANCELLED'
    GAVE_UP = 'GAVE_UP'
    NODE_RESTARTED = 'NODE_RESTARTED'
    NODE_FAILED = 'NODE_FAILED'
    INPUT_CLOSED = 'INPUT_CLOSED'
    INPUT_RECOVERED = 'INPUT_RECOVERED'
    ALL_INPUTS_CLOSED = 'ALL_INPUTS_CLOSED'
    STATS = 'STATS'
    WARNING = 'WARNING'


@dataclass(frozen=True, kw_only=True)
class ManagerEvent:
    """One thing that happened.

    Attributes:
        seq: Number of the event in the manager's life, from 1, without gaps.
        stamp: Wall time in nanoseconds since the epoch; a label, not to be calculated with.
        level: How much it matters.
        kind: What happened.
        node: Id of the node that it is about; empty for the dataflow.
        incarnation: The incarnation that it is about, or -1.
        text: One line for people.
        details: Further facts by name, such as ``delay`` or ``input``.

    """

    seq: int
    stamp: int
    level: Level
    kind: EventKind
    node: str
    incarnation: int
    text: str
    details: dict[str, str] = field(default_factory=dict)


class Health(str, Enum):
    """How a node is, in the three levels of ROS diagnostics."""

    OK = 'ok'
    WARN = 'warn'
    ERROR = 'error'


@dataclass(frozen=True, kw_only=True)
class InputStatus:
    """An input that a node has nothing from.

    Attributes:
        id: Its id.
        source: Where it comes from, as in the YAML.
        state: ``WAITING`` before its first message, ``CLOSED`` by silence or for good.
        age_s: Seconds since its last message, or since the start of the node's process where there was none; None where
            it closed without having been silent.

    """

    id: str
    source: str
    state: InputState
    age_s: float | None


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """The state of one node at one moment.

    Attributes:
        node: Its id.
        state: Where it is.
        health: How it is.
        incarnation: Number of the current or last incarnation, -1 before the first.
        pid: Process id, or None.
        restarts: Incarnations after the first.
        last_exit: How the last incarnation that ended did so; empty if none has.
        error: The node's last error text: of a failed transition, or its last ``STATUS=``.
        next_restart_s: Seconds until it is spawned again, or None.
        closed_inputs: Ids of inputs that are silent or closed for good.
        last_activity_age_s: Seconds since the last proof of life, or None.
        cpu_percent: Share of one CPU since the last status, in percent, or None.
        rss_mb: Resident memory in MiB, or None.
        up_s: Seconds for which the current incarnation has worked, or None.
        inputs: The inputs that wait or are closed; those of a ``ros:`` node are not known.
        payload_fallbacks: Large values of the current incarnation that had to travel inside their messages.
        payload_drops: Messages to it whose value in shared memory was gone when they came.

    """

    node: str
    state: NodeState
    health: Health
    incarnation: int
    pid: int | None
    restarts: int
    last_exit: str
    error: str
    next_restart_s: float | None
    closed_inputs: tuple[str, ...]
    last_activity_age_s: float | None
    cpu_percent: float | None
    rss_mb: float | None
    up_s: float | None
    inputs: tuple[InputStatus, ...] = ()
    payload_fallbacks: int = 0
    payload_drops: int = 0


@dataclass(frozen=True, kw_only=True)
class DataflowStatus:
    """The state of a dataflow, as far as one manager runs it, at one moment.

    Attributes:
        dataflow: Its name.
        state: Where it is, a value of :class:`adora_ros.manager.phase.Phase`.
        error: Every failure of the last run as ``node: reason``, joined by ``; ``; empty if there was none.
        run: The uuid of the current or last run; empty before the first.
        pid: Process id of the manager.
        hostname: What the manager's machine calls itself.
        file: The dataflow file, absolute.
        folder: Where the logs of the run are; empty before the first.
        stays: Whether the manager stays when the dataflow has ended.
        up_s: Seconds since the run was started, None if none goes on.
        other_machines: Other machines that have nodes of the run which have not ended.
        counters: Fault tolerance counters by name.

    """

    dataflow: str
    state: str
    error: str
    run: str
    pid: int
    hostname: str
    file: str
    folder: str
    stays: bool
    up_s: float | None
    other_machines: tuple[str, ...]
    counters: dict[str, int]


def health_of(state: NodeState, *, degraded: bool) -> Health:
    """Return the level at which diagnostics show a node.

    Args:
        state: Where the node is.
        degraded: Whether it works with inputs closed.

    """
    if state is NodeState.FAILED:
        return Health.ERROR
    if degraded or state in {NodeState.PENDING, NodeState.STARTING, NodeState.BACKOFF, NodeState.STOPPING}:
        return Health.WARN
    return Health.OK
