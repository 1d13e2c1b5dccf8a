"""What managers on several machines tell each other, over a bus in the place of ROS."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from adora_ros.manager.peers import Peers
from adora_ros.supervision import NodeState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    import pytest

    from adora_ros.manager.peers import PeerNode


class Bus:
    """Carries messages to all who listen; latched, as the topic is: who comes later gets the last of each."""

    def __init__(self) -> None:
        self._listening: dict[str, list[Callable[[Any], None]]] = {}
        self._last: dict[object, tuple[str, Any]] = {}

    def listen(self, topic: str, callback: Callable[[Any], None]) -> tuple[str, Callable[[Any], None]]:
        """Have a callback called with all messages of a topic."""
        self._listening.setdefault(topic, []).append(callback)
        for where, message in self._last.values():
            if where == topic:
                callback(message)
        return topic, callback

    def forget(self, topic: str, callback: Callable[[Any], None]) -> None:
        """End that."""
        self._listening[topic].remove(callback)

    def send(self, sender: object, topic: str, message: Any) -> None:
        """Carry a message."""
        self._last[sender] = (topic, message)
        for callback in tuple(self._listening.get(topic, ())):
            callback(message)

    def kill(self, victim: Peers) -> None:
        """Have a manager hear and say nothing any more."""
        for callbacks in self._listening.values():
            callbacks[:] = [each for each in callbacks if getattr(each, '__self__', None) is not victim]
        self.leave(victim._publisher)

    def leave(self, sender: object) -> None:
        """Keep nothing of a sender that is gone."""
        self._last.pop(sender, None)


class BusNode:
    """What :class:`Peers` uses of an rclpy node."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.create_subscription: Any = lambda _kind, topic, callback, _qos: bus.listen(topic, callback)

    def create_publisher(self, _kind: Any, topic: str, _qos: Any) -> Any:
        """Return what sends to a topic."""
        bus = self._bus

        class Publisher:
            def publish(self, message: Any) -> None:
                bus.send(self, topic, message)

        return Publisher()

    def destroy_publisher(self, publisher: Any) -> None:
        """Forget it."""
        self._bus.leave(publisher)

    def destroy_subscription(self, subscription: Any) -> None:
        """Forget it."""
        self._bus.forget(*subscription)

    def get_logger(self) -> Any:
        """Return something that says nothing."""
        return self

    def debug(self, text: str) -> None:
        """Say nothing."""


class Heard:
    """Whoever is told; it keeps what."""

    def __init__(self) -> None:
        self.nodes: dict[str, PeerNode] = {}
        self.lost: list[str] = []

    def peer_changed(self, node: str, before: PeerNode, after: PeerNode) -> None:
        """Keep how a node is."""
        assert before != after
        self.nodes[node] = after

    def machine_changed(self, text: str, *, lost: Iterable[str]) -> None:
        """Keep the nodes of a machine that is lost."""
        del text
        self.lost += lost


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type] # it is a coroutine


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def machine(bus: Bus, name: str, local: str, elsewhere: dict[str, str]) -> tuple[Peers, Heard]:
    peers, heard = Peers(BusNode(bus), name, (local,), elsewhere), Heard()  # type: ignore[arg-type]
    peers.listen(heard)
    return peers, heard


def test_a_machine_that_comes_later_learns_what_there_is() -> None:
    async def work() -> None:
        bus = Bus()
        first, _ = machine(bus, 'A', 'a', {'b': 'B'})
        first.note('a', ready=True, incarnation=3)
        first.note('b', ready=True)  # not ours to tell
        await settle()
        second, heard = machine(bus, 'B', 'b', {'a': 'A'})
        await settle()
        assert (heard.nodes['a'].ready, heard.nodes['a'].incarnation) == (True, 3)
        assert second.takes_part('a')
        assert not second.takes_part('b')
        first.note('a', state=NodeState.FINISHED)
        await settle()
        assert not second.takes_part('a')

    run(work)


def test_who_is_done_leaves_when_the_others_know_and_not_before() -> None:
    async def work() -> None:
        bus = Bus()
        first, _ = machine(bus, 'A', 'a', {'b': 'B'})
        first.note('a', ready=True, passed=True, state=NodeState.FAILED, reason='exit code 3')
        closing = asyncio.ensure_future(first.close(30.0))
        await settle()
        assert not closing.done()
        second, heard = machine(bus, 'B', 'b', {'a': 'A'})
        await settle()
        assert closing.done()
        assert (heard.nodes['a'].state, heard.nodes['a'].reason) == (NodeState.FAILED, 'exit code 3')
        second.note('b', state=NodeState.FINISHED)
        await asyncio.wait_for(second.close(30.0), 5.0)  # A has left, and is not waited for

    run(work)


def test_a_manager_that_was_killed_is_not_waited_for_once_it_has_a_successor() -> None:
    async def work() -> None:
        bus = Bus()
        killed, _ = machine(bus, 'B', 'b', {'a': 'A'})
        first, _ = machine(bus, 'A', 'a', {'b': 'B'})
        await settle()
        bus.kill(killed)
        machine(bus, 'B', 'b', {'a': 'A'})
        await settle()
        first.note('a', state=NodeState.FINISHED)
        await settle()
        await asyncio.wait_for(first.close(30.0), 5.0)

    run(work)


def test_nobody_is_waited_for_longer_than_that() -> None:
    async def work() -> None:
        peers, _ = machine(Bus(), 'A', 'a', {'b': 'B'})
        before = time.monotonic()
        await peers.close(0.05)
        assert 0.04 < time.monotonic() - before < 5.0

    run(work)


def test_what_is_no_share_is_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        bus = Bus()
        _, heard = machine(bus, 'A', 'a', {'b': 'B'})
        said: list[str] = []
        monkeypatch.setattr(BusNode, 'warning', lambda _self, text, **_: said.append(text), raising=False)

        class Message:
            data = '{"machine": "B"}'

        bus.send(object(), 'shares', Message())
        await settle()
        assert heard.nodes == {}
        assert len(said) == 1

    run(work)
