"""Ends with exit code 0 as soon as the dataflow runs."""

from __future__ import annotations

from marks import mark

from adora_ros import Node

mark('spawned')
Node()
