"""ROS messages as Arrow values and back.

A message is a struct array of one row with one field per field of the message, in the mapping of dora's ROS 2 bridge:

==================================  ======================================================
ROS                                 Arrow
==================================  ======================================================
``bool``, ``int8`` ... ``float64``  ``bool``, ``int8`` ... ``double``
``byte``, ``char``                  ``uint8``
``string``, ``wstring``             ``string``
a message                           ``struct``; ``Time`` and ``Duration`` are no exception
``T[]``, ``T[<=N]``                 ``list<T>``
``T[N]``                            ``fixed_size_list<T>[N]``
==================================  ======================================================

On the way to ROS more is taken: a field that is missing or null keeps its default, numbers of another type are
converted where no more is lost than the precision of a float, bytes stand for ``uint8[]``, and a timestamp or duration
for the message of that kind.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from adora_ros.errors import TransportError
from adora_ros.transport.roscolumns import one_line
from adora_ros.transport.roskinds import SHARED_FROM, message_kind, type_name

__all__ = ['SHARED_FROM', 'arrow_type', 'from_arrow', 'is_convertible', 'to_arrow', 'type_name']


def arrow_type(message_type: type[Any]) -> pa.StructType:
    """Return the Arrow type of a ROS message class."""
    return message_kind(message_type).type


def to_arrow(*messages: Any) -> pa.StructArray:
    """Return one or more messages of one type as a struct array with a row for each."""
    return message_kind(type(messages[0])).to_arrow(messages)


def from_arrow(value: Any, message_type: type[Any]) -> Any:
    """Return the message that a value of one row stands for.

    Args:
        value: a struct array or record batch of one row, a struct scalar, or a dict of the fields.
        message_type: ROS message class.

    Raises:
        TransportError: the value does not fit the message; the text names the field.

    """
    column = _one_row(value, message_type)
    (message,) = message_kind(message_type).from_arrow(column, '')
    return message_type() if message is None else message


def is_convertible(value: Any) -> bool:
    """Return whether :func:`from_arrow` takes a value of this kind."""
    return isinstance(value, (pa.StructArray, pa.RecordBatch, pa.StructScalar, pa.ChunkedArray, dict))


def _one_row(value: Any, message_type: type[Any]) -> pa.StructArray:
    try:
        if isinstance(value, dict):
            column = pa.array([value]) if value else pa.array([{}], pa.struct([]))
        elif isinstance(value, pa.RecordBatch):
            column = value.to_struct_array()
        elif isinstance(value, pa.StructScalar):
            column = pa.array([value.as_py()], value.type)
        else:
            column = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        msg = f'cannot make a {type_name(message_type)} of the dict: {one_line(error)}'
        raise TransportError(msg) from error
    if len(column) != 1:
        msg = f'a {type_name(message_type)} is a struct array of one row, not of {len(column)}: send value.slice(i, 1)'
        raise TransportError(msg)
    return column
