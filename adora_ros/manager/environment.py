"""What a node's process is started with: its environment and its :class:`NodeConfig`."""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.dataflow import Dataflow, InputSpec, NodeKind, NodeSource, NodeSpec, OutputSpec, TimerSource, graph
from adora_ros.dataflow.names import ros_name
from adora_ros.transport.contract import (
    CONFIG_VARIABLE,
    NOTIFY_VARIABLE,
    RUN_VARIABLE,
    WATCHDOG_VARIABLE,
    InputConfig,
    NodeConfig,
    OperatorConfig,
    OutputConfig,
    capacity,
)
from adora_ros.warm.environment import common_environment, script_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.manager.sharedmemory import SharedMemory

INCARNATION_VARIABLE = 'ADORA_INCARNATION'
"""``<node>/<number>``, so that what an incarnation leaves behind can be told from its successor."""
MIN_DEPTH = 10
"""Smallest history depth of an output."""
_BOOTSTRAP = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
"""Set by the ROS wheels in an interpreter that they have given its ``LD_LIBRARY_PATH``; another one would take that for
its own and not find its libraries."""
_LIBRARIES = 'LD_LIBRARY_PATH'


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What all nodes of one run have in common.

    Attributes:
        dataflow: The dataflow.
        run_id: uuid of the run.
        folder: Where its logs and other files are.
        machine: Name of this machine in the dataflow; empty if it has none.
        env: Variables set for every node on top of the manager's environment.
        use_sim_time: Whether the nodes take their ROS time from ``/clock``.
        memory: Where their large values are; None if these travel inside their messages.
        local: Ids of the nodes that run here.

    """

    dataflow: Dataflow
    run_id: str
    folder: Path
    machine: str
    env: Mapping[str, str]
    use_sim_time: bool = False
    memory: SharedMemory | None = None
    local: frozenset[str]

    @property
    def mark(self) -> str:
        """What :data:`RUN_VARIABLE` is set to: names of machines may stand for one machine, whose processes see all."""
        return run_mark(self.run_id, self.machine, is_share=len(self.local) < len(self.dataflow.nodes))


def run_mark(run_id: str, machine: str, *, is_share: bool) -> str:
    """Return what marks the processes and the shared memory of a run, or of a machine's share of it."""
    return f'{run_id}-{ros_name(machine or "rest")}' if is_share else run_id


def node_config(
    context: RunContext,
    node: NodeSpec,
    number: int,
    *,
    control_fd: int,
    life_fd: int,
    end_fd: int | None,
    closed_inputs: tuple[str, ...],
) -> NodeConfig:
    """Return what incarnation ``number`` of a node needs to know."""
    dataflow, memory = context.dataflow, context.memory
    return NodeConfig(
        dataflow=dataflow.name,
        dataflow_id=context.run_id,
        namespace=dataflow.namespace,
        node_id=node.id,
        name=node.name,
        incarnation=number,
        restart_count=number,
        machine=context.machine,
        use_sim_time=context.use_sim_time,
        dynamic=node.kind is NodeKind.DYNAMIC,
        control_fd=control_fd,
        life_fd=life_fd,
        end_fd=end_fd,
        payload_folder=None if memory is None or memory.folder is None else str(memory.folder),
        payload_limit=0 if memory is None else memory.limit,
        descriptor_file=str(context.folder / 'dataflow.json'),
        inputs=tuple(_input_config(port) for port in node.inputs),
        outputs=tuple(_output_config(dataflow, node, port) for port in node.outputs),
        operators=tuple(OperatorConfig(id=item.id, source=str(item.source)) for item in node.operators),
        closed_inputs=closed_inputs,
        bridge=dataclasses.asdict(node.bridge) if node.bridge is not None else None,
    )


def environment(
    context: RunContext, node: NodeSpec, config: NodeConfig, notify_address: str, program: str
) -> dict[str, str]:
    """Return the complete environment of a node's process."""
    own = dict(os.environ) if _is_own_interpreter(program) else _without_bootstrap(os.environ)
    env = {**own, **context.env, **node.env}
    env = common_environment(env) if node.kind is NodeKind.ROS else script_environment(env)
    env[CONFIG_VARIABLE] = config.to_json()
    env[NOTIFY_VARIABLE] = notify_address
    env[RUN_VARIABLE] = context.mark
    env[INCARNATION_VARIABLE] = f'{node.id}/{config.incarnation}'
    env.pop(WATCHDOG_VARIABLE, None)
    if node.health_check_timeout is not None:
        env[WATCHDOG_VARIABLE] = str(int(node.health_check_timeout * 1e6))
    return env


def _without_bootstrap(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what the ROS wheels of this interpreter have added."""
    kept = dict(env)
    if kept.pop(_BOOTSTRAP, None) is None:
        return kept
    prefixes = (Path(sys.prefix), Path(sys.prefix).resolve())
    paths = [Path(text) for text in kept.pop(_LIBRARIES, '').split(os.pathsep) if text]
    foreign = [str(path) for path in paths if not any(path.is_relative_to(prefix) for prefix in prefixes)]
    if foreign:
        kept[_LIBRARIES] = os.pathsep.join(foreign)
    return kept


def _is_own_interpreter(program: str) -> bool:
    """Return whether a program belongs to this interpreter's prefix and may share its loaded ROS libraries.

    The folders are compared, since the interpreters of virtual environments are links to one binary.
    """
    return Path(program).parent.resolve() == Path(sys.executable).parent.resolve()


def _input_config(port: InputSpec) -> InputConfig:
    return InputConfig(
        id=port.id,
        source=str(port.source),
        node=port.source.node if isinstance(port.source, NodeSource) else None,
        topic=port.topic,
        type=port.type,
        qos=port.qos.as_dict() if port.qos is not None else None,
        period=port.source.period if isinstance(port.source, TimerSource) else None,
        queue_size=port.queue_size,
        queue_policy=port.queue_policy.value,
        input_timeout=port.input_timeout,
        first_message_timeout=port.first_message_timeout,
    )


def _output_config(dataflow: Dataflow, node: NodeSpec, port: OutputSpec) -> OutputConfig:
    consumers = [
        (dataflow.node(edge.target_node), edge.input)
        for edge in graph.edges(dataflow)
        if edge.source_node == node.id and edge.output == port.id
    ]
    far = any(consumer.machine != node.machine for consumer, _ in consumers)
    return OutputConfig(
        id=port.id,
        topic=port.topic,
        type=port.type,
        qos=port.qos.as_dict() if port.qos is not None else None,
        depth=max([MIN_DEPTH, *(_capacity(consumer.input(name)) for consumer, name in consumers)]),
        inline=port.inline or far,
        far=far,
    )


def _capacity(port: InputSpec) -> int:
    return capacity(port.queue_size, port.queue_policy.value)
