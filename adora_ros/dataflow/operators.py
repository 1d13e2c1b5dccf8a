"""Operators: parts of a node that share its process.

A node with operators is resolved as one node whose inputs and outputs are those of its operators, each named
``operator/port`` as in dora.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import programs, values
from adora_ros.dataflow.model import OperatorSpec
from adora_ros.dataflow.portschema import ListedOutputYaml, OutputYaml
from adora_ros.dataflow.schema import PythonSourceYaml
from adora_ros.dataflow.sources import check_data_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import NodeYaml, OperatorYaml
    from adora_ros.dataflow.validate import Draft
    from adora_ros.dataflow.yamltree import Loc

DEFAULT_ID = 'op'
"""Id of the one operator of a node with ``operator``, unless it has one."""
_OF_OPERATORS = ('inputs', 'outputs', 'input_types', 'output_types', 'output_metadata', 'output_framing', 'pattern')
"""Keys of a node that its operators have instead."""
_ONCE = ('send_stdout_as', 'send_logs_as', 'min_log_level', 'max_log_size', 'max_rotated_files')
"""Keys that only one operator of a node can have, since there is one process."""
_SOURCES = {
    'shared_library': 'operators in shared libraries are not supported; make it a node with a `path`',
    'wasm': 'operators in WebAssembly are not supported; make it a node with a `path`',
}


def operators_of(node: NodeYaml, loc: Loc) -> list[tuple[str, OperatorYaml, Loc]]:
    """Return the id, the operator and its place for each operator of a node."""
    if node.operator is not None:
        return [(node.operator.id or DEFAULT_ID, node.operator, (*loc, 'operator'))]
    return [
        (str(operator.id), operator, (*loc, 'operators', index)) for index, operator in enumerate(node.operators or ())
    ]


def with_operators(draft: Draft, report: Report) -> Draft:
    """Return the draft with the inputs and outputs of operators as those of their nodes; problems are reported."""
    nodes = [
        _merged(node, ('nodes', index), report) if operators_of(node, ()) else node for index, node in draft.numbered()
    ]
    return replace(draft, root=draft.root.model_copy(update={'nodes': nodes}))


def resolve_operators(
    node: NodeYaml, loc: Loc, directory: Path, env: Mapping[str, str], report: Report, *, built: bool
) -> tuple[OperatorSpec, ...]:
    """Return the operators of a node; what is in error is reported, a missing file only if all is ``built``."""
    found = []
    for operator_id, operator, place in operators_of(node, loc):
        source = _source(operator, place, directory, env, report, built=built)
        if source is not None:
            found.append(OperatorSpec(id=operator_id, source=source))
    return tuple(found)


def _merged(node: NodeYaml, loc: Loc, report: Report) -> NodeYaml:
    _check_keys(node, loc, report)
    taken: dict[str, Any] = {key: {} for key in _OF_OPERATORS if key != 'pattern'}
    builds = []
    for operator_id, operator, place in operators_of(node, loc):
        _check_id(operator_id, place, [other for other, _, _ in operators_of(node, loc)], report)
        for key, port, value, where in _ports(operator, place):
            taken[key][f'{operator_id}/{port}'] = value
            report.tree.alias((*loc, key, f'{operator_id}/{port}'), where)
        for key in _ONCE:
            given = getattr(operator, key)
            if given is None:
                continue
            if key in taken:
                report.error(
                    (*place, key), f'`{key}` is given for another operator of the node too; they share a process'
                )
            taken[key] = f'{operator_id}/{given}' if key.endswith('_as') else given
            report.tree.alias((*loc, key), (*place, key))
        builds += [operator.build] if operator.build else []
    if builds:
        taken['build'] = '\n'.join(builds)
    return node.model_copy(update={key: value for key, value in taken.items() if value})


def _ports(operator: OperatorYaml, loc: Loc) -> Iterator[tuple[str, str, Any, Loc]]:
    """Yield key of the node, port, what is written of it, and where."""
    for key in _OF_OPERATORS:
        written = getattr(operator, key)
        if isinstance(written, dict):
            yield from ((key, port, value, (*loc, key, port)) for port, value in written.items())
        elif isinstance(written, list):
            for index, item in enumerate(written):
                port = item.id if isinstance(item, ListedOutputYaml) else item
                value = OutputYaml(**item.model_dump(exclude={'id'})) if isinstance(item, ListedOutputYaml) else None
                yield key, port, value, (*loc, key, index)


def _check_keys(node: NodeYaml, loc: Loc, report: Report) -> None:
    for key in ('path', 'ros', 'ros2', 'args', 'git', *(('operators',) if node.operator is not None else ())):
        if getattr(node, key) is not None:
            report.error((*loc, key), f'`{key}` and operators exclude each other; remove one', key=True)
    for key in (*_OF_OPERATORS, 'build', *_ONCE):
        if getattr(node, key) is not None:
            report.error((*loc, key), f'`{key}` belongs to an operator of the node', key=True)


def _check_id(operator_id: str, loc: Loc, ids: list[str], report: Report) -> None:
    try:
        check_data_id(operator_id)
    except ValueError as error:
        report.error((*loc, 'id'), str(error))
    if '/' in operator_id:
        report.error((*loc, 'id'), f'the operator id `{operator_id}` must not have a slash in it')
    if ids.count(operator_id) > 1:
        report.error((*loc, 'id'), f'the operator id `{operator_id}` is given twice')


def _source(
    operator: OperatorYaml, loc: Loc, directory: Path, env: Mapping[str, str], report: Report, *, built: bool
) -> Path | None:
    for key, words in _SOURCES.items():
        if getattr(operator, key) is not None:
            report.error((*loc, key.replace('_', '-')), words, key=True)
            return None
    python = operator.python
    if python is None:
        report.error(loc, 'the operator has nothing to run; give it `python: file.py`')
        return None
    text, place = (python, (*loc, 'python')) if isinstance(python, str) else (python.source, (*loc, 'python', 'source'))
    if isinstance(python, PythonSourceYaml) and python.conda_env is not None:
        words = (
            '`conda_env` is not supported; run adora in that environment, or make it a node whose `path` is its python'
        )
        report.error((*loc, 'python', 'conda_env'), words, key=True)
    if text.startswith(('http://', 'https://')):
        report.error(place, 'a URL as the source of an operator is not supported; fetch the file yourself')
        return None
    text = values.expand(text, env, strict=False)
    try:
        return programs.find_file(text, directory)
    except ValueError as error:
        if built:
            hint = '; run `adora build` first' if operator.build else ''
            report.error(place, f'{error}{hint}')
        return programs.absolute(text, directory)
