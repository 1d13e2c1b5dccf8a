"""The dataflows that are run: the same text for adora_ros and for dora-rs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

NODES = Path(__file__).resolve().parent / 'nodes'


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of a dataflow.

    Attributes:
        id: Its name.
        script: Its script in ``nodes/``, without the suffix.
        arguments: What the script gets after the id.
        inputs: Inputs in the dataflow's notation.
        outputs: Names of outputs.
        keys: Further keys of the dataflow's notation.

    """

    id: str
    script: str
    arguments: tuple[object, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments of the process."""
        return (self.id, *map(str, self.arguments))


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A dataflow.

    Attributes:
        nodes: Its nodes.
        keys: Keys at the root.

    """

    nodes: tuple[Node, ...]
    keys: Mapping[str, Any] = field(default_factory=dict)

    def to_yaml(self, keys: Mapping[str, Any] | None = None) -> str:
        """Return the dataflow file, with further keys at the root; JSON is YAML."""
        return json.dumps({**self.keys, **(keys or {}), 'nodes': [_as_dict(node) for node in self.nodes]}, indent=2)


def _as_dict(node: Node) -> dict[str, Any]:
    record = {'id': node.id, 'path': str(NODES / f'{node.script}.py'), 'args': ' '.join(node.words), **node.keys}
    if node.inputs:
        record['inputs'] = dict(node.inputs)
    if node.outputs:
        record['outputs'] = list(node.outputs)
    return record


def hertz(frequency: float) -> str:
    """Return the source of a timer input."""
    return f'dora/timer/millis/{round(1000 / frequency)}'


def crash(messages: int) -> Flow:
    """Return a source that dies so many messages after the consumer has got one, again and again, and a consumer."""
    crasher = Node(
        id='crasher',
        script='crasher',
        arguments=('consumer', messages),
        inputs={'tick': hertz(50)},
        outputs=('data',),
        keys={'restart_policy': 'always', 'restart_delay': 0},
    )
    return Flow(nodes=(crasher, Node(id='consumer', script='consumer', inputs={'data': 'crasher/data'})))


def silence(
    sources: int, *, input_timeout: float, talk: float, pause: float, health_check_interval: float | None
) -> Flow:
    """Return sources that send at 100 Hz for ``talk`` seconds, pause, and so on, all out of step, and a consumer."""
    cycle = talk + pause
    nodes = [
        Node(
            id=f'pauser{number}',
            script='pauser',
            arguments=(talk, pause, round(cycle * number / sources, 3)),
            inputs={'tick': hertz(100)},
            outputs=('data',),
        )
        for number in range(sources)
    ]
    inputs = {node.id: {'source': f'{node.id}/data', 'input_timeout': input_timeout} for node in nodes}
    return Flow(
        nodes=(*nodes, Node(id='consumer', script='consumer', inputs=inputs)), keys=_check(health_check_interval)
    )


def hang(
    count: int,
    *,
    health_check_timeout: float,
    first: float,
    apart: float,
    shape: str,
    health_check_interval: float | None,
) -> Flow:
    """Return sources that hang one after the other, the first one ``first`` seconds after its start."""
    nodes = tuple(
        Node(
            id=f'hanger{number}',
            script='hanger',
            arguments=(round(first + apart * number, 3), shape),
            outputs=('data',),
            keys={'health_check_timeout': health_check_timeout},
        )
        for number in range(count)
    )
    return Flow(nodes=nodes, keys=_check(health_check_interval))


def chain(length: int) -> Flow:
    """Return a source, relays and a consumer, ``length`` nodes in a row."""
    source = Node(id='node0', script='source', inputs={'tick': hertz(50)}, outputs=('data',))
    relays = [
        Node(id=f'node{number}', script='relay', inputs={'data': f'node{number - 1}/data'}, outputs=('data',))
        for number in range(1, length - 1)
    ]
    sink = Node(id='consumer', script='consumer', inputs={'data': f'node{length - 2}/data'})
    return Flow(nodes=(source, *relays, sink))


def idle(count: int) -> Flow:
    """Return nodes that do nothing but take a 10 Hz timer, under a health check that a slow start does not trip."""
    return Flow(
        nodes=tuple(
            Node(id=f'idler{number}', script='idler', inputs={'tick': hertz(10)}, keys={'health_check_timeout': 30.0})
            for number in range(count)
        )
    )


def _check(health_check_interval: float | None) -> dict[str, float]:
    return {} if health_check_interval is None else {'health_check_interval': health_check_interval}
