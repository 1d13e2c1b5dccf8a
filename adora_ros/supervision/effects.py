"""What supervision asks for and announces: facts as data, for whoever owns processes, topics and logs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adora_ros.supervision.policy import Exit


class NodeState(str, Enum):
    """Where a node is, from the supervisor's point of view."""

    PENDING = 'pending'
    STARTING = 'starting'
    RUNNING = 'running'
    BACKOFF = 'backoff'
    STOPPING = 'stopping'
    FINISHED = 'finished'
    FAILED = 'failed'
    STOPPED = 'stopped'

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to the node unless an operator starts it again."""
        return self in {NodeState.FINISHED, NodeState.FAILED, NodeState.STOPPED}

    @property
    def has_process(self) -> bool:
        """Whether a process of the node may exist."""
        return self in {NodeState.STARTING, NodeState.RUNNING, NodeState.STOPPING}


@dataclass(frozen=True)
class Spawn:
    """Start the process of incarnation ``incarnation``; it has been granted and is on record."""

    node: str
    incarnation: int


@dataclass(frozen=True)
class StopProcess:
    """End the process of ``node`` by the stop ladder."""

    node: str
    incarnation: int


@dataclass(frozen=True)
class ProcessEnded:
    """One incarnation is over."""

    node: str
    incarnation: int
    end: Exit


@dataclass(frozen=True)
class RestartAnnounced:
    """``node`` will be spawned again ``delay`` seconds from now unless that is cancelled.

    ``number`` counts the restarts in the current window, from 1; it is 0 where no budget is spent: an operator's
    restart, or one that another node's restart brings with it.
    """

    node: str
    number: int
    delay: float
    reason: str


@dataclass(frozen=True)
class RestartCancelled:
    """An announced restart will not take place."""

    node: str
    reason: str


@dataclass(frozen=True)
class GaveUp:
    """``max_restarts`` is used up; ``restarts`` were made."""

    node: str
    restarts: int
    reason: str


@dataclass(frozen=True)
class NodeUp:
    """Incarnation ``incarnation`` of ``node`` works; ``consumers`` are to be told when it is not the first."""

    node: str
    incarnation: int
    consumers: tuple[str, ...]


@dataclass(frozen=True)
class NodeEnded:
    """``node`` has reached the final ``state``."""

    node: str
    state: NodeState
    reason: str


@dataclass(frozen=True)
class NodeFailedNotice:
    """Tell ``consumer`` that ``node`` failed for good, and which of its ``inputs`` that affects."""

    consumer: str
    node: str
    error: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class InputClosedNotice:
    """Tell ``consumer`` that nothing more will come on ``input``."""

    consumer: str
    input: str


@dataclass(frozen=True)
class AllInputsClosedNotice:
    """Tell ``consumer`` that nothing more will come on any input; it is not restarted from here on."""

    consumer: str


@dataclass(frozen=True)
class StopDataflow:
    """Stop everything, because ``node`` failed and its ``on_give_up`` says so."""

    node: str


@dataclass(frozen=True)
class DataflowEnded:
    """Every node is in a final state."""


Effect = (
    Spawn
    | StopProcess
    | ProcessEnded
    | RestartAnnounced
    | RestartCancelled
    | GaveUp
    | NodeUp
    | NodeEnded
    | NodeFailedNotice
    | InputClosedNotice
    | AllInputsClosedNotice
    | StopDataflow
    | DataflowEnded
)


class RestartCancelReason(str, Enum):
    """Why an announced restart does not take place."""

    INPUTS_CLOSED = 'inputs closed during backoff wait'
    DATAFLOW_STOPPING = 'dataflow stopping during backoff wait'
    NODE_STOPPED = 'node stopped by an operator during backoff wait'
