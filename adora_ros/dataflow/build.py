"""What has to be done before the nodes of a dataflow can run: their ``build`` lines."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow.loader import read
from adora_ros.dataflow.modules import unfold_modules
from adora_ros.dataflow.names import ros_name
from adora_ros.dataflow.problems import DataflowErrors
from adora_ros.dataflow.report import Report
from adora_ros.dataflow.validate import validate
from adora_ros.dataflow.values import env_text, expand
from adora_ros.dataflow.yamltree import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adora_ros.dataflow.schema import NodeYaml


@dataclass(frozen=True, kw_only=True)
class NodeBuild:
    """What builds one node.

    Attributes:
        node: Its id.
        commands: Command lines, quoted as in a shell, to run one after another without one.
        env: Environment variables for them, on top of those of the process.

    """

    node: str
    commands: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class BuildPlan:
    """What builds a dataflow.

    Attributes:
        name: Name of the dataflow.
        folder: Where the commands run: that of the file.
        nodes: The nodes that are built, in the order of the file.

    """

    name: str
    folder: Path
    nodes: tuple[NodeBuild, ...]


def build_plan(path: Path | str, *, name: str | None = None) -> BuildPlan:
    """Return what builds a dataflow; the files of its nodes, which that may make, need not be there.

    Args:
        path: The YAML file.
        name: Name of the dataflow; the file's stem unless given.

    Raises:
        DataflowErrors: what is wrong with the keys and values of the file.
        ValueError: an environment variable is not set.

    """
    file = Path(path).absolute()
    tree, _ = unfold_modules(parse(read(file), file))
    report = Report(tree)
    draft = validate(report)
    if draft is None:
        raise DataflowErrors(report.problems)
    report.raise_errors()
    shared = _env(draft.root.env or {})
    nodes = tuple(
        NodeBuild(node=node.id, commands=commands, env={**shared, **_env(node.env or {})})
        for node in draft.root.nodes
        if (commands := tuple(_commands(node)))
    )
    return BuildPlan(name=ros_name(file.stem if name is None else name), folder=file.parent, nodes=nodes)


def _commands(node: NodeYaml) -> Iterator[str]:
    parts = (node, *([node.operator] if node.operator else ()), *(node.operators or ()))
    for part in parts:
        for line in (part.build or '').splitlines():
            if line.strip():
                yield line.strip()


def _env(written: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: expand(value, os.environ, strict=True) if isinstance(value, str) else env_text(value)
        for name, value in written.items()
    }
