"""The notify socket: who is heard, and what."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from adora_ros.manager.incarnation import socket_address
from adora_ros.manager.notify import NotifySocket, in_group
from manager.harness import descriptors

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def notify() -> Iterator[NotifySocket]:
    sink = NotifySocket(f'adora-test/{uuid.uuid4()}')
    yield sink
    sink.close()


def send(notify: NotifySocket, *datagrams: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        for datagram in datagrams:
            sender.sendto(datagram, '\0' + notify.address[1:])


def everybody(pid: int) -> bool:
    del pid
    return True


def test_a_notification_is_read_as_its_variables(notify: NotifySocket) -> None:
    send(notify, b'READY=1\nSTATUS=all is well = good\n')
    assert list(notify.drain(everybody)) == [{'READY': '1', 'STATUS': 'all is well = good'}]
    assert list(notify.drain(everybody)) == []


def test_lines_that_are_no_variables_are_skipped(notify: NotifySocket) -> None:
    send(notify, b'nonsense\n\nWATCHDOG=1\n', b'', b'\xff\xfe=\xff\n')
    assert list(notify.drain(everybody)) == [{'WATCHDOG': '1'}, {}, {'\ufffd\ufffd': '\ufffd'}]


def test_many_datagrams_are_drained_at_once_and_in_order(notify: NotifySocket) -> None:
    waiting = 10  # what net.unix.max_dgram_qlen lets wait by default
    send(notify, *(f'N={number}'.encode() for number in range(waiting)))
    assert [found['N'] for found in notify.drain(everybody)] == [str(number) for number in range(waiting)]


def test_the_kernel_tells_who_has_sent(notify: NotifySocket) -> None:
    send(notify, b'READY=1')
    asked: list[int] = []

    def nobody(pid: int) -> bool:
        asked.append(pid)
        return False

    assert list(notify.drain(nobody)) == []
    assert asked == [os.getpid()]


def test_a_foreign_process_is_not_heard(notify: NotifySocket) -> None:
    script = (
        'import socket, sys\n'
        's = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n'
        's.sendto(b"READY=1", "\\0" + sys.argv[1])\n'
        'sys.stdin.read()\n'
    )
    command = [sys.executable, '-S', '-c', script, notify.address[1:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as stranger:
        try:
            notify_is_readable(notify)
            assert list(notify.drain(lambda pid: in_group(pid, os.getpgrp()))) == []
        finally:
            stranger.communicate()


def test_a_helper_that_has_ended_by_now_is_heard(notify: NotifySocket) -> None:
    script = 'import socket, sys; socket.socket(1, 2).sendto(b"READY=1", "\\0" + sys.argv[1])'
    subprocess.run([sys.executable, '-S', '-c', script, notify.address[1:]], check=True)
    assert list(notify.drain(lambda pid: in_group(pid, os.getpgrp()))) == [{'READY': '1'}]


def test_descriptors_that_are_sent_along_are_not_kept(notify: NotifySocket) -> None:
    before = descriptors()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect('\0' + notify.address[1:])
        socket.send_fds(sender, [b'FDSTORE=1'], [0, 1])
    assert list(notify.drain(everybody)) == [{'FDSTORE': '1'}]
    assert descriptors() == before


def test_a_closed_socket_yields_nothing_and_frees_its_address(notify: NotifySocket) -> None:
    notify.close()
    assert list(notify.drain(everybody)) == []
    NotifySocket(notify.address[1:]).close()


def test_closing_while_draining_ends_the_draining(notify: NotifySocket) -> None:
    send(notify, b'A=1', b'A=2')
    seen = []
    for variables in notify.drain(everybody):
        seen.append(variables)
        notify.close()
    assert seen == [{'A': '1'}]


def test_the_address_of_an_incarnation_fits_and_cannot_be_guessed() -> None:
    run_id = str(uuid.uuid4())
    NotifySocket(socket_address(run_id)).close()
    assert len({socket_address(run_id) for _ in range(100)}) == 100


def notify_is_readable(notify: NotifySocket) -> None:
    assert select.select([notify], [], [], 20.0)[0]
