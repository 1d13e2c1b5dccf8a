"""The command line of a node."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import names
from adora_ros.dataflow.programs import PYTHON_SUFFIX
from adora_ros.errors import DataflowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adora_ros.dataflow.model import InputSpec, NodeSpec, OutputSpec, RosSpec


OPERATOR_HOST = 'adora_ros.node.operators'
"""Module that runs the operators of a node."""
BRIDGE = Path(__file__).parents[1] / 'node' / 'bridge' / '__main__.py'
"""The program of a ``ros2`` node; as a file, for ``-m`` would import from the folder of the dataflow."""


def command(node: NodeSpec, *, use_sim_time: bool = False) -> tuple[str, ...]:
    """Return the program and arguments that run a node; Python scripts run on the interpreter of this process.

    Args:
        node: The node.
        use_sim_time: Whether a ``ros:`` node takes its time from ``/clock``, unless its own parameters say otherwise.

    Raises:
        DataflowError: the node names nothing to run.

    """
    if node.ros is not None:
        return (
            *_program(node.ros.executable),
            *node.ros.arguments,
            '--ros-args',
            *_ros_arguments(node, node.ros, use_sim_time=use_sim_time),
        )
    if node.operators:
        return (sys.executable, '-m', OPERATOR_HOST)
    if node.bridge is not None:
        return _program(BRIDGE)
    if node.program is None:
        msg = f'node `{node.id}` has nothing to run; give it a `path`'
        raise DataflowError(msg)
    return (*_program(node.program), *node.args)


def _program(path: Path) -> tuple[str, ...]:
    return (sys.executable, str(path)) if path.suffix == PYTHON_SUFFIX else (str(path),)


def _ros_arguments(node: NodeSpec, ros: RosSpec, *, use_sim_time: bool) -> Iterator[str]:
    # Of several rules that apply the first one counts, so those for one of several nodes of a process go first.
    one_node = {old: new for old, new in ros.remappings.items() if ':' in old}
    for old, new in one_node.items():
        yield from ('-r', f'{old}:={new}')
    yield from ('-r', f'__node:={ros.name}', '-r', f'__ns:={ros.namespace}')
    if use_sim_time:
        yield from ('-p', 'use_sim_time:=true')
    if isinstance(ros.parameters, Path):
        yield from ('--params-file', str(ros.parameters))
    else:
        for name, value in (ros.parameters or {}).items():
            yield from ('-p', f'{name}:={parameter_text(value)}')
    for old, new in {**ros.remappings, **_port_remappings(node)}.items():
        if old not in one_node:
            yield from ('-r', f'{old}:={new}')


def _port_remappings(node: NodeSpec) -> dict[str, str]:
    ports: tuple[InputSpec | OutputSpec, ...] = (*(port for port in node.outputs if not port.by_manager), *node.inputs)
    return {port.id: port.topic for port in ports if port.topic and names.is_port_name(port.id)}


def parameter_text(value: Any) -> str:
    """Return a parameter's value in the YAML that ``--ros-args -p`` reads."""
    if isinstance(value, list):
        return f'[{", ".join(parameter_text(item) for item in value)}]'
    if isinstance(value, float) and not math.isfinite(value):
        return '.nan' if math.isnan(value) else '.inf' if value > 0 else '-.inf'
    return json.dumps(value, ensure_ascii=False)
