"""What the model complains about, in words and with its place in the file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from adora_ros.dataflow import schema
from adora_ros.dataflow.problems import nearest
from adora_ros.dataflow.yamlmodel import FORM_ERROR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core import ErrorDetails

    from adora_ros.dataflow.yamltree import Loc

PORT_DEPTH = 4
"""Length of the path of a port: ``nodes``, index, ``inputs`` or ``outputs``, name."""

_EXPECTED = {
    'int_type': 'a whole number',
    'float_type': 'a number',
    'finite_number': 'a finite number',
    'bool_type': 'true or false',
    'string_type': 'text',
    'list_type': 'a list',
    'dict_type': 'a mapping',
    'model_type': 'a mapping',
}
_FORMS: dict[tuple[str, Any], str] = {
    ('model_type', '(map)'): 'text or a mapping',
    ('dict_type', '(map)'): 'text or a mapping',
    ('list_type', '(list)'): 'a list or a mapping',
    ('string_type', '(text)'): 'text or a list',
}
"""What is expected where several forms are possible, by the form that the value was taken for."""
_LIMITS = {'greater_than': '>', 'greater_than_equal': '>=', 'less_than': '<', 'less_than_equal': '<='}
_LIMIT_KEYS = {'greater_than': 'gt', 'greater_than_equal': 'ge', 'less_than': 'lt', 'less_than_equal': 'le'}


def yaml_loc(loc: Loc, data: Any) -> Loc:
    """Return the path in the file for one of the model, whose unions add the tag of a form to it."""
    path: list[Any] = []
    here = data
    for step in loc:
        if (isinstance(here, dict) and step in here) or (
            isinstance(here, list) and isinstance(step, int) and step < len(here)
        ):
            here = here[step]
        elif isinstance(step, str) and step.startswith(('(', '[')):
            continue
        path.append(step)
    return tuple(path)


def whereabouts(loc: Loc, data: Any) -> str:
    """Return the words that say which node and port a path is about, such as ``node `a`: input `b`: ``."""
    words = ''
    if len(loc) > 1 and loc[0] == 'nodes' and isinstance(loc[1], int):
        words = f'{_node_words(loc[1], data)}: '
        if _is_port(loc[:PORT_DEPTH]):
            words += f'{loc[2][:-1]} `{_port_name(loc, data)}`: '
    return words


def explain(error: ErrorDetails, loc: Loc, data: Any, *, root: type[BaseModel] = schema.RootYaml) -> str:
    """Return one line about a validation error at ``loc`` in the file."""
    kind = error['type']
    subject = _subject(loc)
    if kind == 'extra_forbidden':
        return whereabouts(loc[:-1], data) + _unknown_key(loc, error['loc'], root)
    if kind == 'missing':
        return whereabouts(loc[:-1], data) + f'`{loc[-1]}` is missing'
    given = describe(error['input'])
    return f'{whereabouts(loc, data)}{subject} must be {_expected(error)}, got {given}{_hint(error)}'


def describe(value: Any) -> str:
    """Return a value as words for a message."""
    if value is None:
        return 'nothing'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'the text "{value}"'
    if isinstance(value, (list, dict)):
        return 'a list' if isinstance(value, list) else 'a mapping'
    if isinstance(value, float) and not math.isfinite(value):
        return f'.{value}'.replace('.-', '-.')
    return str(value)


def _is_port(loc: Loc) -> bool:
    return len(loc) == PORT_DEPTH and loc[0] == 'nodes' and loc[2] in {'inputs', 'outputs'}


def _node_words(index: int, data: Any) -> str:
    try:
        node_id = data['nodes'][index]['id']
    except (LookupError, TypeError):
        node_id = None
    return f'node `{node_id}`' if isinstance(node_id, str) else f'node number {index + 1}'


def _port_name(loc: Loc, data: Any) -> Any:
    if isinstance(loc[3], int):
        port = data['nodes'][loc[1]][loc[2]][loc[3]]
        name = port.get('id') if isinstance(port, dict) else port
        return name if isinstance(name, str) else loc[3] + 1
    return loc[3]


def _subject(loc: Loc) -> str:
    if not loc:
        return 'the file'
    if _is_port(loc):
        return 'it'
    if isinstance(loc[-1], int):
        return 'it' if loc[:-1] == ('nodes',) else f'item {loc[-1] + 1} of `{loc[-2]}`'
    return f'`{loc[-1]}`'


def _expected(error: ErrorDetails) -> str:
    kind = error['type']
    context: Mapping[str, Any] = error.get('ctx', {})
    if kind in _LIMITS:
        limit = context[_LIMIT_KEYS[kind]]
        return f'{_LIMITS[kind]} {limit:g}' if isinstance(limit, float) else f'{_LIMITS[kind]} {limit}'
    if kind in {'literal_error', 'enum'}:
        return str(context['expected']).replace("'", '`')
    if kind == FORM_ERROR:
        return str(context['expected'])
    form = _FORMS.get((kind, error['loc'][-1] if error['loc'] else None))
    if form is not None:
        return form
    return _EXPECTED.get(kind, error['msg'])


def _hint(error: ErrorDetails) -> str:
    value = error['input']
    kind = error['type']
    if kind == 'literal_error' and isinstance(value, str):
        options = str(error.get('ctx', {}).get('expected', '')).replace(' or ', ', ').replace("'", '').split(', ')
        return nearest(value, options)
    if kind in {'int_type', 'float_type', 'bool_type'} and isinstance(value, str) and _is_plain(value, kind):
        return '; remove the quotes'
    if kind == 'string_type' and isinstance(value, (int, float)):
        return '; write it in quotes'
    return ''


def _is_plain(text: str, kind: str) -> bool:
    if kind == 'bool_type':
        return text in {'true', 'false'}
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unknown_key(loc: Loc, model_loc: Loc, root: type[BaseModel]) -> str:
    key = str(loc[-1])
    known = {key for model in _models_at(model_loc[:-1], root) for key in schema.keys_of(model)}
    for model, place in schema.PLACES:
        if key in schema.keys_of(model):
            return f'unknown key `{key}`; it belongs to {place}'
    return f'unknown key `{key}`{nearest(key, known) or "; known: " + ", ".join(sorted(known))}'


def _models_at(model_loc: Loc, root: type[BaseModel]) -> tuple[type[BaseModel], ...]:
    """Return the models that may describe the mapping at a path."""
    models: tuple[type[BaseModel], ...] = (root,)
    for step in model_loc:
        fields = [info for model in models for name, info in model.model_fields.items() if step == (info.alias or name)]
        models = tuple(found for info in fields for found in _models_in(info.annotation)) or models
    return models


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
