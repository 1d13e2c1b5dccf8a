"""What is known of the inputs of nodes that run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import NodeKind
from adora_ros.transport.contract import NodeOp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adora_ros.dataflow import NodeSpec


class InputAccounts:
    """Which inputs are silent, and since when; times are those of a steady clock, passed in.

    Attributes:
        silent: Ids of the inputs that silence has closed, by node.
        quiet: Since when a process has had nothing on an input that waits or that silence closed, by node and input.

    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self.silent: dict[str, list[str]] = {node: [] for node in nodes}
        self.quiet: dict[tuple[str, str], float] = {}

    def expect(self, node: NodeSpec, now: float) -> None:
        """Note that a process that will tell of its first messages has had none."""
        if node.kind is not NodeKind.ROS:
            self.quiet.update({(node.id, port.id): now for port in node.inputs if port.topic is not None})

    def forget(self, node: str) -> None:
        """Note that a node has no process any more."""
        self.silent[node].clear()
        for key in [key for key in self.quiet if key[0] == node]:
            del self.quiet[key]

    def opened(self, node: str, name: str) -> None:
        """Note that an input waits no longer."""
        self.quiet.pop((node, name), None)

    def changed(self, node: str, packet: dict[str, Any], now: float) -> dict[str, int]:
        """Note an input that fell silent or recovered; return the counters that this moves, and by how much."""
        name, silent = packet['input'], self.silent[node]
        if packet['op'] == NodeOp.INPUT_CLOSED.value:
            silent.append(name)
            self.quiet[node, name] = now - packet['age']
            return {'input_timeouts': 1}
        recoveries = silent.count(name)
        silent[:] = [other for other in silent if other != name]
        self.opened(node, name)
        return {'cb_recoveries': recoveries}
