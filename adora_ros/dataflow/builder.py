"""Writes dataflow files from Python.

The classes are those of ``dora.builder``; what they write is a dataflow for dora and for adora alike, unless keys that
only adora has are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from adora_ros.dataflow.loader import loads

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from adora_ros.dataflow.model import Dataflow

DEFAULT_NAME = 'dora-dataflow'


class DataflowBuilder:
    """A dataflow that is being put together.

    Args:
        name: name of the dataflow; it is not part of the file.
        keys: root keys of the file, such as ``env`` or ``exit_when_nodes_finish``.

    """

    def __init__(self, name: str = DEFAULT_NAME, **keys: Any) -> None:
        self.name = name
        self.keys = keys
        self.nodes: list[Node] = []

    def add_node(self, id: str, **kwargs: Any) -> Node:  # noqa: A002 - dora's name
        """Add a node with the id ``id`` and further keys of the file, such as ``path`` or ``restart_policy``."""
        node = Node(id, **kwargs)
        self.nodes.append(node)
        return node

    def to_dict(self) -> dict[str, Any]:
        """Return the dataflow as it is in the file."""
        return {**self.keys, 'nodes': [node.to_dict() for node in self.nodes]}

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the text of the file; with a ``path``, write it there and return None.

        Raises:
            OSError: the file cannot be written.

        """
        text: str = yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)
        if path is None:
            return text
        Path(path).write_text(text, encoding='utf-8')
        return None

    def validate(self, folder: str | os.PathLike[str] = '.') -> Dataflow:
        """Check the dataflow as ``adora validate`` does, with paths relative to ``folder``.

        Raises:
            DataflowError: it cannot be run; the text has one line a problem.

        """
        return loads(self.to_yaml() or '', path=Path(folder).absolute() / f'{self.name}.yml', name=self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return None


@dataclass(frozen=True)
class Output:
    """An output of a node, to be used as the source of an input."""

    node: Node
    output_id: str

    def __str__(self) -> str:
        return f'{self.node.id}/{self.output_id}'


class Node:
    """A node of a :class:`DataflowBuilder`; its methods return the node itself, so that calls can be chained."""

    def __init__(self, id: str, **kwargs: Any) -> None:  # noqa: A002 - dora's name
        self.id = id
        self.config: dict[str, Any] = {'id': id, **kwargs}
        self.operators: list[Operator] = []

    def path(self, path: str) -> Node:
        """Set the script or program."""
        return self._set(path=path)

    def args(self, args: str) -> Node:
        """Set the arguments of the command line."""
        return self._set(args=args)

    def env(self, env: Mapping[str, Any]) -> Node:
        """Set the environment variables."""
        return self._set(env=dict(env))

    def build(self, build_command: str) -> Node:
        """Set the command that builds the node."""
        return self._set(build=build_command)

    def git(self, url: str, branch: str | None = None, tag: str | None = None, rev: str | None = None) -> Node:
        """Set the git repository, and what to check out of it."""
        given = {'branch': branch, 'tag': tag, 'rev': rev}
        return self._set(git=url, **{key: value for key, value in given.items() if value})

    def ros(self, package: str | None = None, executable: str | None = None, **options: Any) -> Node:
        """Run an existing ROS 2 node: its package and executable, and further keys of ``ros:``."""
        given = {'package': package, 'executable': executable, **options}
        return self._set(ros={key: value for key, value in given.items() if value is not None})

    def add_operator(self, operator: Operator) -> Node:
        """Add an operator."""
        self.operators.append(operator)
        return self

    def add_output(self, output_id: str) -> Output:
        """Add an output, once, and return it."""
        outputs = self.config.setdefault('outputs', [])
        if output_id not in outputs:
            outputs.append(output_id)
        return Output(self, output_id)

    def add_input(
        self,
        input_id: str,
        source: str | Output,
        queue_size: int | None = None,
        queue_policy: str | None = None,
        **options: Any,
    ) -> Node:
        """Add an input.

        Args:
            input_id: id of the input.
            source: ``node/output``, a timer such as ``dora/timer/millis/100``, or an output.
            queue_size: how many messages may wait, 1 or more.
            queue_policy: ``drop_oldest`` or ``backpressure``.
            options: further keys, such as ``input_timeout`` in seconds.

        Raises:
            ValueError: ``queue_size`` or ``queue_policy`` is none of these.

        """
        if queue_policy not in {None, 'drop_oldest', 'backpressure'}:
            msg = f'queue_policy is {queue_policy!r}: use drop_oldest or backpressure'
            raise ValueError(msg)
        if queue_size is not None and queue_size < 1:
            msg = f'queue_size is {queue_size}: use 1 or more'
            raise ValueError(msg)
        given = {'queue_size': queue_size, 'queue_policy': queue_policy, **options}
        more = {key: value for key, value in given.items() if value is not None}
        self.config.setdefault('inputs', {})[input_id] = {'source': str(source), **more} if more else str(source)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the node as it is in the file."""
        operators = [operator.to_dict() for operator in self.operators]
        return {**self.config, 'operators': operators} if operators else dict(self.config)

    def _set(self, **keys: Any) -> Node:
        self.config.update(keys)
        return self


class Operator:
    """An operator of a :class:`Node`; the arguments are the keys of the file."""

    def __init__(
        self,
        id: str,  # noqa: A002 - dora's name
        name: str | None = None,
        description: str | None = None,
        build: str | None = None,
        python: str | None = None,
        shared_library: str | None = None,
        send_stdout_as: str | None = None,
        **keys: Any,
    ) -> None:
        self.id = id
        given = {
            'id': id,
            'name': name,
            'description': description,
            'build': build,
            'python': python,
            'shared-library': shared_library,
            'send_stdout_as': send_stdout_as,
            **keys,
        }
        self.config = {key: value for key, value in given.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return the operator as it is in the file."""
        return dict(self.config)
