"""A short way to write and read the messages that most are: a stream of numbers, as many as the last time.

All that differs between two such messages are the elements and the text of the metadata. What is around them is taken
from the first message of a kind, whose stream Arrow has written; another kind goes the long way of
:mod:`adora_ros.transport.codec`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

PLAIN = (
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.float16(), pa.float32(), pa.float64()),
)
"""The types whose arrays without nulls are nothing but their elements. Messages refer to them by their number here."""
_TYPES = {kind.id: (kind, kind.bit_width // 8) for kind in PLAIN}
"""By id, each of them and the bytes of an element."""
_PREFIX = struct.Struct('<Ii')
"""Of each message in a stream: a mark, and the bytes that describe it."""
_MARK = 0xFFFFFFFF
SIZE_LIMIT = 1024 * 1024
"""Bytes of elements from which on the way that is short here is not worth remembering."""
KINDS = 64
"""How many are remembered at most."""


@dataclass(frozen=True)
class Shape:
    """All messages of a kind."""

    kind: pa.DataType
    count: int
    """How many elements there are."""
    size: int
    """Bytes of the elements."""
    before: bytes
    """What comes before the text."""
    text: int
    """Bytes of metadata."""
    after: bytes
    """What comes between the text and the elements."""
    end: bytes
    """What comes after the elements."""


def plain_size(array: pa.Array) -> int | None:
    """Return the bytes of the elements of an array that is nothing but elements; None for another."""
    known = _TYPES.get(array.type.id)
    return None if known is None or array.null_count or not len(array) else len(array) * known[1]


def shape_of(array: pa.Array, message: bytes, start: int, text: bytes) -> Shape | None:
    """Return the shape of a message, None if it has none.

    Args:
        array: what is in it.
        message: a stream, and what comes before it.
        start: where the stream begins.
        text: the metadata in it; empty for none.

    """
    size = plain_size(array)
    if size is None or size > SIZE_LIMIT:
        return None
    mark, schema = _PREFIX.unpack_from(message, start)
    batch = start + _PREFIX.size + schema
    if mark != _MARK or batch + _PREFIX.size > len(message):
        return None
    head = batch + _PREFIX.size + _PREFIX.unpack_from(message, batch)[1]
    before, found, after = message[:head].rpartition(text) if text else (message[:head], b'', b'')
    if found != text or not pa.py_buffer(message[head : head + size]).equals(elements(array)):
        return None
    return Shape(_TYPES[array.type.id][0], len(array), size, before, len(text), after, message[head + size :])


def array_of(kind: pa.DataType, memory: Any) -> pa.Array:
    """Return an array of a type of :data:`PLAIN`, whose elements are a buffer."""
    data = pa.py_buffer(memory)
    return pa.Array.from_buffers(kind, data.size * 8 // kind.bit_width, [None, data])


class ShapeWriter:
    """Writes messages by the shapes that it has seen.

    This is done for each message, mostly after a pause in which other programs had the caches of the processor, so that
    every function called and every object touched costs several times what it does in a loop.
    """

    def __init__(self) -> None:
        self._shapes: dict[tuple[type, int, int], Shape] = {}

    def message(self, array: pa.Array, text: bytes) -> bytes | None:
        """Return the message for an array; None if the shape is not known."""
        shape = self._shapes.get((array.__class__, len(array), len(text)))
        if shape is None:
            return None
        validity, data = array.buffers()
        if validity is not None and array.null_count:
            return None
        if data.size != shape.size:
            data = elements(array)
        return b''.join((shape.before, text, shape.after, data, shape.end))

    def learn(self, array: pa.Array, message: bytes, start: int, text: bytes) -> None:
        """Take the shape of a message; see :func:`shape_of`.

        Arrow pads the elements of a slice with those that follow it, so that its streams are not all of one kind.
        """
        shape = shape_of(array, message, start, text)
        if shape is not None and not array.offset and array.buffers()[1].size == shape.size:
            if len(self._shapes) >= KINDS:
                self._shapes.clear()
            self._shapes[(array.__class__, len(array), len(text))] = shape


class ShapeReader:
    """Reads messages of the shape that it saw last."""

    def __init__(self) -> None:
        self._shape: Shape | None = None

    def read(self, message: bytes) -> tuple[pa.Array, bytes] | None:
        """Return the array in a message, whose memory it goes on using, and the metadata; None for another shape."""
        shape = self._shape
        if shape is None:
            return None
        start = len(shape.before)
        rest = start + shape.text
        head = rest + len(shape.after)
        if (
            len(message) != head + shape.size + len(shape.end)
            or not message.startswith(shape.before)
            or not message.startswith(shape.after, rest)
            or not message.endswith(shape.end)
        ):
            return None
        data = pa.py_buffer(message).slice(head, shape.size)
        return pa.Array.from_buffers(shape.kind, shape.count, [None, data]), message[start:rest]

    def learn(self, array: pa.Array, message: bytes, start: int, text: bytes) -> None:
        """Take the shape of a message that was read; see :func:`shape_of`."""
        self._shape = shape_of(array, message, start, text)


def elements(array: pa.Array) -> pa.Buffer:
    """Return the memory of the elements of an array for which there is a :func:`plain_size`."""
    width = _TYPES[array.type.id][1]
    data = array.buffers()[1]
    start, size = array.offset * width, len(array) * width
    return data if start == 0 and data.size == size else data.slice(start, size)
