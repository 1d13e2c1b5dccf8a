"""The resolved dataflow: what the rest of the package works with.

Everything here is frozen and already valid: ids are unique, sources exist, names are legal in ROS, files were found.
:func:`adora_ros.dataflow.load` makes it from a YAML file. All durations are seconds, all sizes are bytes.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from adora_ros.errors import DataflowError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adora_ros.dataflow.bridge import BridgeSpec
    from adora_ros.dataflow.problems import Problem

DEFAULT_QUEUE_SIZE = 10
DEFAULT_STOP_GRACE = 10.0
DEFAULT_HEALTH_CHECK_INTERVAL = 5.0
DEFAULT_ROTATED_FILES = 5


class RestartPolicy(str, Enum):
    """When a node is started again after its process ended."""

    NEVER = 'never'
    ON_FAILURE = 'on-failure'
    ALWAYS = 'always'


class RestartStrategy(str, Enum):
    """Which nodes are restarted along with one that is restarted."""

    ONE_FOR_ONE = 'one_for_one'
    REST_FOR_ONE = 'rest_for_one'
    ONE_FOR_ALL = 'one_for_all'


class OnGiveUp(str, Enum):
    """What the final failure of a node does to the rest of the dataflow."""

    IGNORE = 'ignore'
    STOP_DATAFLOW = 'stop_dataflow'


class QueuePolicy(str, Enum):
    """What an input does with a message that finds its queue full."""

    DROP_OLDEST = 'drop_oldest'
    BACKPRESSURE = 'backpressure'


class NodeKind(str, Enum):
    """What a node is: a program that uses the Node API, a host of operators, any ROS 2 node, or a bridge to others."""

    PATH = 'path'
    OPERATORS = 'operators'
    DYNAMIC = 'dynamic'
    ROS = 'ros'
    BRIDGE = 'ros2'


@dataclass(frozen=True, kw_only=True)
class QosSpec:
    """A quality of service as far as the YAML gives it; None leaves a field to the default of the port."""

    reliability: str | None = None
    """``reliable`` or ``best_effort``."""
    durability: str | None = None
    """``volatile`` or ``transient_local``."""
    history: str | None = None
    """``keep_last`` or ``keep_all``."""
    depth: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the given fields only."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class NodeSource:
    """An output of a node of the same dataflow."""

    node: str
    output: str

    def __str__(self) -> str:
        """Return ``node/output``."""
        return f'{self.node}/{self.output}'


@dataclass(frozen=True, kw_only=True)
class TimerSource:
    """A timer, which ticks in the consumer's own process."""

    period: float
    """Seconds between two ticks."""
    text: str
    """As in the YAML, such as ``dora/timer/millis/100``."""

    def __str__(self) -> str:
        """Return the timer as in the YAML."""
        return self.text


@dataclass(frozen=True, kw_only=True)
class TopicSource:
    """A ROS topic that is not published by exactly one output of this dataflow; it never closes for good."""

    topic: str
    """Absolute topic name."""
    type: str | None = None
    qos: QosSpec | None = None

    def __str__(self) -> str:
        """Return the topic."""
        return self.topic


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """The log lines of nodes, the consumer's own aside; like a timer it never closes."""

    level: str | None = None
    """Least severe level that counts: ``error``, ``warn``, ``info``, ``debug`` or ``trace``; None or ``stdout`` for
    every line."""
    node: str | None = None
    """The only node whose lines count; None for all."""
    text: str
    """As in the YAML, such as ``dora/logs/warn``."""

    def __str__(self) -> str:
        """Return the source as in the YAML."""
        return self.text


Source = NodeSource | TimerSource | TopicSource | LogSource


@dataclass(frozen=True, kw_only=True)
class InputSpec:
    """One input of a node."""

    id: str
    source: Source
    topic: str | None
    """Absolute topic name, None for a timer."""
    type: str | None = None
    """ROS message type ``package/msg/Name``; None for Arrow."""
    qos: QosSpec | None = None
    queue_size: int = DEFAULT_QUEUE_SIZE
    queue_policy: QueuePolicy = QueuePolicy.DROP_OLDEST
    input_timeout: float | None = None
    first_message_timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class OutputSpec:
    """One output of a node."""

    id: str
    topic: str
    """Absolute topic name."""
    type: str | None = None
    """ROS message type ``package/msg/Name``; None for Arrow."""
    qos: QosSpec | None = None
    inline: bool = False
    """Whether Arrow values travel inside the messages, however large they are."""
    by_manager: bool = False
    """Whether it carries what the node prints (``send_stdout_as``, ``send_logs_as``), which the manager publishes."""


@dataclass(frozen=True, kw_only=True)
class RestartSpec:
    """How a node is restarted."""

    policy: RestartPolicy = RestartPolicy.NEVER
    max_restarts: int = 0
    """0 is unlimited."""
    delay: float | None = None
    """Seconds before the first restart, doubled for each further one; None if not given."""
    max_delay: float | None = None
    window: float | None = None


@dataclass(frozen=True, kw_only=True)
class RosSpec:
    """An existing ROS 2 node."""

    executable: Path
    """Absolute path of the program."""
    package: str | None = None
    namespace: str
    """Absolute namespace, ``/<dataflow>`` unless given."""
    name: str
    parameters: Mapping[str, Any] | Path | None = None
    """Parameters by name (nested names joined by dots), or an absolute parameter file."""
    remappings: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    lifecycle: bool | None = None
    """Whether the node is driven through its lifecycle services; None finds out."""


@dataclass(frozen=True, kw_only=True)
class GitOrigin:
    """A git repository that a node comes from."""

    url: str
    kind: str | None
    """``branch``, ``tag`` or ``rev``; None for the default branch."""
    reference: str | None
    folder: Path
    """Absolute path of the clone, which is the working directory of the node."""


@dataclass(frozen=True, kw_only=True)
class DownloadOrigin:
    """A URL that a node's program comes from."""

    url: str
    sha256: str | None
    """What the file must be, in lower case; None if anything will do."""
    file: Path
    """Absolute path of the downloaded file."""


@dataclass(frozen=True, kw_only=True)
class OperatorSpec:
    """An operator, whose ports are those of its node that begin with its id and a slash."""

    id: str
    source: Path
    """Absolute path of a Python file with a class ``Operator``."""


@dataclass(frozen=True, kw_only=True)
class NodeSpec:
    """One node."""

    id: str
    """As in the YAML."""
    name: str
    """ROS node name."""
    full_name: str
    """``/<namespace>/<name>``."""
    label: str | None = None
    """The ``name`` of the YAML, for people to read."""
    description: str | None = None
    kind: NodeKind
    path: str | None = None
    """As in the YAML, environment variables expanded; None for a ``ros`` node."""
    program: Path | None = None
    """Absolute path of what ``path`` names; None for a ``ros`` node."""
    args: tuple[str, ...] = ()
    origin: GitOrigin | DownloadOrigin | None = None
    """Where the program comes from if it is not the dataflow's own."""
    build: tuple[str, ...] = ()
    """Commands that make the program, in order."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of the node's process on top of the manager's: the node's own ``env`` over that of the root."""
    ros: RosSpec | None = None
    operators: tuple[OperatorSpec, ...] = ()
    bridge: BridgeSpec | None = None
    """What ``ros2`` bridges."""
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    restart: RestartSpec = RestartSpec()
    health_check_timeout: float | None = None
    startup_timeout: float | None = None
    stop_grace: float = DEFAULT_STOP_GRACE
    """Seconds from the stop request to SIGTERM."""
    finish_grace: float | None = None
    """Seconds that the node may take after its last input closed."""
    on_give_up: OnGiveUp = OnGiveUp.IGNORE
    max_log_size: int | None = None
    """Bytes at which the log file is rotated."""
    max_rotated_files: int = DEFAULT_ROTATED_FILES
    send_stdout_as: str | None = None
    send_logs_as: str | None = None
    min_log_level: str | None = None
    """``error``, ``warn``, ``info``, ``debug``, ``trace`` or ``stdout``."""
    cpu_affinity: tuple[int, ...] = ()
    warm: bool | None = None
    """Whether the process is forked from one that has ROS loaded already; None where that is possible."""
    machine: str | None = None

    def input(self, input_id: str) -> InputSpec:
        """Return an input by its id.

        Raises:
            DataflowError: the node has no such input.

        """
        return _by_id(self.inputs, input_id, f'node `{self.id}` has no input')

    def output(self, output_id: str) -> OutputSpec:
        """Return an output by its id.

        Raises:
            DataflowError: the node has no such output.

        """
        return _by_id(self.outputs, output_id, f'node `{self.id}` has no output')


@dataclass(frozen=True, kw_only=True)
class Dataflow:
    """A valid dataflow."""

    name: str
    """ROS-safe."""
    namespace: str
    """``/<name>``, below whatever namespace it was loaded into."""
    file: Path
    """Absolute path of the YAML."""
    descriptor: Mapping[str, Any]
    """The parsed YAML as given."""
    nodes: tuple[NodeSpec, ...]
    """In file order."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The root's ``env``; that of each node contains it already."""
    health_check_interval: float = DEFAULT_HEALTH_CHECK_INTERVAL
    restart_strategy: RestartStrategy = RestartStrategy.ONE_FOR_ONE
    shared_memory_limit: int | None = None
    """Bytes of shared memory for large values; None leaves it to the machine."""
    exit_when_nodes_finish: bool = False
    """Whether timers count as a clock rather than as work when deciding that a node has nothing left to wait for."""
    warnings: tuple[Problem, ...] = ()

    @property
    def directory(self) -> Path:
        """The folder of the YAML."""
        return self.file.parent

    def directory_of(self, node: NodeSpec) -> Path:
        """Return the working directory of a node: the folder of the YAML, or the clone that the node comes from."""
        return node.origin.folder if isinstance(node.origin, GitOrigin) else self.directory

    def node(self, node_id: str) -> NodeSpec:
        """Return a node by its id.

        Raises:
            DataflowError: there is no such node; the text names the nearest.

        """
        return _by_id(self.nodes, node_id, f'dataflow `{self.name}` has no node')


_Item = TypeVar('_Item', InputSpec, OutputSpec, NodeSpec)


def _by_id(items: tuple[_Item, ...], item_id: str, complaint: str) -> _Item:
    for item in items:
        if item.id == item_id:
            return item
    known = [item.id for item in items]
    near = difflib.get_close_matches(item_id, known, n=1, cutoff=0.5)
    way_out = f'did you mean `{near[0]}`?' if near else f'known: {", ".join(known) or "none"}'
    msg = f'{complaint} `{item_id}`; {way_out}'
    raise DataflowError(msg)
