"""What a manager and the process of a node say to each other.

Three channels, from the most to the least portable:

* ``ADORA_NODE_CONFIG``: a :class:`NodeConfig` as JSON, once, in the environment.
* ``NOTIFY_SOCKET`` and ``WATCHDOG_USEC``: the sd_notify protocol (``sd_notify(3)``): ``READY=1`` once connected,
  ``WATCHDOG=1`` as proof of life, ``STATUS=`` and ``STOPPING=1``. Any language can speak it.
* the control socket: a ``SOCK_SEQPACKET`` socket inherited as file descriptor :attr:`NodeConfig.control_fd`, one JSON
  object a packet (:class:`ManagerOp` from the manager, :class:`NodeOp` from the node). Only the Node API uses it. It is
  independent of DDS discovery, keeps its order, and its end of file tells a node that its manager is gone.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from adora_ros.errors import TransportError

CONFIG_VARIABLE = 'ADORA_NODE_CONFIG'
NOTIFY_VARIABLE = 'NOTIFY_SOCKET'
WATCHDOG_VARIABLE = 'WATCHDOG_USEC'
RUN_VARIABLE = 'ADORA_RUN'
"""Set to the run's uuid, and the machine where several run it, in every process: what is left can be found by it."""

PAYLOAD_FOLDER_PREFIX = '/dev/shm/adora-'  # noqa: S108 - where Linux has its shared memory
"""What the path of every folder for large values begins with; the run's uuid follows."""

CONTROL_PACKET_LIMIT = 64 * 1024
"""Largest control packet in bytes."""
CONTROL_TEXT_LIMIT = 4096
"""Longest text, in characters, that somebody else wrote and a control packet carries."""


BACKPRESSURE_FLOOR = 100
BACKPRESSURE_FACTOR = 10


def capacity(queue_size: int, queue_policy: str) -> int:
    """Return how many messages an input may hold, by the rule of dora 1.1.

    A ``drop_oldest`` input always has room for the latest message; a ``backpressure`` input gets ten times what it
    asked for, at least 100, before it drops.
    """
    if queue_policy == 'backpressure':
        return max(queue_size * BACKPRESSURE_FACTOR, BACKPRESSURE_FLOOR)
    return max(queue_size, 1)


class ManagerOp(str, Enum):
    """The ``op`` of a packet from the manager, with its further keys."""

    TRANSITION = 'transition'
    """``id: int``, ``transition: str`` (``configure``, ``activate``, ``deactivate``); ``activate`` also has
    ``subscribers: {output: {full node name: process id}}``, the consumers to wait for before the first event; the id is
    0 where it is not known."""
    NODE_RESTARTED = 'node_restarted'
    """``node: str``, ``incarnation: int``."""
    NODE_FAILED = 'node_failed'
    """``node: str``, ``error: str``, ``inputs: [str]``."""
    INPUT_CLOSED = 'input_closed'
    """``input: str``: closed for good."""
    STOP = 'stop'
    """``cause: str``, a name of :class:`adora_ros.inputs.StopCause`."""


class NodeOp(str, Enum):
    """The ``op`` of a packet from the node, with its further keys."""

    HELLO = 'hello'
    """Sent before ``READY=1``: the process can be driven through this socket. ``state: str``."""
    REPLY = 'reply'
    """``id: int``, ``ok: bool``, ``state: str``, ``error: str`` (last line of the traceback, else empty)."""
    STATE = 'state'
    """``state: str``: the lifecycle state changed, whoever asked for it."""
    INPUT_CLOSED = 'input_closed'
    """``input: str``, ``age: float`` in seconds: silence."""
    INPUT_RECOVERED = 'input_recovered'
    """``input: str``."""
    INPUT_OPENED = 'input_opened'
    """``input: str``: the first message of this incarnation has come."""
    COUNTS = 'counts'
    """``payload_fallbacks: int``, ``payload_drops: int``: totals of this incarnation, see
    :class:`adora_ros.transport.ports.PayloadCounts`."""
    WARNING = 'warning'
    """``text: str``: something is wrong that the node outlives."""
    STOP_DATAFLOW = 'stop_dataflow'
    """``reason: str``: the node asks for an ordered stop of everything."""


@dataclass(frozen=True, kw_only=True)
class InputConfig:
    """One input of a node: a topic, or a timer when ``period`` is given."""

    id: str
    source: str
    """As in the YAML: ``node/output``, ``dora/timer/millis/100`` or a topic."""
    node: str | None = None
    """Id of the source node, None for a timer or an external topic."""
    topic: str | None = None
    type: str | None = None
    """ROS message type such as ``sensor_msgs/msg/Image``; None for Arrow."""
    qos: dict[str, Any] | None = None
    """Fields of :class:`adora_ros.dataflow.QosSpec` that differ from the default of the port."""
    period: float | None = None
    """Seconds between two ticks of a timer."""
    queue_size: int = 10
    queue_policy: str = 'drop_oldest'
    input_timeout: float | None = None
    first_message_timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class OutputConfig:
    """One output of a node."""

    id: str
    topic: str
    type: str | None = None
    qos: dict[str, Any] | None = None
    depth: int = 10
    """History depth: the largest ``queue_size`` among the consumers, at least 10."""
    inline: bool = False
    """Whether values travel inside the messages however large they are, since not everybody shares memory here."""
    far: bool = False
    """Whether a consumer may be on another machine, where messages and news of a subscriber may take their time."""


@dataclass(frozen=True, kw_only=True)
class OperatorConfig:
    """An operator that the node's process hosts."""

    id: str
    source: str
    """Absolute path of its Python file."""


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """Everything that a node's process needs to know."""

    dataflow: str
    dataflow_id: str
    """uuid of the run."""
    namespace: str
    """``/<dataflow>``."""
    node_id: str
    """As in the YAML."""
    name: str
    """ROS name of the node."""
    incarnation: int = 0
    restart_count: int = 0
    machine: str = ''
    use_sim_time: bool = False
    """Whether the node takes its ROS time from ``/clock``."""
    dynamic: bool = False
    """Whether somebody else has started the process; it outlives its manager."""
    control_fd: int | None = None
    life_fd: int | None = None
    """File descriptor of a :class:`adora_ros.transport.lifepage.LifePage`: proofs of life without notifications."""
    payload_folder: str | None = None
    """Folder in shared memory for large values; None for none."""
    payload_limit: int = 0
    """Bytes that the files in it may take together."""
    end_fd: int | None = None
    """File descriptor of a pipe that ends when the process begins to."""
    descriptor_file: str | None = None
    """JSON file of the parsed dataflow."""
    inputs: tuple[InputConfig, ...] = ()
    outputs: tuple[OutputConfig, ...] = ()
    operators: tuple[OperatorConfig, ...] = ()
    """What a process that hosts operators is to run."""
    bridge: dict[str, Any] | None = None
    """What a ``ros2`` node bridges: fields of :class:`adora_ros.dataflow.bridge.BridgeSpec`."""
    closed_inputs: tuple[str, ...] = ()
    """Inputs that were closed for good before this incarnation began."""

    def to_json(self) -> str:
        """Return the value for ``ADORA_NODE_CONFIG``."""
        return json.dumps(dataclasses.asdict(self), separators=(',', ':'))

    @classmethod
    def from_json(cls, text: str) -> NodeConfig:
        """Parse what :meth:`to_json` wrote.

        Unknown keys are skipped, so that a node of an older release runs under a newer manager.

        Raises:
            TransportError: ``text`` is not such a configuration.

        """
        try:
            raw = json.loads(text)
            raw['inputs'] = tuple(InputConfig(**_known(InputConfig, i)) for i in raw.get('inputs', ()))
            raw['outputs'] = tuple(OutputConfig(**_known(OutputConfig, o)) for o in raw.get('outputs', ()))
            raw['operators'] = tuple(OperatorConfig(**_known(OperatorConfig, o)) for o in raw.get('operators', ()))
            raw['closed_inputs'] = tuple(raw.get('closed_inputs', ()))
            return cls(**_known(cls, raw))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            msg = f'{CONFIG_VARIABLE} is not a node configuration: {error}'
            raise TransportError(msg) from error


def _known(cls: type, raw: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)}
    return {key: value for key, value in raw.items() if key in names}


def pack(op: ManagerOp | NodeOp, /, **keys: Any) -> bytes:
    """Return one control packet.

    Raises:
        TransportError: it is larger than :data:`CONTROL_PACKET_LIMIT`.

    """
    packet = json.dumps({'op': op.value, **keys}, separators=(',', ':')).encode()
    if len(packet) > CONTROL_PACKET_LIMIT:
        msg = f'control packet {op.value} has {len(packet)} bytes, more than {CONTROL_PACKET_LIMIT}'
        raise TransportError(msg)
    return packet


def shortened(text: str) -> str:
    """Return a text of any length so that it fits into a control packet beside other keys, and into ROS.

    An error may name a file whose name is no text; what is not becomes question marks.
    """
    text = text.encode(errors='replace').decode()
    return text if len(text) <= CONTROL_TEXT_LIMIT else text[: CONTROL_TEXT_LIMIT - 1] + '…'


def unpack(packet: bytes) -> dict[str, Any]:
    """Return the keys of a control packet, ``op`` among them.

    Raises:
        TransportError: ``packet`` is not a JSON object with an ``op``.

    """
    try:
        keys = json.loads(packet)
    except ValueError as error:
        msg = f'control packet is not JSON: {packet[:80]!r}'
        raise TransportError(msg) from error
    if not isinstance(keys, dict) or 'op' not in keys:
        msg = f'control packet has no op: {packet[:80]!r}'
        raise TransportError(msg)
    return keys
