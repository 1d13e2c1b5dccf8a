"""The message that stands for a value in shared memory.

It is an ordinary ``std_msgs/msg/UInt8MultiArray``. Its layout has one dimension, whose label tells whoever echoes the
topic with a stock tool where the value is, and its data are the descriptor, in bytes.
"""

from __future__ import annotations

import struct
from typing import Any

from adora_ros.errors import TransportError
from adora_ros.transport.payloads import Descriptor
from adora_ros.transport.shapes import PLAIN

LABEL = b'adora: the value is in shared memory: `adora topic echo` shows it; `inline: always` on the output avoids it'
_MAGIC = b'ADORASHM'
_BODY = struct.Struct('<8sBIQQQQH')
"""Magic, kind, slot, generation, offset, capacity, length, length of the path; path and metadata follow."""
_SIZES = struct.Struct('<IIII')
"""``layout.dim[0].size``, its ``stride``, ``layout.data_offset``, length of ``data``."""
_PREFIX = b'\x00\x01\x00\x00' + struct.pack('<II', 1, len(LABEL) + 1) + LABEL + bytes(1 + (-len(LABEL) - 1) % 4)
_DATA = len(_PREFIX) + _SIZES.size
_SIZE_LIMIT = 2**32 - 1


def to_message(descriptor: Descriptor, metadata: str) -> bytes:
    """Return the serialized message.

    Args:
        descriptor: where the value is.
        metadata: as :func:`adora_ros.transport.metadata.pack` returns it.

    """
    path = descriptor.path.encode()
    body = _BODY.pack(
        _MAGIC,
        descriptor.kind,
        descriptor.slot,
        descriptor.generation,
        descriptor.offset,
        descriptor.capacity,
        descriptor.length,
        len(path),
    )
    size = min(descriptor.length, _SIZE_LIMIT)
    data = b''.join((body, path, metadata.encode()))
    return b''.join((_PREFIX, _SIZES.pack(size, size, 0, len(data)), data))


def descriptor_data(message: Any) -> bytes | None:
    """Return the descriptor that a message carries, None if it carries the value itself.

    Args:
        message: a ``UInt8MultiArray`` or the bytes of one serialized.

    """
    if not isinstance(message, bytes):
        data = bytes(message.data[: len(_MAGIC)])
        return bytes(message.data) if data == _MAGIC else None
    if not message.startswith(_PREFIX):
        return None
    *_, size = _SIZES.unpack_from(message, len(_PREFIX))
    return message[_DATA : _DATA + size]


def parse(data: bytes) -> tuple[Descriptor, str]:
    """Return descriptor and metadata.

    Raises:
        TransportError: the bytes are not what :func:`to_message` wrote.

    """
    try:
        magic, kind, slot, generation, offset, capacity, length, path_length = _BODY.unpack_from(data)
        end = _BODY.size + path_length
        path, metadata = data[_BODY.size : end].decode(), data[end:].decode()
        descriptor = Descriptor(kind, path, slot, generation, offset, capacity, length)
    except (struct.error, ValueError) as error:
        msg = f'the descriptor of a value in shared memory is not readable: {error}'
        raise TransportError(msg) from error
    if magic != _MAGIC or length > capacity or kind > len(PLAIN):
        msg = 'the descriptor of a value in shared memory is not readable: it is of another version'
        raise TransportError(msg)
    return descriptor, metadata
