"""Sends large values of one byte, repeated, at every tick: by send_output and send_output_raw in turn."""

from __future__ import annotations

import os
import sys

import numpy as np
import pyarrow as pa
from marks import mark

from adora_ros import Node

size, count = int(sys.argv[1]), int(sys.argv[2])
node = Node()
mark(f'pid {os.getpid()}')
number = 0
for event in node:
    if event['type'] == 'INPUT':
        number += 1
        if number % 2:
            node.send_output('value', pa.array(np.full(size, number % 251, np.uint8)), {'number': number})
        else:
            with node.send_output_raw('value', size, {'number': number}) as buffer:
                np.asarray(buffer)[:] = number % 251
        if number == count:
            break
