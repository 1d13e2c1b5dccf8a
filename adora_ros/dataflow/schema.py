"""The dataflow YAML as it is written: the model that validates it and that the JSON Schema is made from.

Keys, types and limits are those of the descriptor of dora 1.1, with the additions of this package. Types are strict: a
number in quotes is not a number. What is a sum of forms (a port in short or long form) is a tagged union, so that an
error is about the form that was meant.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from adora_ros.dataflow.bridgeschema import BridgeQosYaml, BridgeTopicYaml, BridgeYaml
from adora_ros.dataflow.yamlmodel import U32_LIMIT, Natural, PositiveSeconds, Seconds, Yaml, form_error


def _scalar(value: Any) -> Any:
    if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    expected = 'text, a number, true or false'
    raise form_error(expected)


def _auto_or_bool(value: Any) -> Any:
    if isinstance(value, bool) or value == 'auto':
        return value
    expected = 'auto, true or false'
    raise form_error(expected)


def _byte_size(value: Any) -> Any:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    expected = 'a size such as 50MB'
    raise form_error(expected)


AutoOrBool = Annotated[Any, BeforeValidator(_auto_or_bool), WithJsonSchema({'enum': ['auto', True, False]})]
Scalar = Annotated[Any, BeforeValidator(_scalar), WithJsonSchema({'type': ['string', 'number', 'boolean']})]
ByteSize = Annotated[Any, BeforeValidator(_byte_size), WithJsonSchema({'type': ['string', 'integer']})]


def _text_or_map(value: Any) -> str:
    return '(text)' if isinstance(value, str) else '(map)'


def _list_or_map(value: Any) -> str:
    return '(map)' if isinstance(value, (dict, BaseModel)) else '(list)'


def _text_or_list(value: Any) -> str:
    return '(list)' if isinstance(value, list) else '(text)'


class QosYaml(Yaml):
    """Quality of service, field by field; what is not given is the default of the port."""

    profile: Literal['default', 'reliable', 'sensor_data', 'latched'] | None = None
    """A set of fields to start from."""
    reliability: Literal['reliable', 'best_effort'] | None = None
    durability: Literal['volatile', 'transient_local'] | None = None
    history: Literal['keep_last', 'keep_all'] | None = None
    depth: Annotated[int, Field(ge=1, le=U32_LIMIT)] | None = None


Qos = Annotated[
    Annotated[Literal['default', 'reliable', 'sensor_data', 'latched'], Tag('(text)')]
    | Annotated[QosYaml, Tag('(map)')],
    Discriminator(_text_or_map),
]


class TopicYaml(Yaml):
    """A ROS topic as the source of an input."""

    topic: str
    """ROS topic: absolute, relative to `/<dataflow>`, or `~/...` below the node."""
    type: str | None = None
    """ROS message type such as `sensor_msgs/msg/Image`; without it the topic carries Arrow values of adora_ros."""
    qos: Qos | None = None


class OutputYaml(Yaml):
    """An output that is bound to a ROS topic or message type."""

    topic: str | None = None
    """ROS topic; `/<dataflow>/<node>/<output>` unless given."""
    type: str | None = None
    """ROS message type such as `sensor_msgs/msg/Image`; Arrow values unless given."""
    qos: Qos | None = None
    inline: Literal['auto', 'always'] | None = None
    """Whether large Arrow values travel inside the messages, for receivers that have no adora_ros or are elsewhere;
    `auto` (in shared memory where all receivers of the dataflow are on this machine) unless given."""


class ListedOutputYaml(OutputYaml):
    """An output of a list of outputs in long form."""

    id: str


class InputYaml(Yaml):
    """An input in long form."""

    source: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[TopicYaml, Tag('(map)')], Discriminator(_text_or_map)]
        | None
    ) = None
    """`node/output`, `dora/timer/<unit>/<n>`, or a ROS topic as a mapping."""
    topic: str | None = None
    """A ROS topic, instead of `source`."""
    type: str | None = None
    """ROS message type; that of the source unless given."""
    qos: Qos | None = None
    queue_size: Natural | None = None
    """Messages that may wait; 10 unless given."""
    queue_policy: Literal['drop_oldest', 'backpressure'] | None = None
    """What happens to a message that finds the queue full; `drop_oldest` unless given."""
    input_timeout: PositiveSeconds | None = None
    """Seconds of silence after which the input closes, from its first message on."""
    first_message_timeout: PositiveSeconds | None = None
    """Seconds of silence after which an input closes that has had no message yet."""


Input = Annotated[Annotated[str, Tag('(text)')] | Annotated[InputYaml, Tag('(map)')], Discriminator(_text_or_map)]
ListedOutput = Annotated[
    Annotated[str, Tag('(text)')] | Annotated[ListedOutputYaml, Tag('(map)')], Discriminator(_text_or_map)
]
Outputs = Annotated[
    Annotated[list[ListedOutput], Tag('(list)')] | Annotated[dict[str, OutputYaml | None], Tag('(map)')],
    Discriminator(_list_or_map),
]


class RosYaml(Yaml):
    """An existing ROS 2 node, run unmodified."""

    package: str | None = None
    """ROS package that installs the executable."""
    executable: str
    """Name of an executable of `package`, or a file relative to the YAML."""
    parameters: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[dict[str, Any], Tag('(map)')], Discriminator(_text_or_map)]
        | None
    ) = None
    """Parameters by name, or a parameter file."""
    remappings: dict[str, str] | None = None
    arguments: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[list[str], Tag('(list)')], Discriminator(_text_or_list)]
        | None
    ) = None
    """Further command line arguments."""
    namespace: str | None = None
    """`/<dataflow>` unless given."""
    name: str | None = None
    """ROS node name; made from the id unless given."""
    lifecycle: AutoOrBool | None = None
    """Whether the node is driven through its lifecycle services; `auto` finds out."""


class PythonSourceYaml(Yaml):
    """A Python file in long form."""

    source: str
    conda_env: str | None = None


PythonSource = Annotated[
    Annotated[str, Tag('(text)')] | Annotated[PythonSourceYaml, Tag('(map)')], Discriminator(_text_or_map)
]


class OperatorYaml(Yaml):
    """A part of a node that shares its process with the other operators of the node."""

    id: str | None = None
    """Unique within the node; `op` for the only operator of a node unless given."""
    name: str | None = None
    """For people to read."""
    description: str | None = None
    python: (
        Annotated[
            Annotated[str, Tag('(text)')] | Annotated[PythonSourceYaml, Tag('(map)')], Discriminator(_text_or_map)
        ]
        | None
    ) = None
    """Python file with a class `Operator`, relative to the YAML."""
    shared_library: Annotated[str | None, Field(alias='shared-library')] = None
    wasm: str | None = None
    build: str | None = None
    inputs: dict[str, Input] | None = None
    outputs: Outputs | None = None
    input_types: dict[str, str] | None = None
    output_types: dict[str, str] | None = None
    output_metadata: dict[str, list[str]] | None = None
    output_framing: dict[str, Literal['raw', 'arrow-ipc']] | None = None
    pattern: Literal['service-server', 'service-client', 'action-server', 'action-client'] | None = None
    send_stdout_as: str | None = None
    send_logs_as: str | None = None
    min_log_level: str | None = None
    max_log_size: ByteSize | None = None
    max_rotated_files: Annotated[int, Field(ge=1, le=100)] | None = None


class ListedOperatorYaml(OperatorYaml):
    """An operator of a list of operators."""

    id: str


class DeployYaml(Yaml):
    """Where a node runs."""

    machine: str | None = None
    working_dir: str | None = None
    labels: dict[str, str] | None = None
    distribute: Literal['local', 'scp', 'http'] | None = None


class DebugYaml(Yaml):
    """Debug options of dora; every output is an ordinary ROS topic here, so they have no effect."""

    enable_debug_inspection: bool = False


class TypeRuleYaml(Yaml):
    """A rule of dora by which one type may feed another."""

    from_: Annotated[str, Field(alias='from')]
    to: str


class NodeYaml(Yaml):
    """One node."""

    id: str
    """Unique; letters, digits, `_`, `-` and `.`."""
    name: str | None = None
    """For people to read."""
    description: str | None = None
    path: str | None = None
    """Program or Python script, relative to the YAML, else looked up on PATH."""
    path_sha256: str | None = None
    args: str | None = None
    """Command line arguments, quoted as in a shell."""
    env: dict[str, Scalar] | None = None
    """Environment variables; `$NAME`, `${NAME}` and `${NAME:-default}` are expanded in the values."""
    build: str | None = None
    git: str | None = None
    branch: str | None = None
    tag: str | None = None
    rev: str | None = None
    hub: str | None = None
    ros: RosYaml | None = None
    inputs: dict[str, Input] | None = None
    outputs: Outputs | None = None
    """A list of names, or a mapping from names to `{topic, type, qos}`."""
    input_types: dict[str, str] | None = None
    output_types: dict[str, str] | None = None
    output_metadata: dict[str, list[str]] | None = None
    output_framing: dict[str, Literal['raw', 'arrow-ipc']] | None = None
    pattern: Literal['service-server', 'service-client', 'action-server', 'action-client'] | None = None
    operators: list[ListedOperatorYaml] | None = None
    """Python code that runs in one process of the node."""
    operator: OperatorYaml | None = None
    """The only operator of the node."""
    ros2: BridgeYaml | None = None
    """A bridge to ROS 2 topics, a service or an action, in place of a program."""
    module: str | None = None
    params: dict[str, str] | None = None
    restart_policy: Literal['never', 'on-failure', 'always'] | None = None
    """`never` unless given."""
    max_restarts: Natural | None = None
    """0, which is unlimited, unless given."""
    restart_delay: Seconds | None = None
    """Seconds before the first restart; doubled for each further one."""
    max_restart_delay: Seconds | None = None
    restart_window: PositiveSeconds | None = None
    """Seconds from the first restart after which restarts are counted from 0 again."""
    health_check_timeout: PositiveSeconds | None = None
    """Seconds of silence after which the node is killed."""
    startup_timeout: PositiveSeconds | None = None
    """Seconds that the node may take from its start until it is connected."""
    finish_grace_secs: Seconds | None = None
    stop_grace: Seconds | None = None
    """Seconds from the stop request to SIGTERM."""
    on_give_up: Literal['ignore', 'stop_dataflow'] | None = None
    """What a final failure does to the rest; `ignore` unless given."""
    send_stdout_as: str | None = None
    send_logs_as: str | None = None
    min_log_level: str | None = None
    max_log_size: ByteSize | None = None
    max_rotated_files: Annotated[int, Field(ge=1, le=100)] | None = None
    shared_memory_pool_size: ByteSize | None = None
    cpu_affinity: list[Natural] | None = None
    warm: AutoOrBool | None = None
    """Whether the process is forked from one that has ROS loaded already; that of the top level unless given."""
    deploy: DeployYaml | None = None
    unstable_deploy: Annotated[DeployYaml | None, Field(alias='_unstable_deploy')] = None
    """Older name of `deploy`."""


class ModuleHeaderYaml(Yaml):
    """What a module looks like from outside."""

    name: str
    """For people to read."""
    inputs: Annotated[list[str], Field(default_factory=list)]
    """Inputs that whoever uses the module has to give; nodes inside name them `_mod/<input>`."""
    inputs_optional: Annotated[list[str], Field(default_factory=list)]
    """Inputs that may be left out."""
    outputs: Annotated[list[str], Field(default_factory=list)]
    """Outputs of nodes inside that others can use, by the name that they have inside."""


class ModuleFileYaml(Yaml):
    """A file with nodes that a dataflow uses as one."""

    module: ModuleHeaderYaml
    nodes: list[Any]
    build: str | None = None
    """Commands that build the module, before those of its nodes."""


class RootYaml(Yaml):
    """A dataflow."""

    nodes: list[NodeYaml]
    env: dict[str, Scalar] | None = None
    """Environment variables of every node; its own come first."""
    health_check_interval: PositiveSeconds | None = None
    """Seconds by which a health check may be late at most; 5 unless given."""
    restart_strategy: Literal['one_for_one', 'rest_for_one', 'one_for_all'] | None = None
    """Which nodes are restarted along with one; `one_for_one` unless given."""
    stop_grace: Seconds | None = None
    """Seconds from the stop request to SIGTERM; 10 unless given."""
    warm: AutoOrBool | None = None
    """Whether Python scripts are forked from a process that has ROS loaded already; `auto` unless given."""
    shared_memory_limit: ByteSize | None = None
    """Shared memory for large values, such as 512MB, for all nodes together; a quarter of what is free unless given, 0
    for none."""
    exit_when_nodes_finish: bool | None = None
    """Whether the dataflow ends although timers could go on."""
    strict_types: bool | None = None
    type_rules: list[TypeRuleYaml] | None = None
    deploy: DeployYaml | None = None
    unstable_deploy: Annotated[DeployYaml | None, Field(alias='_unstable_deploy')] = None
    """Older name of `deploy`."""
    debug: DebugYaml | None = None


PLACES: tuple[tuple[type[Yaml], str], ...] = (
    (RootYaml, 'the top level'),
    (NodeYaml, 'a node'),
    (InputYaml, 'an input'),
    (RosYaml, 'the `ros` of a node'),
    (OperatorYaml, 'an operator'),
    (BridgeYaml, 'the `ros2` of a node'),
    (BridgeTopicYaml, 'a topic of `ros2`'),
    (OutputYaml, 'an output'),
    (QosYaml, 'a `qos`'),
    (BridgeQosYaml, 'the `qos` of `ros2`'),
    (DeployYaml, '`deploy`'),
)
"""Where the keys of each mapping belong, in the order in which to look for a misplaced one."""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the dataflow YAML."""
    schema = RootYaml.model_json_schema(by_alias=True)
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        **schema,
        'title': 'adora_ros dataflow',
    }


def keys_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys that a mapping may have in the YAML."""
    return tuple(info.alias or name for name, info in model.model_fields.items())
