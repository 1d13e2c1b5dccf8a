"""Inputs and outputs of a node as they are written."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from adora_ros.dataflow.yamlmodel import U32_LIMIT, Natural, PositiveSeconds, Yaml, list_or_map, text_or_map


class QosYaml(Yaml):
    """Quality of service, field by field; what is not given is the default of the port."""

    profile: Literal['default', 'reliable', 'sensor_data', 'latched'] | None = None
    """A set of fields to start from."""
    reliability: Literal['reliable', 'best_effort'] | None = None
    """Whether what is lost is sent again."""
    durability: Literal['volatile', 'transient_local'] | None = None
    """Whether who comes late gets the last messages."""
    history: Literal['keep_last', 'keep_all'] | None = None
    """Whether only the last `depth` messages are kept."""
    depth: Annotated[int, Field(ge=1, le=U32_LIMIT)] | None = None
    """Messages that are kept."""


Qos = Annotated[
    Annotated[Literal['default', 'reliable', 'sensor_data', 'latched'], Tag('(text)')]
    | Annotated[QosYaml, Tag('(map)')],
    Discriminator(text_or_map),
]


class TopicYaml(Yaml):
    """A ROS topic as the source of an input."""

    topic: str
    """ROS topic: absolute, relative to `/<dataflow>`, or `~/...` below the node."""
    type: str | None = None
    """ROS message type such as `sensor_msgs/msg/Image`; without it the topic carries Arrow values of adora_ros."""
    qos: Qos | None = None
    """That of the publishers, where they are of this dataflow, unless given."""


class OutputYaml(Yaml):
    """An output that is bound to a ROS topic or message type."""

    topic: str | None = None
    """ROS topic; `/<dataflow>/<node>/<output>` unless given."""
    type: str | None = None
    """ROS message type such as `sensor_msgs/msg/Image`; Arrow values unless given."""
    qos: Qos | None = None
    """Reliable, volatile and as deep as the longest queue unless given."""
    inline: Literal['auto', 'always'] | None = None
    """Whether large Arrow values travel inside the messages, for receivers that have no adora_ros or are elsewhere;
    `auto` (in shared memory where all receivers of the dataflow are on this machine) unless given."""


class ListedOutputYaml(OutputYaml):
    """An output of a list of outputs in long form."""

    id: str
    """Name of the output."""


class InputYaml(Yaml):
    """An input in long form."""

    source: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[TopicYaml, Tag('(map)')], Discriminator(text_or_map)] | None
    ) = None
    """`node/output`, `dora/timer/<unit>/<n>`, or a ROS topic as a mapping."""
    topic: str | None = None
    """A ROS topic, instead of `source`."""
    type: str | None = None
    """ROS message type; that of the source unless given."""
    qos: Qos | None = None
    """What the source offers unless given."""
    queue_size: Natural | None = None
    """Messages that may wait; 10 unless given."""
    queue_policy: Literal['drop_oldest', 'backpressure'] | None = None
    """What happens to a message that finds the queue full: `drop_oldest`, or `backpressure`, which holds ten times
    `queue_size`, at least 100, before it does so and says so; no sender is ever held up."""
    input_timeout: PositiveSeconds | None = None
    """Seconds of silence after which the input closes, from its first message on."""
    first_message_timeout: PositiveSeconds | None = None
    """Seconds of silence after which an input closes that has had no message yet."""


Input = Annotated[Annotated[str, Tag('(text)')] | Annotated[InputYaml, Tag('(map)')], Discriminator(text_or_map)]
ListedOutput = Annotated[
    Annotated[str, Tag('(text)')] | Annotated[ListedOutputYaml, Tag('(map)')], Discriminator(text_or_map)
]
Outputs = Annotated[
    Annotated[list[ListedOutput], Tag('(list)')] | Annotated[dict[str, OutputYaml | None], Tag('(map)')],
    Discriminator(list_or_map),
]
