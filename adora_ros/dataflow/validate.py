"""From the tree to the model of the file.

The parts that the model refuses are reported and left out, so that the rest can still be checked and all problems come
in one go. What was left out is remembered, so that its absence is not reported once more.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from adora_ros.dataflow.explain import PORT_DEPTH, explain, yaml_loc
from adora_ros.dataflow.schema import NodeYaml, RootYaml

if TYPE_CHECKING:
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.yamltree import Loc

_NODE_KEY = 3
"""Length of the path of a key of a node: ``nodes``, index, key."""


@dataclass
class Draft:
    """The model of a file, as far as it is valid."""

    root: RootYaml
    indices: tuple[int, ...]
    """For each node of ``root`` its index in the file."""
    broken: set[tuple[int, str]] = field(default_factory=set)
    """Index in the file and key of each part of a node that was left out."""
    nodes_lost: bool = False
    """Whether a node was left out."""

    def numbered(self) -> list[tuple[int, NodeYaml]]:
        """Return each node with its index in the file."""
        return list(zip(self.indices, self.root.nodes, strict=True))

    def is_whole(self, index: int, *keys: str) -> bool:
        """Return whether nothing of these parts of a node was left out."""
        return not any((index, key) in self.broken for key in keys)


def validate(report: Report) -> Draft | None:
    """Report what the model refuses and return the rest; None if nothing is left to check."""
    data = report.data
    if not isinstance(data, dict):
        what = 'the file is empty' if data is None else 'the file must be a mapping'
        report.error((), f'{what}; it needs `nodes`, a list of nodes')
        return None
    if isinstance(data.get('module'), dict):
        words = 'this file is a module; name it in the `module` of a node, and check the dataflow that has the node'
        report.error(('module',), words, key=True)
        return None
    try:
        root = RootYaml.model_validate(data)
        return Draft(root=root, indices=tuple(range(len(root.nodes))))
    except ValidationError as error:
        refused = _report(error, report)
    return _without(refused, data)


def _report(error: ValidationError, report: Report) -> list[tuple[Loc, str]]:
    refused: list[tuple[Loc, str]] = []
    for detail in error.errors(include_url=False):
        loc = yaml_loc(detail['loc'], report.data)
        refused.append((loc, detail['type']))
        message = explain(detail, loc, report.data)
        report.add(report.tree.problem(loc, message, key=detail['type'] == 'extra_forbidden'))
    return refused


def _without(refused: list[tuple[Loc, str]], data: dict[str, Any]) -> Draft | None:
    rest = copy.deepcopy(data)
    broken: set[tuple[int, str]] = set()
    lost: set[int] = set()
    for loc, kind in refused:
        if not loc or loc == ('nodes',):
            return None
        if loc[0] != 'nodes':
            rest.pop(loc[0], None)
        elif len(loc) < _NODE_KEY or loc[2] == 'id':
            lost.add(loc[1])
        else:
            _leave_out(rest['nodes'][loc[1]], loc, kind)
            broken.add((loc[1], '?' if kind == 'extra_forbidden' and len(loc) == _NODE_KEY else loc[2]))
    indices = tuple(index for index in range(len(rest['nodes'])) if index not in lost)
    rest['nodes'] = [rest['nodes'][index] for index in indices]
    return Draft(root=RootYaml.model_validate(rest), indices=indices, broken=broken, nodes_lost=bool(lost))


def _leave_out(node: dict[str, Any], loc: Loc, kind: str) -> None:
    part = node.get(loc[2])
    if loc[2] == 'inputs' and len(loc) >= PORT_DEPTH and isinstance(part, dict):
        part.pop(loc[3], None)
    elif kind != 'missing' or len(loc) > _NODE_KEY:
        node.pop(loc[2], None)
