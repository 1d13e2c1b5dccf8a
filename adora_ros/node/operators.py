"""Hosts the operators of a node in one process: ``python -m adora_ros.node.operators``, started by the manager.

An operator is a Python file with a class ``Operator`` that has ``on_event(event, send_output)`` and returns a
``DoraStatus``. The operators of a node take turns on one thread. An exception ends the process with exit code 1; what
follows is a matter of the node's ``restart_policy``.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.compat.status import DoraStatus
from adora_ros.errors import AdoraError, NodeError
from adora_ros.node.api import Node
from adora_ros.node.config import descriptor, node_config

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType

    from adora_ros.transport.contract import NodeConfig, OperatorConfig

_INPUT_EVENTS = {'INPUT', 'INPUT_CLOSED', 'INPUT_RECOVERED'}
_SOURCE_EVENTS = {'NODE_RESTARTED', 'NODE_FAILED'}


class HostedOperator:
    """One operator while it has not finished.

    Args:
        operator_id: its id.
        operator: the user's object.
        inputs: the ids of its inputs, each with the node that feeds it, None for a timer and the like.

    """

    def __init__(self, operator_id: str, operator: Any, inputs: Mapping[str, str | None]) -> None:
        self.id = operator_id
        self.inputs = inputs
        self._operator = operator
        self._open = set(inputs)

    def events(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what an event of the node is for this operator."""
        kind = event['type']
        owner, _, input_id = str(event.get('id', '')).partition('/')
        if kind in _INPUT_EVENTS:
            if owner == self.id:
                yield {**event, 'id': input_id}
        elif kind in _SOURCE_EVENTS:
            yield from self._from_source(event)
        elif kind != 'STOP' or event['id'] == 'MANUAL' or self._open:
            yield dict(event)

    def handle(self, event: dict[str, Any], node: Node) -> DoraStatus:
        """Have the operator handle an event.

        Raises:
            NodeError: it returns something else than a status.
            Exception: what it raises.

        """

        def send_output(output_id: str, data: Any, metadata: Mapping[str, Any] | None = None) -> None:
            node.send_output(f'{self.id}/{output_id}', data, metadata)

        answer = self._operator.on_event(event, send_output)
        try:
            status = DoraStatus(answer.value)
        except (AttributeError, ValueError):
            msg = (
                f'on_event of operator {self.id!r} returned {answer!r}: '
                'return DoraStatus.CONTINUE, DoraStatus.STOP or DoraStatus.STOP_ALL'
            )
            raise NodeError(msg) from None
        if event['type'] == 'INPUT_CLOSED':
            self._open.discard(event['id'])
        elif event['type'] in {'INPUT', 'INPUT_RECOVERED'}:
            self._open.add(event['id'])
        return status

    def _from_source(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        fed = [input_id for input_id, node in self.inputs.items() if node == event['id']]
        if not fed:
            return
        if event['type'] == 'NODE_FAILED':
            affected = [name.partition('/')[2] for name in event['value']['affected_input_ids'] if self._owns(name)]
            yield {**event, 'value': {**event['value'], 'affected_input_ids': affected}}
        else:
            yield dict(event)

    def _owns(self, name: str) -> bool:
        return name.partition('/')[0] == self.id


def run(node: Node, operators: Iterable[HostedOperator]) -> None:
    """Hand every event of ``node`` to the operators that it is for, until they have finished or the node has to stop.

    Raises:
        Exception: what an operator raises.

    """
    left = list(operators)
    while left:
        event = node.next()
        if event is None:
            return
        for operator in tuple(left):
            for own in operator.events(event):
                status = operator.handle(own, node)
                if status is not DoraStatus.CONTINUE:
                    left.remove(operator)
                if status is DoraStatus.STOP_ALL:
                    node.stop_dataflow(f'operator {operator.id} returned STOP_ALL')
                if status is not DoraStatus.CONTINUE:
                    break


def load(config: OperatorConfig, inputs: Mapping[str, str | None], parsed: dict[str, Any]) -> HostedOperator:
    """Import the file of an operator and make its ``Operator``.

    Raises:
        NodeError: the file has no such class.
        Exception: what the file raises.

    """
    module = _module(Path(config.source), config.id)
    operator_class = getattr(module, 'Operator', None)
    if operator_class is None:
        msg = f'operator {config.id!r}: {config.source} has no class `Operator`; its on_event handles the events'
        raise NodeError(msg)
    operator = operator_class()
    operator.dataflow_descriptor = parsed
    return HostedOperator(config.id, operator, inputs)


def _module(path: Path, operator_id: str) -> ModuleType:
    """Return the module of a file, imported once under its own name, so that other files can import it, too."""
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, '__file__', None) == str(path):
        return known
    name = path.stem if known is None else f'{path.stem}__{operator_id}'
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f'operator {operator_id!r}: {path} is not a Python file; its name must end with .py'
        raise NodeError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _inputs(config: NodeConfig, operator_id: str) -> dict[str, str | None]:
    prefix = f'{operator_id}/'
    return {item.id[len(prefix) :]: item.node for item in config.inputs if item.id.startswith(prefix)}


def main() -> int:
    """Run the operators of this process and return its exit code."""
    try:
        config = node_config()
        parsed = descriptor(config)
        operators = [load(item, _inputs(config, item.id), parsed) for item in config.operators]
        run(Node(), operators)
    except AdoraError as error:
        sys.stderr.write(f'{error}\n')
        return 1
    except Exception:  # noqa: BLE001 - the node fails, and says why
        traceback.print_exc()
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
