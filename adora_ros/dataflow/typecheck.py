"""Whether the types that a file gives to inputs and outputs fit: warnings, with ``strict_types`` errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.dataflow.arrowtypes import TICK, TYPES_FOLDER, Types, own_types
from adora_ros.dataflow.model import NodeSource, TimerSource

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adora_ros.dataflow.model import InputSpec, NodeSpec
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.validate import Draft
    from adora_ros.dataflow.yamltree import Loc


def check_types(draft: Draft, nodes: Mapping[int, NodeSpec], directory: Path, report: Report) -> None:
    """Report what does not fit in a dataflow, whose nodes are given by their index in the file."""
    written = [node for _, node in draft.numbered()]
    if not any(node.input_types or node.output_types or node.output_metadata for node in written):
        return
    own, problems = own_types(directory / TYPES_FOLDER)
    for problem in problems:
        report.add(problem)
    rules = [(rule.from_, rule.to) for rule in draft.root.type_rules or ()]
    _Checker(draft, nodes, Types(own, rules), report).check()


class _Checker:
    def __init__(self, draft: Draft, nodes: Mapping[int, NodeSpec], types: Types, report: Report) -> None:
        self._draft = draft
        self._nodes = nodes
        self._types = types
        self._report = report
        self._strict = bool(draft.root.strict_types)
        self._typed: dict[tuple[str, str], str] = {}
        self._annotated: set[tuple[str, str]] = set()

    def check(self) -> None:
        for index, written in self._draft.numbered():
            node, loc = self._nodes[index], ('nodes', index)
            outputs = {port.id for port in node.outputs}
            whole = self._draft.is_whole(index, 'outputs', '?')
            self._ports(written.output_types or {}, outputs if whole else None, (*loc, 'output_types'), 'output')
            self._names(written.output_metadata or {}, outputs if whole else None, (*loc, 'output_metadata'), 'output')
            for output, urn in (written.output_types or {}).items():
                self._annotated.add((node.id, output))
                if self._types.unknown(urn) is None:
                    self._typed[node.id, output] = urn
        for index, written in self._draft.numbered():
            node, place = self._nodes[index], ('nodes', index, 'input_types')
            types = written.input_types or {}
            self._ports(types, set(written.inputs or ()), place, 'input')
            for port in node.inputs:
                if port.id in types and self._types.unknown(types[port.id]) is None:
                    self._edge(port, types[port.id], (*place, port.id))

    def _ports(self, types: Mapping[str, str], ports: set[str] | None, loc: Loc, kind: str) -> None:
        self._names(types, ports, loc, kind)
        for port, urn in types.items():
            problem = self._types.unknown(urn)
            if problem is not None:
                self._complain((*loc, port), problem)

    def _names(self, keys: Mapping[str, object], ports: set[str] | None, loc: Loc, kind: str) -> None:
        for port in keys:
            if ports is not None and port not in ports:
                self._complain((*loc, port), f'`{loc[-1]}` names `{port}`, which is no {kind} of the node')

    def _edge(self, port: InputSpec, wanted: str, loc: Loc) -> None:
        if isinstance(port.source, TimerSource):
            given: str | None = TICK
        elif isinstance(port.source, NodeSource):
            key = (port.source.node, port.source.output)
            given = self._typed.get(key)
            if given is None and key not in self._annotated and self._strict:
                words = (
                    f'input `{port.id}` is of type {wanted}, and `{port.source}` has no type; give it `output_types`'
                )
                self._complain(loc, words)
        else:
            return
        if given is not None and not self._types.compatible(given, wanted):
            self._complain(loc, f'input `{port.id}` is of type {wanted}, and `{port.source}` gives {given}')

    def _complain(self, loc: Loc, words: str) -> None:
        if self._strict:
            self._report.error(loc, words, key=True)
        else:
            self._report.warning(loc, words)
