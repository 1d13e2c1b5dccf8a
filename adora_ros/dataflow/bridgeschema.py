"""The ``ros2`` part of a node as it is written, with the keys of dora 1.1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from adora_ros.dataflow.yamlmodel import Seconds, Yaml

TOPICS_LIMIT = 64
DEPTH_LIMIT = 10_000


class BridgeQosYaml(Yaml):
    """Quality of service on the side of ROS 2, in the words of dora."""

    reliable: bool = False
    """Whether what is lost is sent again; best effort unless given."""
    durability: Literal['volatile', 'transient_local'] | None = None
    """Whether who comes late gets the last messages."""
    liveliness: Literal['automatic', 'manual_by_participant', 'manual_by_topic'] | None = None
    """How a publisher shows that it is alive."""
    lease_duration: Seconds | None = None
    """Seconds for which a publisher counts as alive without a sign of life; for ever unless given."""
    max_blocking_time: Seconds | None = None
    """Time that publishing may wait for room."""
    keep_last: Annotated[int, Field(ge=1, le=DEPTH_LIMIT)] | None = None
    """Messages that are kept; 1 unless given."""
    keep_all: bool = False
    """Whether all messages are kept."""


class BridgeTopicYaml(Yaml):
    """One of several topics."""

    topic: str
    """Name of the ROS topic."""
    message_type: str
    """ROS message type such as `sensor_msgs/Image`."""
    direction: Literal['subscribe', 'publish'] = 'subscribe'
    """`subscribe` (from ROS to an output) or `publish` (from an input to ROS)."""
    output: str | None = None
    """Output that carries the topic; the topic with `_` for `/` unless given."""
    input: str | None = None
    """Input that is published; the topic with `_` for `/` unless given."""
    qos: BridgeQosYaml | None = None
    """That of the node unless given."""


class DdsYaml(Yaml):
    """DDS, which is what ROS 2 uses unless `RMW_IMPLEMENTATION` says otherwise."""

    kind: Literal['dds']
    """`dds`."""


class ZenohYaml(Yaml):
    """Zenoh."""

    kind: Literal['zenoh']
    """`zenoh`."""
    compatibility: Literal['humble', 'rep2016']
    """Release whose conventions are followed."""
    config_uri: str | None = None
    """Configuration of zenoh."""


Transport = Annotated[
    Annotated[DdsYaml, Tag('(dds)')] | Annotated[ZenohYaml, Tag('(zenoh)')],
    Discriminator(lambda value: '(zenoh)' if isinstance(value, dict) and value.get('kind') == 'zenoh' else '(dds)'),
]


class BridgeYaml(Yaml):
    """A bridge to ROS 2 topics, a service or an action, which needs no program."""

    transport: Transport | None = None
    """How ROS 2 is spoken."""
    topic: str | None = None
    """A topic; this, `topics`, `service` and `action` exclude each other."""
    message_type: str | None = None
    """ROS message type of `topic`, such as `sensor_msgs/Image`."""
    direction: Literal['subscribe', 'publish'] = 'subscribe'
    """`subscribe` (from ROS to the outputs) or `publish` (from the inputs to ROS)."""
    topics: Annotated[list[BridgeTopicYaml], Field(max_length=TOPICS_LIMIT)] | None = None
    """Several topics."""
    service: str | None = None
    """Name of a ROS service."""
    service_type: str | None = None
    """ROS service type such as `std_srvs/Trigger`."""
    action: str | None = None
    """Name of a ROS action."""
    action_type: str | None = None
    """ROS action type such as `nav2_msgs/NavigateToPose`."""
    role: Literal['client', 'server'] | None = None
    """Whether the dataflow calls the service or action, or offers it."""
    qos: BridgeQosYaml | None = None
    """Quality of service of all topics."""
    namespace: str | None = None
    """Namespace of a ROS node of its own for the bridge."""
    node_name: str | None = None
    """Name of a ROS node of its own for the bridge."""
