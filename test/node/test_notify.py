"""sd_notify and proof of life."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

import pytest

from adora_ros.node.notify import LifeSigns, Notifier, from_environment
from adora_ros.transport import lifepage
from adora_ros.transport.lifepage import LifePage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(5.0)
        receiver.bind(f'\0adora-notify-{os.getpid()}')
        yield receiver


def address(receiver: socket.socket) -> str:
    name: bytes = receiver.getsockname()
    return '@' + name[1:].decode()


@contextlib.contextmanager
def notifier_to(path: str | None) -> Iterator[Notifier]:
    with contextlib.closing(Notifier(path)) as notifier:
        yield notifier


def test_assignments_go_in_one_datagram(receiver: socket.socket) -> None:
    with notifier_to(address(receiver)) as notifier:
        assert notifier.send('READY=1', 'STATUS=fine')
    assert receiver.recv(100) == b'READY=1\nSTATUS=fine'


def test_a_path_works_as_well_as_an_abstract_name(tmp_path: Path) -> None:
    path = str(tmp_path / 'n')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(path)
        with notifier_to(path) as notifier:
            assert notifier.send('READY=1')
        assert receiver.recv(100) == b'READY=1'


@pytest.mark.parametrize('path', [None, '', '@nobody-listens-here', '/nowhere/at/all'])
def test_without_a_listener_nothing_happens(path: str | None) -> None:
    with notifier_to(path) as notifier:
        assert not notifier.send('READY=1')
        assert not notifier.send_now('READY=1')


def test_after_closing_nothing_is_sent(receiver: socket.socket) -> None:
    notifier = Notifier(address(receiver))
    notifier.close()
    assert not notifier.send('READY=1')


def test_proof_of_life_never_waits_for_room(receiver: socket.socket) -> None:
    sent = 0
    with notifier_to(address(receiver)) as notifier:
        while notifier.send_now('WATCHDOG=1'):
            sent += 1
    assert sent > 0


class Clock:
    """Time that passes on demand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(('watchdog', 'interval'), [(None, 1.0), (10.0, 1.0), (4.0, 1.0), (2.0, 0.5), (0.1, 0.025)])
def test_the_interval_is_a_quarter_of_the_watchdog_but_at_most_a_second(
    watchdog: float | None, interval: float
) -> None:
    assert LifeSigns(lambda _: None, watchdog).interval == interval


def test_life_signs_are_limited_to_one_per_interval() -> None:
    clock, sent = Clock(), list[str]()
    life = LifeSigns(sent.append, 2.0, clock)
    life.alive()
    life.alive()
    clock.now += 0.49
    life.alive()
    assert sent == ['WATCHDOG=1']
    clock.now += 0.01
    life.alive()
    assert sent == ['WATCHDOG=1'] * 2


@pytest.mark.parametrize(
    ('microseconds', 'interval'), [('2000000', 0.5), ('0', 1.0), ('', 1.0), ('abc', 1.0), ('-5', 1.0)]
)
def test_the_environment_says_how_often(receiver: socket.socket, microseconds: str, interval: float) -> None:
    notifier, life = from_environment({'NOTIFY_SOCKET': address(receiver), 'WATCHDOG_USEC': microseconds})
    assert life.interval == interval
    assert notifier.send('READY=1')
    assert receiver.recv(100) == b'READY=1'
    life.alive()
    assert receiver.recv(100) == b'WATCHDOG=1'
    notifier.close()


def test_an_empty_environment_is_silent() -> None:
    notifier, life = from_environment({})
    life.alive()
    assert not notifier.send('READY=1')


def test_with_a_page_every_proof_of_life_is_noted_and_none_is_sent() -> None:
    clock, sent = Clock(), list[str]()
    fd = lifepage.create()
    life, page = LifeSigns(sent.append, 2.0, clock), LifePage(fd)
    life.page = LifePage(fd)
    os.close(fd)
    for now in (100.0, 100.1, 100.4):
        clock.now = now
        life.alive()
        assert page.read() == now
    assert sent == []
