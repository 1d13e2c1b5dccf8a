"""``adora.builder``, here :mod:`adora_ros.dataflow.builder`."""

from __future__ import annotations

from adora_ros.dataflow.builder import DataflowBuilder, Node, Operator, Output

__all__ = ['DataflowBuilder', 'Node', 'Operator', 'Output']
