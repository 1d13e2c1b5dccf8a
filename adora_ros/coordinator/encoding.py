"""Records as JSON and back; what comes back is checked as strictly as if a stranger had written it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from adora_ros.coordinator.records import KINDS, Part, Presence, Status, Wanted
from adora_ros.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import Enum

    from adora_ros.coordinator.records import Record, RecordT

MAX_RECORD = 64 * 1024 * 1024
"""Bytes of an encoded record, on the way in and on the way out."""


def encode(record: Record) -> bytes:
    """Return a record as JSON.

    Raises:
        RecordError: it is too large.

    """
    fields = {name: getattr(record, name) for name in _FIELDS[type(record)]}
    body = json.dumps(fields, separators=(',', ':'), default=dataclasses.asdict).encode('ascii')
    if len(body) > MAX_RECORD:
        name = f'{record.KIND}.{record.key}'
        msg = f'{name}: {len(body)} bytes are more than the {MAX_RECORD} of a record; shorten its descriptor'
        raise RecordError(msg)
    return body


def decode(cls: type[RecordT], body: bytes) -> RecordT:
    """Return the record that JSON stands for.

    Raises:
        RecordError: it stands for none.

    """
    try:
        data = json.loads(body)
    except ValueError as error:
        msg = f'not JSON: {error}'
        raise RecordError(msg) from error
    record: RecordT = _build(cls, data)
    return record


def _build(cls: Any, data: object) -> Any:
    if not isinstance(data, dict):
        msg = f'not an object: {data!r}'
        raise RecordError(msg)
    known = _FIELDS[cls]
    if data.keys() != known.keys():
        msg = f'its fields are {", ".join(data)}, not {", ".join(known)}'
        raise RecordError(msg)
    return cls(**{name: _READERS[known[name]](name, value) for name, value in data.items()})


def _plain(kind: type) -> Callable[[str, object], object]:
    def read(name: str, value: object) -> object:
        if type(value) is not kind:
            msg = f'{name} is {value!r}, not of type {kind.__name__}'
            raise RecordError(msg)
        return value

    return read


def _choice(kind: type[Enum]) -> Callable[[str, object], object]:
    def read(name: str, value: object) -> object:
        try:
            return kind(value)
        except ValueError as error:
            msg = f'{name}: {error}'
            raise RecordError(msg) from error

    return read


def _many(read: Callable[[str, object], object]) -> Callable[[str, object], object]:
    def read_all(name: str, value: object) -> object:
        if not isinstance(value, list):
            msg = f'{name} is {value!r}, not a list'
            raise RecordError(msg)
        return tuple(read(name, item) for item in value)

    return read_all


_FIELDS: dict[type, dict[str, str]] = {
    cls: {field.name: str(field.type) for field in dataclasses.fields(cls)} for cls in (*KINDS.values(), Part)
}
"""The names of the fields and their annotations."""
_READERS: dict[str, Callable[[str, object], object]] = {
    'str': _plain(str),
    'int': _plain(int),
    'bool': _plain(bool),
    'Status': _choice(Status),
    'Presence': _choice(Presence),
    'Wanted': _choice(Wanted),
    'tuple[str, ...]': _many(_plain(str)),
    'tuple[Part, ...]': _many(lambda _, item: _build(Part, item)),
}
"""How a value is read, by the annotation of its field."""
