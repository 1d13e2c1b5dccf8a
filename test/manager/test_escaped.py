"""Killing what incarnations leave behind: one look serves all who ask before it begins."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, cast

import pytest

from adora_ros.manager.escaped import Escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adora_ros.manager.processes import Processes


class Machine:
    """Processes by id, with the name of their incarnation."""

    def __init__(self, processes: dict[int, str]) -> None:
        self.processes = processes
        self.looks = 0
        self.may_look = threading.Event()
        self.may_look.set()
        self.looking = threading.Event()
        self.error: OSError | None = None

    def marked(self, marks: Mapping[str, str]) -> Iterator[int]:
        assert marks == {'ADORA_RUN': 'run'}
        self.looks += 1
        self.looking.set()
        assert self.may_look.wait(10.0)
        if self.error is not None:
            raise self.error
        yield from tuple(self.processes)

    def variable(self, pid: int, name: str) -> str | None:
        assert name == 'ADORA_INCARNATION'
        return self.processes.get(pid)

    def kill(self, pid: int) -> None:
        del self.processes[pid]


def escaped(machine: Machine) -> Escaped:
    return Escaped(cast('Processes', machine), 'run', asyncio.get_running_loop())


def test_only_what_is_of_the_incarnation_is_killed() -> None:
    machine = Machine({11: 'a/0', 12: 'a/1', 13: 'a/0', 14: 'b/0'})

    async def main() -> None:
        assert await escaped(machine).kill('a/0') == (11, 13)

    asyncio.run(main())
    assert machine.processes == {12: 'a/1', 14: 'b/0'}


def test_those_who_ask_during_a_look_share_the_next_one() -> None:
    machine = Machine({number: f'n/{number}' for number in range(9)})

    async def main() -> None:
        left = escaped(machine)
        machine.may_look.clear()
        first = asyncio.ensure_future(left.kill('n/0'))
        await asyncio.to_thread(machine.looking.wait, 10.0)
        others = [asyncio.ensure_future(left.kill(f'n/{number}')) for number in range(1, 5)]
        await asyncio.sleep(0)
        machine.may_look.set()
        assert await first == (0,)
        assert await asyncio.gather(*others) == [(1,), (2,), (3,), (4,)]
        assert await left.kill('n/0') == ()

    asyncio.run(main())
    assert machine.looks == 3
    assert sorted(machine.processes) == [5, 6, 7, 8]


def test_a_look_that_fails_is_known_to_those_who_asked_and_is_not_the_last() -> None:
    machine = Machine({1: 'a/0'})

    async def main() -> None:
        left = escaped(machine)
        machine.error = OSError('no files left')
        with pytest.raises(OSError, match='no files left'):
            await left.kill('a/0')
        machine.error = None
        assert await left.kill('a/0') == (1,)

    asyncio.run(main())
