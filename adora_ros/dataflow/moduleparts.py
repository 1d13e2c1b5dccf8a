"""The parts of a node, as it is written, that are different when it belongs to a module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adora_ros.dataflow.yamltree import Loc

_UNTOUCHED = ('dynamic', 'shell')
_REFERENCE = re.compile(r'\$\{_param\.([^}]*)\}|\$PARAM_([A-Za-z0-9_]*)')


def input_maps(node: dict[str, Any]) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """Yield the place in a node and the inputs of the node itself and of each operator."""
    for place, part in _parts(node):
        if isinstance(part.get('inputs'), dict):
            yield (*place, 'inputs'), part['inputs']


def output_refs(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each output and how a source names it behind the node."""
    for place, part in _parts(node):
        prefix = f'{part.get("id")}/' if place[:1] == ('operators',) else ''
        outputs = part.get('outputs')
        for item in outputs if isinstance(outputs, (list, dict)) else ():
            name = item.get('id') if isinstance(item, dict) else item
            if isinstance(name, str):
                yield name, f'{prefix}{name}'


def node_paths(node: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each mapping and key in a node whose value is a path relative to the file; those in a clone are not."""
    if 'git' not in node:
        yield from _relative(node, 'path')
    for place, part in _parts(node):
        if place:
            yield from _relative(part, 'python')
            if isinstance(part.get('python'), dict):
                yield from _relative(part['python'], 'source')
    ros = node.get('ros')
    if isinstance(ros, dict):
        yield from _relative(ros, 'parameters')
        if 'package' not in ros:
            yield from _relative(ros, 'executable')


def merged_input(inner: Any, outer: Any) -> Any:
    """Return an input of a node in a module with the source that the module is given for it.

    What the input says inside counts more than what is said outside.
    """
    if not isinstance(inner, dict):
        return outer
    given = dict(outer) if isinstance(outer, dict) else {'source': outer}
    return {**given, **{key: value for key, value in inner.items() if key != 'source'}}


def prepend_build(node: dict[str, Any], build: str) -> None:
    """Have a node, or its operators, built by ``build`` first."""
    parts = [part for place, part in _parts(node) if place] or [node]
    for part in parts:
        own = part.get('build')
        part['build'] = f'{build}\n{own}' if isinstance(own, str) else build


def with_params(node: dict[str, Any], params: Mapping[str, Any]) -> None:
    """Give a node the parameters of its module: in ``args`` and as environment variables ``PARAM_<NAME>``."""
    texts = {name: str(value) for name, value in params.items()}
    upper = {name.upper(): value for name, value in texts.items()}

    def replace(match: re.Match[str]) -> str:
        found = texts.get(match[1]) if match[1] is not None else upper.get(match[2])
        return match[0] if found is None else found

    if isinstance(node.get('args'), str):
        node['args'] = _REFERENCE.sub(replace, node['args'])
    node['env'].update({f'PARAM_{name}': value for name, value in upper.items()})


def _parts(node: dict[str, Any]) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """Yield the node and its operators, each with its place in the node."""
    yield (), node
    if isinstance(node.get('operator'), dict):
        yield ('operator',), node['operator']
    operators = node.get('operators')
    for index, operator in enumerate(operators if isinstance(operators, list) else ()):
        if isinstance(operator, dict):
            yield ('operators', index), operator


def _relative(holder: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], str]]:
    text = holder.get(key)
    if isinstance(text, str) and text and text not in _UNTOUCHED and not text.startswith('/') and '://' not in text:
        yield holder, key
