"""The order of the first activations."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from adora_ros.manager.gate import StartGate

if TYPE_CHECKING:
    from collections.abc import Sequence

SINKS_FIRST = [['sink'], ['left', 'right'], ['source']]


class Crowd:
    """Nodes at a gate; each notes when it passes.

    Args:
        levels: As for the gate.

    """

    def __init__(self, levels: Sequence[Sequence[str]] = tuple(map(tuple, SINKS_FIRST))) -> None:
        self.gate = StartGate(levels)
        self.order: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def arrive(self, *nodes: str) -> None:
        """Let nodes arrive and everything happen that follows."""
        for node in nodes:
            self._tasks.append(asyncio.ensure_future(self._pass(node)))
        await self.settle()

    async def settle(self) -> None:
        """Let everything happen that can."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def _pass(self, node: str) -> None:
        await self.gate.turn(node)
        self.order.append(node)
        await asyncio.sleep(0)
        self.gate.passed(node)


def test_nobody_passes_before_everybody_is_there() -> None:
    async def check() -> None:
        crowd = Crowd()
        await crowd.arrive('sink', 'left', 'source')
        assert crowd.order == []
        assert crowd.gate.absent == {'right'}
        await crowd.arrive('right')
        assert crowd.order[0] == 'sink'
        assert set(crowd.order[1:3]) == {'left', 'right'}
        assert crowd.order[3:] == ['source']
        assert crowd.gate.is_open
        assert crowd.gate.is_passed

    asyncio.run(check())


def test_an_excused_node_is_not_waited_for_in_either_way() -> None:
    async def check() -> None:
        crowd = Crowd()
        await crowd.arrive('source', 'left', 'right')
        crowd.gate.passed('sink')
        await crowd.settle()
        assert crowd.order[-1] == 'source'
        assert len(crowd.order) == 3
        assert crowd.gate.is_passed

    asyncio.run(check())


def test_a_node_that_fails_in_its_turn_lets_the_next_level_pass() -> None:
    async def check() -> None:
        gate = StartGate([['sink'], ['source']])
        first = asyncio.ensure_future(gate.turn('sink'))
        second = asyncio.ensure_future(gate.turn('source'))
        await asyncio.sleep(0.01)
        assert (first.done(), second.done()) == (True, False)
        gate.passed('sink')
        await asyncio.wait_for(second, 1.0)

    asyncio.run(check())


def test_a_node_that_comes_again_before_the_gate_opens_waits_with_the_others() -> None:
    async def check() -> None:
        crowd = Crowd([['sink'], ['source']])
        crowd.gate.passed('source')
        await crowd.arrive('source')
        assert crowd.order == []
        await crowd.arrive('sink')
        assert set(crowd.order) == {'sink', 'source'}

    asyncio.run(check())


def test_a_restarted_node_passes_at_once() -> None:
    async def check() -> None:
        crowd = Crowd()
        await crowd.arrive('sink', 'left', 'right', 'source')
        await asyncio.wait_for(crowd.gate.turn('source'), 1.0)
        await asyncio.wait_for(crowd.gate.turn('sink'), 1.0)

    asyncio.run(check())


def test_a_cancelled_wait_holds_nobody_up() -> None:
    async def check() -> None:
        gate = StartGate([['sink'], ['source']])
        waiting = asyncio.ensure_future(gate.turn('sink'))
        await asyncio.sleep(0)
        waiting.cancel()
        gate.passed('sink')
        await asyncio.wait_for(gate.turn('source'), 1.0)

    asyncio.run(check())


def test_a_gate_without_nodes_is_open() -> None:
    gate = StartGate([])
    assert gate.is_open
    assert gate.is_passed
