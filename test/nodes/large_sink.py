"""Checks every byte of what large_source.py sends, and keeps every tenth value to look at it once more at the end."""

from __future__ import annotations

import os
from typing import Any

from marks import mark

from adora_ros import Node

node = Node()
mark(f'pid {os.getpid()}')
kept: list[tuple[Any, int]] = []
number = right = 0
for event in node:
    if event['type'] == 'INPUT':
        number += 1
        byte = event['metadata']['number'] % 251
        right += bool((event['value'].to_numpy() == byte).all())
        mark(f'value {event["metadata"]["number"]}')
        if number % 10 == 0 and len(kept) < 5:
            kept.append((event['value'], byte))
mark(f'right {right} of {number}')
mark(f'kept {sum(bool((value.to_numpy() == byte).all()) for value, byte in kept)} of {len(kept)}')
