"""What a port puts on its topic and takes from it.

A node knows only :class:`PortCodec`. How a value travels, inside the message or beside it, is the codec's affair.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import struct
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
from rclpy.serialization import deserialize_message
from std_msgs.msg import UInt8MultiArray

from adora_ros.errors import TransportError
from adora_ros.transport import descriptor
from adora_ros.transport.codec import Decoded, as_array, measure, read, stream, write
from adora_ros.transport.metadata import FLUSH, FLUSH_TEXT, TIMESTAMP_KEY, Stamp, pack, unpack, utc
from adora_ros.transport.payloads import ARROW, BYTES, Draft, PayloadLostError, PayloadReader, PayloadWriter
from adora_ros.transport.rosarrow import from_arrow, is_convertible, to_arrow, type_name
from adora_ros.transport.shapes import PLAIN, ShapeReader, ShapeWriter, array_of, elements, plain_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_ARROW_MESSAGE: type[Any] = UInt8MultiArray
_CDR_LITTLE_ENDIAN = b'\x00\x01\x00\x00'
_HEADER = struct.Struct('<4sIII')
"""Encapsulation, length of ``layout.dim`` (0), ``layout.data_offset``, length of ``data``."""


INLINE_LIMIT = 60 * 1024
"""Bytes of an Arrow payload up to which it travels inside its message: what fits one datagram is never fragmented."""

SHARED_WORK = 8 * 1024 * 1024
"""Bytes from which on two threads copy a value into shared memory, since one does not use what the memory can do."""


class PortCodec(Protocol):
    """Values to messages and back, for one port."""

    @property
    def message_type(self) -> type[Any]:
        """ROS message class of the topic."""

    def to_message(self, value: Any, parameters: Mapping[str, Any] | None, stamp: Stamp) -> Any:
        """Return what ``Publisher.publish`` takes: a message, or bytes that are one serialized.

        Raises:
            TransportError: the port cannot carry the value or the metadata.

        """

    def prepare(self) -> None:
        """Do ahead of time what the next value may need, now that the last one is on its way."""

    def receive(self, message: Any) -> Any:
        """Take a message as soon as it arrives, since what it stands for may not wait.

        Returns:
            What :meth:`from_message` is to be given; None if the value is gone, which is counted.

        """

    def from_message(self, message: Any, *, timestamp: int | None = None) -> Decoded:
        """Return the value and metadata of a message.

        Args:
            message: what :meth:`receive` returned, the bytes that a subscription with ``raw=True`` delivers, or a
                message.
            timestamp: nanoseconds since the Unix epoch when it was sent, for a message that does not say so itself.

        Raises:
            TransportError: the message is not one of this port.

        """

    def flushes(self, message: Any) -> bool:
        """Return whether what :meth:`receive` returned has ``flush: True`` in its metadata."""


@dataclass
class PayloadCounts:
    """What became of the large values of a node.

    Args:
        warn: told the first time that something goes wrong, once for each kind of it.

    """

    warn: Callable[[str], None] = warnings.warn
    fallbacks: int = 0
    """Values that had to travel inside their messages."""
    drops: int = 0
    """Messages whose value was gone when they came."""

    def fell_back(self, reason: str, size: int) -> None:
        """Count a value of ``size`` bytes that has to travel inside its message."""
        self.fallbacks += 1
        if self.fallbacks == 1:
            self.warn(f'a value of {size} bytes travels inside its message, which is much slower: {reason}')

    def dropped(self, reason: object) -> None:
        """Count a message whose value is gone."""
        self.drops += 1
        if self.drops == 1:
            self.warn(f'a message is dropped: {reason}')


class Borrowed(NamedTuple):
    """A message whose value is in shared memory, which stays as it is while this or the value is alive."""

    kind: int
    memory: pa.Buffer
    metadata: str


class ArrowPort:
    """Arrow values in the ``data`` of a ``std_msgs/msg/UInt8MultiArray``, or in shared memory when they are large.

    The message is serialized here: rclpy takes the bytes as they are, which halves the work of a small message.

    Args:
        writer: where large values are put; None keeps them inside the message.
        counts: told what goes wrong with large values.

    """

    def __init__(self, writer: PayloadWriter | None = None, counts: PayloadCounts | None = None) -> None:
        """See the class."""
        self._writer = writer
        self._reader = PayloadReader()
        self._counts = counts or PayloadCounts()
        self._written = ShapeWriter()
        self._read = ShapeReader()

    @property
    def message_type(self) -> type[Any]:
        """``UInt8MultiArray``."""
        return _ARROW_MESSAGE

    def to_message(self, value: Any, parameters: Mapping[str, Any] | None, stamp: Stamp) -> bytes:
        """Return the serialized message (see :func:`adora_ros.transport.codec.encode`)."""
        array = as_array(value)
        metadata = pack(parameters, stamp)
        text = metadata.encode()
        message = self._written.message(array, text)
        if message is not None:
            return message
        writer = self._writer if (plain_size(array) or array.nbytes) >= INLINE_LIMIT else None
        if writer is not None:
            message = self._shared(array, writer, metadata)
        if message is None:
            data = stream(array, metadata)
            message = b''.join((_HEADER.pack(_CDR_LITTLE_ENDIAN, 0, 0, len(data)), data))
            if writer is None:
                self._written.learn(array, message, _HEADER.size, text)
        return message

    def prepare(self) -> None:
        """See the protocol."""
        if self._writer is not None:
            self._writer.prepare()

    def draft(self, size: int) -> Draft | None:
        """Return memory for a value of ``size`` bytes; None if it is to travel inside its message."""
        if self._writer is None or size < INLINE_LIMIT:
            return None
        return self._reserve(self._writer, size)

    def draft_message(self, draft: Draft, parameters: Mapping[str, Any] | None, stamp: Stamp) -> bytes:
        """Return the serialized message of a draft that has been filled with the elements of an array of uint8.

        Raises:
            TransportError: the port cannot carry the metadata; the draft is as before.

        """
        metadata = pack(parameters, stamp)
        return descriptor.to_message(draft.commit(BYTES), metadata)

    def receive(self, message: Any) -> Any:
        """See the protocol; a lease on the value begins here."""
        data = descriptor.descriptor_data(message)
        if data is None:
            return message
        try:
            found, metadata = descriptor.parse(data)
            return Borrowed(found.kind, self._reader.lease(found), metadata)
        except (PayloadLostError, TransportError) as error:
            self._counts.dropped(error)
            return None

    def from_message(self, message: Any, *, timestamp: int | None = None) -> Decoded:
        """Return the value, which keeps the memory of ``message`` alive, and its metadata."""
        if isinstance(message, Borrowed):
            is_stream = message.kind == ARROW
            value = read(message.memory)[0] if is_stream else array_of(PLAIN[message.kind - 1], message.memory)
            return Decoded(value, *unpack(message.metadata))
        found = self._read.read(message) if isinstance(message, bytes) else None
        if found is not None:
            return Decoded(found[0], *unpack(found[1]))
        start = _stream_start(message)
        value, text = read(memoryview(message)[start:] if start else _data_of(message))
        if text is None:
            return Decoded(value, {} if timestamp is None else {TIMESTAMP_KEY: utc(timestamp)})
        if start:
            self._read.learn(value, message, start, text)
        return Decoded(value, *unpack(text))

    def flushes(self, message: Any) -> bool:
        """See the protocol; a message that cannot be read does not flush."""
        text = message.metadata.encode() if isinstance(message, Borrowed) else message
        if not isinstance(text, bytes) or FLUSH_TEXT not in text:
            return False
        try:
            return self.from_message(message).metadata.get(FLUSH) is True
        except TransportError:
            return False

    def _reserve(self, writer: PayloadWriter, size: int) -> Draft | None:
        draft = writer.reserve(size)
        if draft is None:
            self._counts.fell_back(writer.complaint, size)
        return draft

    def _shared(self, array: pa.Array, writer: PayloadWriter, metadata: str) -> bytes | None:
        """Put an array into shared memory, written once, and return the message for it; None if there is no room."""
        size = plain_size(array)
        draft = self._reserve(writer, measure(array) if size is None else size)
        if draft is None:
            return None
        try:
            sink = pa.FixedSizeBufferWriter(pa.py_buffer(draft.memory))
            if len(draft.memory) >= SHARED_WORK:
                sink.set_memcopy_threads(2)
            if size is None:
                write(array, sink)
            else:
                sink.write(elements(array))
        except BaseException:
            draft.abandon()
            raise
        return descriptor.to_message(draft.commit(ARROW if size is None else PLAIN.index(array.type) + 1), metadata)


class RosPort:
    """ROS messages of one type; the value is their Arrow form (see :mod:`adora_ros.transport.rosarrow`).

    They have no room for metadata; an event shows the time at which the message was sent.

    Args:
        message_type: ROS message class.

    """

    def __init__(self, message_type: type[Any]) -> None:
        """See the class."""
        self._message_type = message_type

    @property
    def message_type(self) -> type[Any]:
        """ROS message class of the topic."""
        return self._message_type

    def to_message(self, value: Any, parameters: Mapping[str, Any] | None, stamp: Stamp) -> Any:  # noqa: ARG002
        """Return the message for ``value``: itself, or made of a struct array or dict; metadata is left behind."""
        message = value
        if is_convertible(value):
            message = from_arrow(value, self._message_type)
        elif not isinstance(value, self._message_type):
            msg = (
                f'this output carries {type_name(self._message_type)}, not {type(value).__name__}: '
                'send a message of that type, a struct array or a dict of its fields, or remove `type` from the output'
            )
            raise TransportError(msg)
        if lost := sorted(set(parameters or ()) - {TIMESTAMP_KEY}):
            warnings.warn(
                f'a message of type {type_name(self._message_type)} does not carry metadata, dropped: '
                f'{", ".join(lost)}',
                RuntimeWarning,
                stacklevel=2,
            )
        return message

    def prepare(self) -> None:
        """See the protocol; there is nothing to do."""

    def receive(self, message: Any) -> Any:
        """See the protocol."""
        return message

    def from_message(self, message: Any, *, timestamp: int | None = None) -> Decoded:
        """Return the message, its Arrow form and ``timestamp`` as its metadata."""
        plain = self._deserialized(message) if isinstance(message, bytes) else message
        metadata = {} if timestamp is None else {TIMESTAMP_KEY: utc(timestamp)}
        return Decoded(to_arrow(plain), metadata, message=plain)

    def _deserialized(self, message: bytes) -> Any:
        try:
            return deserialize_message(message, self._message_type)
        except Exception as error:
            msg = f'a message of {len(message)} bytes is not a {type_name(self._message_type)}: {error}'
            raise TransportError(msg) from error

    def flushes(self, message: Any) -> bool:  # noqa: ARG002 - it has no metadata
        """Return False."""
        return False


def open_port(
    type_name: str | None, *, writer: PayloadWriter | None = None, counts: PayloadCounts | None = None
) -> PortCodec:
    """Return the codec of a port.

    Args:
        type_name: ROS message type such as ``sensor_msgs/msg/Image``; None for Arrow.
        writer: where large Arrow values are put.
        counts: told what goes wrong with them.

    Raises:
        TransportError: there is no such message type here.

    """
    return ArrowPort(writer, counts) if type_name is None else RosPort(message_class(type_name))


def message_class(type_name: str) -> type[Any]:
    """Return the class of a ROS message type, ``package/msg/Name`` or ``package/Name``.

    Raises:
        TransportError: there is none of that name, with the nearest that there is.

    """
    parts = type_name.split('/')
    if not (len(parts) == 2 or (len(parts) == 3 and parts[1] == 'msg')) or not all(parts):  # noqa: PLR2004
        msg = f'message type {type_name!r} is not of the form package/msg/Name'
        raise TransportError(msg)
    package, name = parts[0], parts[-1]
    try:
        module = importlib.import_module(f'{package}.msg')
    except ImportError as error:
        near = _nearest(package, (m.name for m in pkgutil.iter_modules() if m.ispkg))
        msg = (
            f'message type {type_name!r}: {_near_text(f"{near}/msg/{name}" if near else None)}cannot import '
            f'{package}.msg ({error}); source the workspace or install the package that has it'
        )
        raise TransportError(msg) from error
    known = [key for key, item in vars(module).items() if isinstance(item, type)]
    if name in known:
        return vars(module)[name]  # type: ignore[no-any-return]
    near = _nearest(name, known)
    msg = f'message type {type_name!r}: {_near_text(f"{package}/msg/{near}" if near else None)}{package} has no {name}'
    raise TransportError(msg)


def _stream_start(message: Any) -> int:
    """Return where the data of a serialized message begin; 0 if it is none, or not of the kind that is written here."""
    if not isinstance(message, bytes) or len(message) < _HEADER.size:
        return 0
    encapsulation, dims, _, size = _HEADER.unpack_from(message)
    plain = encapsulation[:2] == _CDR_LITTLE_ENDIAN[:2] and dims == 0 and size == len(message) - _HEADER.size
    return _HEADER.size if plain else 0


def _data_of(message: Any) -> memoryview:
    if isinstance(message, bytes):
        message = RosPort(_ARROW_MESSAGE).from_message(message).message
    return memoryview(message.data)


def _nearest(name: str, known: Iterable[str]) -> str | None:
    by_lower = {item.lower(): item for item in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def _near_text(near: str | None) -> str:
    return f'did you mean {near!r}? ' if near else ''
