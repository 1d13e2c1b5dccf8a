"""Marks every event that it gets, until it is told to stop; with an argument it connects after so many seconds."""

from __future__ import annotations

import os
import sys
import time

import pyarrow as pa
from marks import mark

from adora_ros import Node

mark('pid', os.getpid())
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0)
for event in Node():
    value = event['value'] if event['type'] == 'INPUT' else None
    mark(event['type'], event.get('id', ''), value.to_pylist() if isinstance(value, pa.Array) and len(value) else '')
mark('end')
