"""The event stream between a manager and launch, both ends in one process."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.launch.stream import EventServer
from adora_ros.manager import eventstream
from adora_ros.manager.events import EventKind, Level, ManagerEvent
from adora_ros.manager.eventstream import DETACH, EventStream

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

DEADLINE = 20.0


def event(number: int, text: str = 'up') -> ManagerEvent:
    return ManagerEvent(
        seq=number,
        stamp=1,
        level=Level.INFO,
        kind=EventKind.NODE_UP,
        node='kamera-ü',
        incarnation=0,
        text=text,
        details={'consumers': 'a b'},
    )


def within(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, DEADLINE))


def read_late(number: int, text: str) -> list[dict[str, Any]]:
    """Return what a reader takes that begins after so many events have been written."""
    taken: list[dict[str, Any]] = []

    async def work() -> None:
        server = EventServer(taken.append)
        stream = EventStream(server.address)
        for each in range(number):
            stream.event(event(each, text))
        serving = asyncio.ensure_future(server.serve())
        await asyncio.to_thread(stream.close, DEADLINE)
        await serving
        server.close()

    within(work())
    return taken


def test_all_events_arrive_in_order_up_to_the_end() -> None:
    taken = read_late(1000, 'x' * 1000)
    assert [record['seq'] for record in taken] == list(range(1000))
    assert taken[7] == {
        'seq': 7,
        'stamp': 1,
        'level': 'info',
        'kind': 'NODE_UP',
        'node': 'kamera-ü',
        'incarnation': 0,
        'text': 'x' * 1000,
        'details': {'consumers': 'a b'},
    }


def test_a_reader_that_takes_nothing_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eventstream, 'WAITING', 5)
    taken = read_late(20, 'x' * 1_000_000)
    assert [record['seq'] for record in taken] == list(range(len(taken)))
    assert 5 <= len(taken) <= 7


def test_a_stop_before_the_manager_connects_reaches_it() -> None:
    taken: list[dict[str, Any]] = []

    async def work() -> None:
        server = EventServer(taken.append)
        server.stop()
        stream = EventStream(server.address)
        asked = asyncio.Event()
        stream.when_closed(asked.set)
        closed = [stream.is_closed]
        serving = asyncio.ensure_future(server.serve())
        await asked.wait()
        assert [*closed, stream.is_closed] == [False, True]
        stream.event(event(1))
        await asyncio.to_thread(stream.close, DEADLINE)
        await serving
        server.close()

    within(work())
    assert [record['seq'] for record in taken] == [1]


def test_a_reader_that_takes_nothing_holds_nobody_up() -> None:
    async def work() -> None:
        server = EventServer(lambda _record: None)
        stream = EventStream(server.address)
        for number in range(2000):
            stream.event(event(number, 'x' * 1000))
        start = asyncio.get_running_loop().time()
        stream.close(0.2)
        assert asyncio.get_running_loop().time() - start < DEADLINE / 2
        server.close()

    within(work())


def test_a_reader_may_leave_and_let_the_dataflow_go_on(tmp_path: Path) -> None:
    async def work() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(tmp_path / 'socket'))
            listener.listen()
            stream = EventStream(str(tmp_path / 'socket'))
            stream.when_closed(lambda: pytest.fail('it must not stop'))
            reader, _ = listener.accept()
            reader.sendall(DETACH)
            reader.close()
        while stream.is_open:
            stream.event(event(1))
            await asyncio.sleep(0.01)
        assert not stream.is_closed
        stream.close()

    within(work())
