"""Arrow columns as the conversion to ROS messages takes them: without what Arrow wraps around the values."""

from __future__ import annotations

import pyarrow as pa

from adora_ros.errors import TransportError


def plain(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary or extension type around it."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def from_bytes(column: pa.Array) -> pa.Array:
    """Return a column of single bytes as uint8, any other as it is."""
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return column
    return pa.array([value[0] if value else None for value in column.to_pylist()], pa.uint8())


def from_bytes_rows(column: pa.Array) -> pa.Array:
    """Return a column of bytes as lists of uint8, any other as it is."""
    kind = column.type
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind):
        column = column.cast(pa.binary())
    if not pa.types.is_binary(column.type):
        return column
    validity, offsets, data = column.buffers()
    values = pa.Array.from_buffers(pa.uint8(), 0 if data is None else data.size, [None, data])
    return pa.Array.from_buffers(
        pa.list_(pa.uint8()), len(column), [validity, offsets], offset=column.offset, children=[values]
    )


def is_number(kind: pa.DataType, *, like: pa.DataType) -> bool:
    """Return whether a type is that of truth values, if ``like`` is, or else of numbers."""
    if pa.types.is_boolean(like):
        return bool(pa.types.is_boolean(kind))
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is one of lists, of any or of a fixed length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is one of texts."""
    view = hasattr(pa.types, 'is_string_view') and pa.types.is_string_view(kind)
    return bool(view or pa.types.is_string(kind) or pa.types.is_large_string(kind))


def misfit(path: str, wanted: pa.DataType, given: pa.DataType) -> TransportError:
    """Return the error for a field that is given a value of another type."""
    wanted = 'a struct' if pa.types.is_struct(wanted) else wanted
    return TransportError(f'field `{path}` is {wanted}, not {given}')


def one_line(error: BaseException) -> str:
    """Return the text of an error without line breaks."""
    return ' '.join(str(error).split())
