"""The metadata of a message as JSON that keeps the types dora knows.

A JSON object with ``timestamp`` (nanoseconds since the Unix epoch, when it was sent), ``incarnation`` and ``seq`` of
the sender, and ``parameters``: what the user gave. Two kinds of value that JSON lacks are objects with one key:
``{"datetime": "2026-01-31T12:00:00+00:00"}`` and ``{"float": "nan"}`` (or ``inf``, ``-inf``).
"""

from __future__ import annotations

import json
import math
import numbers
import os
import re
import time
import uuid
import warnings
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from adora_ros.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView

TIMESTAMP_KEY = 'timestamp'

REQUEST_ID = 'request_id'
"""Says which request a response belongs to."""
GOAL_ID = 'goal_id'
"""Says which goal of an action feedback and a result belong to."""
GOAL_STATUS = 'goal_status'
"""In the result of an action, one of :data:`FINAL_STATUSES`."""
SUCCEEDED = 'succeeded'
ABORTED = 'aborted'
CANCELED = 'canceled'
FINAL_STATUSES = frozenset({SUCCEEDED, ABORTED, CANCELED})
FLUSH = 'flush'
"""True on a message before which the receiver drops what waits on the same input."""
FLUSH_TEXT = b'"flush":true'
"""Is in every message whose metadata says so, and rarely in another one."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_INT64 = range(-(2**63), 2**63)
_STEP = 32
"""The JSON is padded with spaces to a multiple of this many characters, so that most messages are of one length."""
_WITHOUT_PARAMETERS = re.compile(r'{"timestamp":([0-9]{1,19}),"incarnation":([0-9]{1,9}),"seq":([0-9]{1,18}) *}')
"""What most texts are, told faster by this than by a parser of JSON."""
_encode = json.JSONEncoder(separators=(',', ':')).encode


class Stamp(NamedTuple):
    """What identifies a message."""

    timestamp: int
    """Nanoseconds since the Unix epoch, when it was sent."""
    incarnation: int | None = 0
    """Of the sending node; None for a message that no repeat can be told of."""
    seq: int = 0
    """Number of the message among those of its output and incarnation, so that a repeat can be told."""


def new_request_id() -> str:
    """Return a new id for a request or goal: a UUID of version 7, which sorts by time (RFC 9562, section 5.7)."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), 'big')
    number = (milliseconds & (1 << 48) - 1) << 80 | random
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))


def utc(timestamp: int) -> datetime:
    """Return nanoseconds since the Unix epoch as an aware datetime, to the microsecond below."""
    return _EPOCH + timedelta(microseconds=timestamp // 1000)


def pack(parameters: Mapping[str, Any] | None, stamp: Stamp) -> str:
    """Return the JSON for a message.

    As in dora, a parameter is a bool, an int of 64 bits, a float, a str, a datetime (a naive one is local time) or a
    list or tuple of them, and any other value is sent as its text, with a warning. NumPy scalars and arrays of one
    dimension count as what they hold.

    Raises:
        TransportError: ``parameters`` is not a mapping, a key is not a str, or an int does not fit 64 bits.

    """
    head = f'{{"timestamp":{stamp.timestamp}'
    if stamp.incarnation is not None:
        head = f'{head},"incarnation":{stamp.incarnation},"seq":{stamp.seq}'
    if parameters:
        plain = {_checked(key): _parameter(key, value) for key, value in _items(parameters)}
        head = f'{head},"parameters":{_encode(plain)}'
    return head.ljust(-(-len(head) // _STEP) * _STEP) + '}'


def unpack(text: bytes | str) -> tuple[dict[str, Any], int | None, int | None]:
    """Return what :func:`pack` wrote: metadata as in dora's events, incarnation and seq.

    A ``timestamp`` among the parameters stands in for the one of the sender, as in dora: a node that hands the
    metadata of an input on to its output keeps the time of the origin.

    Raises:
        TransportError: ``text`` is not such JSON.

    """
    try:
        if isinstance(text, bytes):
            text = text.decode()
        plain = _WITHOUT_PARAMETERS.fullmatch(text)
        if plain is not None:
            return {TIMESTAMP_KEY: utc(int(plain[1]))}, int(plain[2]), int(plain[3])
        raw = json.loads(text)
        metadata: dict[str, Any] = {TIMESTAMP_KEY: utc(raw['timestamp'])}
        for key, value in raw.get('parameters', {}).items():
            metadata[key] = _restore(value) if isinstance(value, (dict, list)) else value
        return metadata, raw.get('incarnation'), raw.get('seq')
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        msg = f'metadata of a message is not readable ({error}): {text[:80]!r}'
        raise TransportError(msg) from error


def _items(parameters: Any) -> ItemsView[Any, Any]:
    if isinstance(parameters, Mapping):
        return parameters.items()
    msg = f'metadata has to be a dict, not {type(parameters).__name__}: send_output(id, data, {{"key": value}})'
    raise TransportError(msg)


def _checked(key: Any) -> str:
    if isinstance(key, str):
        return key
    msg = f'metadata key {key!r} is of type {type(key).__name__}: use a str'
    raise TransportError(msg)


def _parameter(key: str, value: Any) -> Any:
    try:
        if isinstance(value, (list, tuple)):
            return [_scalar(item) for item in value]
        if _is_numpy(value):
            items = value.tolist()
            return [_scalar(item) for item in items] if isinstance(items, list) else _scalar(items)
        return _scalar(value)
    except OverflowError as error:
        msg = f'metadata {key!r} does not fit a signed integer of 64 bits: send it as a str or a float'
        raise TransportError(msg) from error
    except TypeError:
        warnings.warn(
            f'metadata {key!r} of type {type(value).__name__} is sent as text: '
            'use bool, int, float, str, datetime or a list of them',
            RuntimeWarning,
            stacklevel=2,
        )
        return str(value)


def _is_numpy(value: Any) -> bool:
    return type(value).__module__ == 'numpy'


def _scalar(value: Any) -> Any:
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        if int(value) not in _INT64:
            raise OverflowError
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else {'float': str(number)}
    if isinstance(value, datetime):
        return {'datetime': value.astimezone(timezone.utc).isoformat()}
    raise TypeError


_UNTAG: dict[str, Callable[[str], Any]] = {'datetime': datetime.fromisoformat, 'float': float}


def _restore(value: Any) -> Any:
    if isinstance(value, list):
        return [_restore(item) for item in value]
    if isinstance(value, dict):
        ((tag, text),) = value.items()
        return _UNTAG[tag](text)
    return value
