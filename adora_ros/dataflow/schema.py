"""The dataflow YAML as it is written: the model that validates it and that the JSON Schema is made from.

Keys, types and limits are those of the descriptor of dora 1.1, with the additions of this package. Types are strict: a
number in quotes is not a number. What is a sum of forms (a port in short or long form) is a tagged union, so that an
error is about the form that was meant.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from adora_ros.dataflow.bridgeschema import BridgeQosYaml, BridgeTopicYaml, BridgeYaml
from adora_ros.dataflow.portschema import Input, InputYaml, Outputs, OutputYaml, QosYaml
from adora_ros.dataflow.yamlmodel import (
    AutoOrBool,
    ByteSize,
    Natural,
    PositiveSeconds,
    Scalar,
    Seconds,
    Yaml,
    text_or_list,
    text_or_map,
)


class RosYaml(Yaml):
    """An existing ROS 2 node, run unmodified."""

    package: str | None = None
    """ROS package that installs the executable."""
    executable: str
    """Name of an executable of `package`, or a file relative to the YAML."""
    parameters: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[dict[str, Any], Tag('(map)')], Discriminator(text_or_map)]
        | None
    ) = None
    """Parameters by name, or a parameter file."""
    remappings: dict[str, str] | None = None
    """ROS names by those that the node uses."""
    arguments: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[list[str], Tag('(list)')], Discriminator(text_or_list)]
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
    """Python file with a class `Operator`, relative to the YAML."""
    conda_env: str | None = None
    """Not supported: run adora in that environment."""


class OperatorYaml(Yaml):
    """A part of a node that shares its process with the other operators of the node."""

    id: str | None = None
    """Unique within the node; `op` for the only operator of a node unless given."""
    name: str | None = None
    """For people to read."""
    description: str | None = None
    """For people to read."""
    python: (
        Annotated[Annotated[str, Tag('(text)')] | Annotated[PythonSourceYaml, Tag('(map)')], Discriminator(text_or_map)]
        | None
    ) = None
    """Python file with a class `Operator`, relative to the YAML."""
    shared_library: Annotated[str | None, Field(alias='shared-library')] = None
    """Not supported: make it a node with a `path`."""
    wasm: str | None = None
    """Not supported: make it a node with a `path`."""
    build: str | None = None
    """Commands that make what the operator needs, one a line; `adora build` runs them."""
    inputs: dict[str, Input] | None = None
    """As of a node."""
    outputs: Outputs | None = None
    """As of a node; others name them `node/operator/output`, for `operator` without the operator."""
    input_types: dict[str, str] | None = None
    """As of a node."""
    output_types: dict[str, str] | None = None
    """As of a node."""
    output_metadata: dict[str, list[str]] | None = None
    """As of a node."""
    output_framing: dict[str, Literal['raw', 'arrow-ipc']] | None = None
    """As of a node."""
    pattern: Literal['service-server', 'service-client', 'action-server', 'action-client'] | None = None
    """As of a node."""
    send_stdout_as: str | None = None
    """As of a node, and for the whole process."""
    send_logs_as: str | None = None
    """As of a node, and for the whole process."""
    min_log_level: str | None = None
    """As of a node, and for the whole process."""
    max_log_size: ByteSize | None = None
    """As of a node, and for the whole process."""
    max_rotated_files: Annotated[int, Field(ge=1, le=100)] | None = None
    """As of a node, and for the whole process."""


class ListedOperatorYaml(OperatorYaml):
    """An operator of a list of operators."""

    id: str
    """Unique within the node."""


class DeployYaml(Yaml):
    """Where a node runs."""

    machine: str | None = None
    """Name of the machine that the node runs on; the one that adora is started on unless given."""
    working_dir: str | None = None
    """No effect here."""
    labels: dict[str, str] | None = None
    """No effect here."""
    distribute: Literal['local', 'scp', 'http'] | None = None
    """No effect here."""


class DebugYaml(Yaml):
    """Debug options of dora; every output is an ordinary ROS topic here, so they have no effect."""

    enable_debug_inspection: bool = False
    """No effect here: every output is a ROS topic."""


class TypeRuleYaml(Yaml):
    """A rule of dora by which one type may feed another."""

    from_: Annotated[str, Field(alias='from')]
    """A type of `output_types`."""
    to: str
    """A type of `input_types` that it may feed."""


class NodeYaml(Yaml):
    """One node."""

    id: str
    """Unique; letters, digits, `_`, `-` and `.`."""
    name: str | None = None
    """For people to read."""
    description: str | None = None
    """For people to read."""
    path: str | None = None
    """Program or Python script, relative to the YAML, else looked up on PATH; a URL that `adora build` downloads;
    `dynamic` for a process that somebody else starts; `shell` for the command in `args`, where that is allowed."""
    path_sha256: str | None = None
    """SHA-256 sum of what a `path` that is a URL downloads."""
    args: str | None = None
    """Command line arguments, quoted as in a shell."""
    env: dict[str, Scalar] | None = None
    """Environment variables; `$NAME`, `${NAME}` and `${NAME:-default}` are expanded in the values."""
    build: str | None = None
    """Commands that make the program, one a line; `adora build` runs them."""
    git: str | None = None
    """Repository that `adora build` clones; `path` is in it, and it is the working directory."""
    branch: str | None = None
    """Branch of `git`; the default one unless given."""
    tag: str | None = None
    """Tag of `git`."""
    rev: str | None = None
    """Commit of `git`."""
    hub: str | None = None
    """Not supported: install the node and give its `path`."""
    ros: RosYaml | None = None
    """An existing ROS 2 node, C++ or Python, in place of a `path`."""
    inputs: dict[str, Input] | None = None
    """By name, each a source or a mapping."""
    outputs: Outputs | None = None
    """A list of names, or a mapping from names to `{topic, type, qos}`."""
    input_types: dict[str, str] | None = None
    """By input the Arrow type that it takes, such as `std/core/v1/Float32`; checked against `output_types`."""
    output_types: dict[str, str] | None = None
    """By output the Arrow type that it carries."""
    output_metadata: dict[str, list[str]] | None = None
    """By output the metadata keys that its messages have; for people and for warnings."""
    output_framing: dict[str, Literal['raw', 'arrow-ipc']] | None = None
    """By output `raw` or `arrow-ipc`; values travel as Arrow IPC either way."""
    pattern: Literal['service-server', 'service-client', 'action-server', 'action-client'] | None = None
    """What the outputs carry: requests, replies or goals; for warnings."""
    operators: list[ListedOperatorYaml] | None = None
    """Python code that runs in one process of the node."""
    operator: OperatorYaml | None = None
    """The only operator of the node."""
    ros2: BridgeYaml | None = None
    """A bridge to ROS 2 topics, a service or an action, in place of a program."""
    module: str | None = None
    """File with nodes that takes the place of this one."""
    params: dict[str, str] | None = None
    """Parameters of `module`: `${_param.name}` in `args` and `PARAM_NAME` in the environment of its nodes."""
    restart_policy: Literal['never', 'on-failure', 'always'] | None = None
    """When the node is started again after its process ended."""
    max_restarts: Natural | None = None
    """Restarts after which it is given up; 0 is unlimited."""
    restart_delay: Seconds | None = None
    """Seconds before the first restart; doubled for each further one."""
    max_restart_delay: Seconds | None = None
    """Largest delay that doubling may lead to."""
    restart_window: PositiveSeconds | None = None
    """Seconds from the first restart after which restarts are counted from 0 again."""
    health_check_timeout: PositiveSeconds | None = None
    """Seconds of silence after which the node is killed."""
    startup_timeout: PositiveSeconds | None = None
    """Seconds that the node may take from its start until it is connected."""
    finish_grace_secs: Seconds | None = None
    """Time that the node may take after nothing can come to it nor to any other node; unlimited unless given."""
    stop_grace: Seconds | None = None
    """Seconds from the stop request to SIGTERM."""
    on_give_up: Literal['ignore', 'stop_dataflow'] | None = None
    """What a final failure does to the rest; `ignore` unless given."""
    send_stdout_as: str | None = None
    """Output that carries each line that the node prints, as text."""
    send_logs_as: str | None = None
    """Output that carries each line that the node prints as a log entry of dora, in JSON."""
    min_log_level: str | None = None
    """Least severe level that is logged, shown and sent: `error`, `warn`, `info`, `debug`, `trace` or `stdout`
    (all)."""
    max_log_size: ByteSize | None = None
    """Size at which the log file is rotated."""
    max_rotated_files: Annotated[int, Field(ge=1, le=100)] | None = None
    """Rotated log files that are kept."""
    shared_memory_pool_size: ByteSize | None = None
    """No effect here: set `shared_memory_limit` at the top level."""
    cpu_affinity: list[Natural] | None = None
    """CPUs that the process may run on; all unless given."""
    warm: AutoOrBool | None = None
    """Whether the process is forked from one that has ROS loaded already; that of the top level unless given."""
    deploy: DeployYaml | None = None
    """Where the node runs."""
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
    """What the module looks like from outside."""
    nodes: list[Any]
    """As of a dataflow."""
    build: str | None = None
    """Commands that build the module, before those of its nodes."""


class RootYaml(Yaml):
    """A dataflow."""

    nodes: list[NodeYaml]
    """The nodes."""
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
    """Whether types that do not fit are errors instead of warnings."""
    type_rules: list[TypeRuleYaml] | None = None
    """Which further types may feed which."""
    deploy: DeployYaml | None = None
    """Where the nodes run that do not say so themselves."""
    unstable_deploy: Annotated[DeployYaml | None, Field(alias='_unstable_deploy')] = None
    """Older name of `deploy`."""
    debug: DebugYaml | None = None
    """Debug options of dora."""


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
