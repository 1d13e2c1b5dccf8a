"""Sends values of many Arrow types, or with many kinds of metadata, as ``KIND`` says: ``arrow`` or ``metadata``."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from dora import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

ZONE = dt.timezone(dt.timedelta(hours=2))
LARGE = 300_000


def arrow() -> Iterator[Any]:
    """Yield values."""
    yield from (b'bytes', b'')
    for kind in ('int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'):
        yield pa.array([0, 1, None], kind)
    yield from (pa.array([0.5, None], kind) for kind in ('float', 'double'))
    yield pa.array([True, None, False])
    yield from (pa.array(['a', 'ä', None], kind) for kind in ('string', 'large_string'))
    yield from (pa.array([b'a', None], kind) for kind in ('binary', 'large_binary'))
    yield pa.array([b'ab'], pa.binary(2))
    yield pa.array([[1, 2], None, []])
    yield pa.array([[1, 2]], pa.list_(pa.int32(), 2))
    yield pa.array([{'x': 1, 'y': ['a']}, None])
    yield pa.array([dt.datetime(2026, 1, 2, 3, 4, 5)], pa.timestamp('ms'))  # noqa: DTZ001
    yield pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)], pa.timestamp('us', 'UTC'))
    yield pa.array([dt.date(2026, 1, 2)])
    yield pa.array([dt.timedelta(seconds=2)])
    yield pa.array([decimal.Decimal('1.25')])
    yield pa.array(['a', 'b', 'a']).dictionary_encode()
    yield pa.nulls(3)
    yield pa.array([1, 2, 3, 4]).slice(1, 2)
    yield pa.RecordBatch.from_pydict({'a': [1, 2], 'b': ['x', 'y']})
    yield pa.array(np.arange(LARGE, dtype=np.uint32))


def metadata() -> Iterator[dict[str, Any]]:
    """Yield metadata."""
    yield {}
    yield {'bool': True, 'int': -(2**63), 'float': 0.5, 'str': 'ä', 'empty': ''}
    yield {'ints': [1, 2], 'floats': [1.5, 2.0], 'texts': ('a', 'b'), 'none': []}
    yield {'time': dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=ZONE)}
    yield {'nan': float('nan'), 'inf': float('-inf')}
    yield {'dict': {'a': 1}, 'nothing': None}
    yield {'request_id': 'r', 'goal_id': 'g', 'session_id': 's', 'segment_id': 1, 'seq': 2, 'fin': False}


def main() -> None:
    """Send, then end."""
    node = Node()
    if os.environ['KIND'] == 'arrow':
        for value in arrow():
            node.send_output('data', value)
            time.sleep(0.01)
    else:
        for number, parameters in enumerate(metadata()):
            node.send_output('data', pa.array([number]), parameters)
            time.sleep(0.01)
    time.sleep(0.3)


if __name__ == '__main__':
    main()
