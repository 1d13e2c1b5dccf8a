"""The conversion of each type of ROS, in both directions and for any number of values at a time.

What is converted to what is said in :mod:`adora_ros.transport.rosarrow`.
"""

from __future__ import annotations

import array
import difflib
import importlib
import itertools
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractNestedType,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

from adora_ros.errors import TransportError
from adora_ros.transport.roscolumns import (
    from_bytes,
    from_bytes_rows,
    is_list,
    is_number,
    is_text,
    misfit,
    one_line,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHARED_FROM = 64 * 1024
"""Bytes from which on a numeric sequence is not copied: message and Arrow value then share its memory."""

_BASIC: dict[str, tuple[pa.DataType, str]] = {
    'boolean': (pa.bool_(), ''),
    'octet': (pa.uint8(), ''),
    'char': (pa.uint8(), 'B'),
    'uint8': (pa.uint8(), 'B'),
    'int8': (pa.int8(), 'b'),
    'uint16': (pa.uint16(), 'H'),
    'int16': (pa.int16(), 'h'),
    'uint32': (pa.uint32(), 'I'),
    'int32': (pa.int32(), 'i'),
    'uint64': (pa.uint64(), 'Q'),
    'int64': (pa.int64(), 'q'),
    'float': (pa.float32(), 'f'),
    'double': (pa.float64(), 'd'),
}
"""Arrow type per type of IDL, and the type code of the ``array.array`` that rclpy uses for a sequence of it."""

_SECOND = 1_000_000_000
_SECONDS = range(-(2**31), 2**31)
"""What ``sec`` of a ``builtin_interfaces`` message can hold."""


def type_name(message_type: type[Any]) -> str:
    """Return the name of a ROS message class, such as ``sensor_msgs/msg/Imu``."""
    package, kind, *_ = message_type.__module__.split('.')
    return f'{package}/{kind}/{message_type.__name__}'


class _Kind(Protocol):
    """The conversion of one type, for any number of values at a time."""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type."""

    def default(self) -> Any:
        """Return what a null element of a sequence stands for."""

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        """Return the values of messages as an Arrow array."""

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        """Return values for messages, None where the column has a null; ``path`` is for errors."""


_messages: dict[type[Any], MessageKind] = {}


def message_kind(message_type: type[Any]) -> MessageKind:
    """Return the conversion of a ROS message class."""
    known = _messages.get(message_type)
    if known is None:
        known = _messages[message_type] = MessageKind(message_type)
    return known


def _kind(definition: Any) -> _Kind:
    if isinstance(definition, BasicType):
        return _Octet() if definition.typename == 'octet' else _Scalar(*_BASIC[definition.typename])
    if isinstance(definition, AbstractGenericString):
        return _Text(getattr(definition, 'maximum_size', None))
    if isinstance(definition, NamespacedType):
        return message_kind(getattr(importlib.import_module('.'.join(definition.namespaces)), definition.name))
    if not isinstance(definition, AbstractNestedType):
        msg = f'ROS type {definition!r} has no Arrow form'
        raise TransportError(msg)
    item = _kind(definition.value_type)
    shape = _Shape(
        fixed=definition.size if isinstance(definition, Array) else None,
        limit=definition.maximum_size if isinstance(definition, BoundedSequence) else None,
    )
    return _Numbers(item, shape) if isinstance(item, _Scalar) and item.code else _Items(item, shape)


class _Scalar:
    """A number or a truth value."""

    def __init__(self, arrow: pa.DataType, code: str) -> None:
        self.type = arrow
        self.code = code

    def default(self) -> Any:
        return pa.scalar(0, pa.uint8()).cast(self.type).as_py()

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        return pa.array(values, self.type)

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        return self.cast(column, path).to_pylist()  # type: ignore[no-any-return]

    def cast(self, column: pa.Array, path: str) -> pa.Array:
        """Return the column in the type of the field, if that loses nothing."""
        if column.type == self.type:
            return column
        column = plain(column)
        if not (pa.types.is_null(column.type) or is_number(column.type, like=self.type)):
            raise misfit(path, self.type, column.type)
        try:
            return column.cast(self.type, safe=not pa.types.is_floating(self.type))
        except pa.ArrowInvalid as error:
            msg = f'field `{path}` is {self.type}: {one_line(error)}'
            raise TransportError(msg) from error


class _Octet(_Scalar):
    """A byte, which rclpy has as ``bytes`` of length 1."""

    def __init__(self) -> None:
        super().__init__(pa.uint8(), '')

    def default(self) -> Any:
        return b'\0'

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        data = pa.py_buffer(b''.join(values))
        return pa.Array.from_buffers(self.type, len(values), [None, data])

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        return [None if value is None else bytes((value,)) for value in super().from_arrow(from_bytes(column), path)]


class _Text:
    """A text of any or of limited length."""

    def __init__(self, limit: int | None) -> None:
        self.type = pa.string()
        self._limit = limit

    def default(self) -> Any:
        return ''

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        return pa.array(values, self.type)

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        column = plain(column)
        if pa.types.is_null(column.type):
            return [None] * len(column)
        if not is_text(column.type):
            raise misfit(path, self.type, column.type)
        values: list[str | None] = column.to_pylist()
        longest = max((len(value) for value in values if value is not None), default=0)
        if self._limit is not None and longest > self._limit:
            msg = f'field `{path}` takes {self._limit} characters at most, not {longest}'
            raise TransportError(msg)
        return values


class MessageKind:
    """A message."""

    def __init__(self, message_type: type[Any]) -> None:
        self._message_type = message_type
        self._name = type_name(message_type)
        names = message_type.get_fields_and_field_types()
        self._kinds = {name: _kind(kind) for name, kind in zip(names, message_type.SLOT_TYPES, strict=True)}
        self._fields = [pa.field(name, kind.type) for name, kind in self._kinds.items()]
        self.type = pa.struct(self._fields)

    def default(self) -> Any:
        """See the protocol."""
        return self._message_type()

    def to_arrow(self, values: Sequence[Any]) -> pa.StructArray:
        """See the protocol."""
        if not self._fields:
            return pa.array([{}] * len(values), self.type)
        columns = [kind.to_arrow([getattr(value, name) for value in values]) for name, kind in self._kinds.items()]
        return pa.StructArray.from_arrays(columns, fields=self._fields)

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        """See the protocol."""
        column = plain(column)
        if pa.types.is_null(column.type):
            return [None] * len(column)
        moment = self._moments(column, path)
        if moment is not None:
            return moment
        if not pa.types.is_struct(column.type):
            raise misfit(path or self._name, self.type, column.type)
        given = {column.type.field(index).name: child for index, child in enumerate(column.flatten())}
        for name in given:
            if name not in self._kinds:
                raise self._unknown(name, path)
        fields = {name: self._kinds[name].from_arrow(child, _join(path, name)) for name, child in given.items()}
        present = column.is_valid().to_pylist()
        return [self._build(fields, row) if present[row] else None for row in range(len(column))]

    def _build(self, fields: dict[str, list[Any]], row: int) -> Any:
        message = self._message_type()
        for name, values in fields.items():
            if values[row] is not None:
                setattr(message, name, values[row])
        return message

    def _moments(self, column: pa.Array, path: str) -> list[Any] | None:
        """Return the messages for a column of timestamps or durations, None if this is not about time."""
        if self._name == 'builtin_interfaces/msg/Time' and pa.types.is_timestamp(column.type):
            target = pa.timestamp('ns', column.type.tz)
        elif self._name == 'builtin_interfaces/msg/Duration' and pa.types.is_duration(column.type):
            target = pa.duration('ns')
        else:
            return None
        try:
            nanoseconds = column.cast(target).cast(pa.int64()).to_pylist()
        except pa.ArrowInvalid as error:
            msg = f'field `{path}`: {one_line(error)}'
            raise TransportError(msg) from error
        return [None if value is None else self._moment(value, path) for value in nanoseconds]

    def _moment(self, nanoseconds: int, path: str) -> Any:
        seconds, rest = divmod(nanoseconds, _SECOND)
        if seconds not in _SECONDS:
            msg = f'field `{path}`: {seconds} s do not fit into a {self._name}'
            raise TransportError(msg)
        return self._message_type(sec=seconds, nanosec=rest)

    def _unknown(self, name: str, path: str) -> TransportError:
        near = difflib.get_close_matches(name, self._kinds, n=1)
        hint = f'did you mean `{_join(path, near[0])}`?' if near else f'it has {", ".join(self._kinds) or "no fields"}'
        return TransportError(f'{self._name} has no field `{_join(path, name)}`; {hint}')


class _Shape:
    """How long a sequence may be."""

    def __init__(self, *, fixed: int | None, limit: int | None) -> None:
        self.fixed = fixed
        self._limit = limit

    def type(self, item: pa.DataType) -> pa.DataType:
        return pa.list_(item) if self.fixed is None else pa.list_(item, self.fixed)

    def arrays(self, items: pa.Array, lengths: Iterable[int]) -> pa.Array:
        """Return a list array, given the items of all its rows and how many each row has."""
        if self.fixed is not None:
            return pa.FixedSizeListArray.from_arrays(items, self.fixed)
        offsets = pa.array([0, *itertools.accumulate(lengths)], pa.int32())
        return pa.ListArray.from_arrays(offsets, items)

    def rows(self, column: pa.Array, path: str) -> list[pa.Array | None]:
        """Return the items of each row, None for a null."""
        column = plain(column)
        if pa.types.is_null(column.type):
            return [None] * len(column)
        if not is_list(column.type):
            msg = f'field `{path}` is a list, not {column.type}'
            raise TransportError(msg)
        rows: list[pa.Array | None] = [scalar.values for scalar in column]
        for row in rows:
            self._check(row, path)
        return rows

    def _check(self, row: pa.Array | None, path: str) -> None:
        size = 0 if row is None else len(row)
        if row is not None and self.fixed is not None and size != self.fixed:
            msg = f'field `{path}` takes exactly {self.fixed} elements, not {size}'
            raise TransportError(msg)
        if self._limit is not None and size > self._limit:
            msg = f'field `{path}` takes {self._limit} elements at most, not {size}'
            raise TransportError(msg)


class _Items:
    """A sequence or array of anything but numbers."""

    def __init__(self, item: _Kind, shape: _Shape) -> None:
        self.type = shape.type(item.type)
        self._item = item
        self._shape = shape

    def default(self) -> Any:
        return [] if self._shape.fixed is None else [self._item.default() for _ in range(self._shape.fixed)]

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        items = self._item.to_arrow([item for value in values for item in value])
        return self._shape.arrays(items, map(len, values))

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        if isinstance(self._item, _Octet):
            column = from_bytes_rows(column)
        return [None if row is None else self._row(row, path) for row in self._shape.rows(column, path)]

    def _row(self, row: pa.Array, path: str) -> list[Any]:
        values = self._item.from_arrow(row, f'{path}[]')
        return [self._item.default() if value is None else value for value in values]


class _Numbers:
    """A sequence or array of numbers, which is moved as a block."""

    def __init__(self, item: _Scalar, shape: _Shape) -> None:
        self.type = shape.type(item.type)
        self._item = item
        self._shape = shape

    def default(self) -> Any:
        return (
            array.array(self._item.code) if self._shape.fixed is None else np.zeros(self._shape.fixed, self._item.code)
        )

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        size = sum(map(len, values))
        items = pa.Array.from_buffers(self._item.type, size, [None, self._block(values)])
        return self._shape.arrays(items, map(len, values))

    def from_arrow(self, column: pa.Array, path: str) -> list[Any]:
        rows = self._shape.rows(from_bytes_rows(column), path)
        return [None if row is None else self._row(row, path) for row in rows]

    def _block(self, values: Sequence[Any]) -> pa.Buffer:
        blocks = [self._view(value) for value in values]
        if len(blocks) == 1 and blocks[0].nbytes >= SHARED_FROM:
            return pa.py_buffer(blocks[0])
        return pa.py_buffer(b''.join(blocks))

    def _view(self, value: Any) -> memoryview:
        numbers: Any = np.ascontiguousarray(value, self._item.code)
        return memoryview(numbers).cast('B') if len(value) else memoryview(b'')

    def _row(self, row: pa.Array, path: str) -> Any:
        items = self._item.cast(row, f'{path}[]')
        numbers = (items.fill_null(0) if items.null_count else items).to_numpy(zero_copy_only=True)
        if self._shape.fixed is not None:
            return numbers.copy()
        result = array.array(self._item.code)
        result.frombytes(numbers.view(np.uint8))
        return result


def _join(path: str, name: str) -> str:
    return f'{path}.{name}' if path else name
