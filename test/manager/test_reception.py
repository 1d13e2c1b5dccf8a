"""Who is introduced to whom, and when."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from adora_ros.manager import reception as module
from adora_ros.manager.reception import CROWD, Reception
from adora_ros.transport.rtps import announcement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

DEADLINE = 5.0
DOMAIN = 99


class Participant:
    """Announces itself and takes what it is told, on a port of a domain that nobody is in."""

    def __init__(self, pid: int, reception: Reception) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        for number in itertools.count():
            self.port = 7400 + 250 * DOMAIN + 10 + 2 * number
            with contextlib.suppress(OSError):
                self.socket.bind(('127.0.0.1', self.port))
                break
        self.name = b'\x01\x0f' + bytes(2) + struct.pack('<HHi', pid, 7, number)
        self._reception = reception.port
        self.known: set[bytes] = set()

    def announce(self, *, leaving: bool = False) -> None:
        locator = b'' if leaving else struct.pack('<HHiI16s', 0x32, 24, 1, self.port, bytes(12) + b'\x7f\0\0\x01')
        data = b'\0\0\x10\0' + bytes(4) + b'\0\x01\0\xc2' + bytes(8) + b'\0\x03\0\0' + locator + b'\x01\0\0\0'
        flags = 0x0B if leaving else 0x05
        packet = b'RTPS\x02\x03\x01\x0f' + self.name + struct.pack('<BBH', 0x15, flags, len(data)) + data
        self.socket.sendto(packet, ('127.0.0.1', self._reception))

    def hear(self) -> set[bytes]:
        with contextlib.suppress(BlockingIOError):
            while True:
                said = announcement(self.socket.recv(65536))
                assert said is not None
                self.known.add(said.participant)
        return self.known


class Party:
    """A reception and who is there."""

    def __init__(self, reception: Reception) -> None:
        self.reception = reception
        self.everybody: list[Participant] = []

    def comes(self, pid: int) -> Participant:
        self.everybody.append(Participant(pid, self.reception))
        self.everybody[-1].announce()
        return self.everybody[-1]

    async def until_known(self, one: Participant, others: Iterable[Participant]) -> None:
        deadline = asyncio.get_running_loop().time() + DEADLINE
        wanted = {other.name for other in others}
        while not one.hear() >= wanted:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.005)

    def close(self) -> None:
        for one in self.everybody:
            one.socket.close()


@contextlib.asynccontextmanager
async def party() -> AsyncIterator[Party]:
    reception = Reception(asyncio.get_running_loop(), 4)
    made = Party(reception)
    try:
        yield made
    finally:
        made.close()
        reception.close()


def test_nobody_is_introduced_before_it_listens() -> None:
    async def scene() -> None:
        async with party() as one:
            one.reception.begin({})
            one.reception.expect('a', 100)
            one.reception.expect('b', 200)
            first = one.comes(100)
            first.announce()
            second = one.comes(200)
            await asyncio.sleep(0.02)
            assert not first.hear()
            one.reception.ready('b')
            await one.until_known(first, [second])
            await one.until_known(second, [first])

    asyncio.run(scene())


@pytest.mark.parametrize(('look', 'expected'), [(60.0, True), (0.01, False)])
def test_who_comes_when_all_are_there_is_heard_of(
    monkeypatch: pytest.MonkeyPatch, look: float, *, expected: bool
) -> None:
    monkeypatch.setattr(module, 'LOOK', look)

    async def scene() -> None:
        async with party() as one:
            one.reception.begin({})
            one.reception.expect('a', 100)
            first = one.comes(100)
            one.reception.up()
            first.announce()
            if expected:
                one.reception.expect('b', 200)
            second = one.comes(200)
            second.announce()
            await one.until_known(first, [second])
            await one.until_known(second, [first])

    asyncio.run(scene())


def test_in_a_crowd_neighbours_and_the_manager_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'PATIENCE', 60.0)

    async def scene() -> None:
        async with party() as one:
            number = CROWD + 3
            nodes = [f'n{index}' for index in range(number)]
            one.reception.begin({
                node: frozenset(nodes[max(index - 1, 0) : index] + nodes[index + 1 : index + 2])
                for index, node in enumerate(nodes)
            })  # fmt: skip
            host = one.comes(os.getpid() & 0xFFFF)
            host.announce()
            for index, node in enumerate(nodes):
                one.reception.expect(node, 60001 + index)
            guests = [one.comes(60001 + index) for index in range(number)]
            for guest in guests:
                guest.announce()
            await one.until_known(host, guests)
            last, before = guests[-1], guests[-2]
            await one.until_known(last, [host, before])
            assert guests[0].name not in last.hear()
            one.reception.up()
            await one.until_known(last, [host, *guests[:-1]])
            await one.until_known(guests[0], guests[1:])

    asyncio.run(scene())


def test_who_has_left_or_died_is_introduced_to_nobody() -> None:
    async def scene() -> None:
        async with party() as one:
            one.reception.begin({})
            one.reception.expect('dead', 300)
            dead, gone, stays = one.comes(300), one.comes(400), one.comes(500)
            for guest in (dead, gone, stays):
                guest.announce()
            await one.until_known(stays, [dead, gone])
            one.reception.leave('dead')
            gone.announce(leaving=True)
            await asyncio.sleep(0.02)
            late = one.comes(600)
            late.announce()
            await one.until_known(late, [stays])
            assert late.hear() == {stays.name}

    asyncio.run(scene())


def test_guests_are_repeated_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'REPEAT', 0.01)
    monkeypatch.setattr(module, 'REPEATS', 1)

    async def scene() -> None:
        async with party() as one:
            guests = [one.comes(700), one.comes(701)]
            for guest in guests:
                guest.announce()
            await one.until_known(guests[0], guests[1:])
            deadline = asyncio.get_running_loop().time() + DEADLINE
            packets, quiet = 1, 0
            while quiet < 20:
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.01)
                with contextlib.suppress(BlockingIOError):
                    while guests[0].socket.recv(65536):
                        packets, quiet = packets + 1, -1
                quiet += 1
            assert packets == 1 + module.REPEATED

    asyncio.run(scene())


def test_those_that_are_no_guests_are_told_again_and_again() -> None:
    async def scene() -> None:
        async with party() as one:
            guest = one.comes(700)
            guest.announce()
            await asyncio.sleep(0.05)
            tool = Participant(800, one.reception)
            one.everybody.append(tool)
            await one.until_known(tool, [guest])

    asyncio.run(scene())
