"""Arrow values as bytes and back.

A message is one Arrow IPC stream of one record batch with one column named ``value``. The batch's custom metadata has
the message's metadata under the key ``adora`` (see :mod:`adora_ros.transport.metadata`). Anything that reads Arrow IPC
reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from adora_ros.errors import TransportError
from adora_ros.transport.metadata import TIMESTAMP_KEY, Stamp, pack, unpack, utc
from adora_ros.transport.shapes import array_of

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMN = 'value'
METADATA_KEY = b'adora'


class Decoded(NamedTuple):
    """A message as a node's event shows it."""

    value: Any
    metadata: dict[str, Any]
    """Parameters of the sender and ``timestamp``, an aware datetime in UTC."""
    incarnation: int | None = None
    """Of the sending node; None where the message does not carry it."""
    seq: int | None = None
    message: Any = None
    """The ROS message that the value is the Arrow form of; None on a port without a ``type``."""


def encode(value: Any, parameters: Mapping[str, Any] | None, *, stamp: Stamp) -> pa.Buffer:
    """Return ``value`` and its metadata as bytes.

    Args:
        value: an Arrow array of any type; a chunked one is joined, a record batch becomes a struct array; bytes, a
            bytearray or a contiguous memoryview become an array of uint8.
        parameters: the user's metadata.
        stamp: identifies the message.

    Raises:
        TransportError: the value is none of these, or the metadata cannot be carried.

    """
    return stream(as_array(value), pack(parameters, stamp))


def stream(array: pa.Array, metadata: str) -> pa.Buffer:
    """Return an array and packed metadata as bytes.

    Raises:
        TransportError: Arrow IPC cannot carry the array.

    """
    sink = pa.BufferOutputStream()
    write(array, sink, {METADATA_KEY: metadata})
    return sink.getvalue()


def measure(array: pa.Array) -> int:
    """Return how many bytes :func:`write` writes without metadata.

    Raises:
        TransportError: Arrow IPC cannot carry the value.

    """
    sink = pa.MockOutputStream()
    write(array, sink)
    return int(sink.size())


def write(array: pa.Array, sink: Any, metadata: Mapping[bytes, str] | None = None) -> None:
    """Write an array as a stream of one record batch.

    Args:
        array: the value.
        sink: a writable Arrow file.
        metadata: of the batch.

    Raises:
        TransportError: Arrow IPC cannot carry the value.

    """
    schema = pa.schema([pa.field(COLUMN, array.type)])
    try:
        batch = pa.RecordBatch.from_arrays([array], schema=schema)
        with pa.RecordBatchStreamWriter(sink, schema) as writer:
            writer.write_batch(batch, metadata)
    except pa.ArrowException as error:
        msg = f'Arrow IPC cannot carry a value of type {array.type}: {_one_line(error)}'
        raise TransportError(msg) from error


def as_array(value: Any) -> pa.Array:
    """Return what is sent for ``value`` (see :func:`encode`).

    Raises:
        TransportError: the value is not one that can be sent.

    """
    if isinstance(value, pa.Array):
        return value
    if isinstance(value, pa.ChunkedArray):
        return _joined(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _contiguous(value)
    if isinstance(value, pa.RecordBatch):
        return value.to_struct_array()
    if isinstance(value, pa.Table):
        hint = 'send value.to_struct_array()'
    elif isinstance(value, pa.Scalar):
        hint = 'send pa.array([value])'
    elif isinstance(value, (str, int, float, bool)):
        hint = f'send pa.array([{value!r:.40}])'
    else:
        hint = 'send pa.array(...)'
    msg = f'cannot send a value of type {_type_name(value)}, only an Arrow array or bytes: {hint}'
    raise TransportError(msg)


def decode(buffer: Any, *, timestamp: int | None = None) -> Decoded:
    """Return the message in ``buffer``, whose memory the value goes on using.

    Args:
        buffer: bytes-like, an Arrow IPC stream of one record batch with one column.
        timestamp: nanoseconds since the Unix epoch, for a stream without metadata of ours.

    Raises:
        TransportError: the bytes are not such a stream.

    """
    value, text = read(buffer)
    if text is None:
        return Decoded(value, {} if timestamp is None else {TIMESTAMP_KEY: utc(timestamp)})
    return Decoded(value, *unpack(text))


def read(buffer: Any) -> tuple[pa.Array, bytes | None]:
    """Return the array in ``buffer``, whose memory it goes on using, and the metadata of ours.

    Raises:
        TransportError: the bytes are not a stream of one record batch with one column.

    """
    try:
        reader = pa.RecordBatchStreamReader(pa.py_buffer(buffer))
        batch, custom = reader.read_next_batch_with_custom_metadata()
        (value,) = batch.columns
        value.validate()
        more = next(reader, None)
    except (pa.ArrowException, OSError, StopIteration, ValueError) as error:
        msg = (
            f'not an Arrow IPC stream of one batch with one column ({_one_line(error) or "no batch"}): '
            'a topic of another kind needs the message type in the dataflow (type: package/msg/Name)'
        )
        raise TransportError(msg) from error
    if more is not None:
        msg = 'a message has to be one Arrow record batch, not several: join them with combine_chunks()'
        raise TransportError(msg)
    return value, None if custom is None else custom.get(METADATA_KEY)


def _joined(value: pa.ChunkedArray) -> pa.Array:
    array = value.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def _contiguous(value: bytes | bytearray | memoryview) -> pa.Array:
    try:
        return array_of(pa.uint8(), value)
    except (BufferError, ValueError) as error:
        msg = 'cannot send a memoryview that is not contiguous: send bytes(view)'
        raise TransportError(msg) from error


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == 'builtins' else f'{kind.__module__}.{kind.__qualname__}'


def _one_line(error: BaseException) -> str:
    return ' '.join(str(error).split())
