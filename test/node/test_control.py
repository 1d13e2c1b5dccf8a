"""The control socket from the side of the node."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.node.control import ControlChannel
from adora_ros.transport.contract import ManagerOp, NodeOp, pack, unpack
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def exits() -> list[int]:
    return []


@pytest.fixture
def manager(exits: list[int]) -> Iterator[tuple[socket.socket, ControlChannel]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(5.0)
    channel = ControlChannel(theirs.detach(), exits.append)
    yield ours, channel
    ours.close()
    assert channel._socket is not None
    channel._socket.close()


def received(manager: socket.socket) -> dict[str, Any]:
    return unpack(manager.recv(1000))


def test_packets_go_in_the_order_of_the_facts(manager: tuple[socket.socket, ControlChannel]) -> None:
    ours, channel = manager
    channel.post(NodeOp.INPUT_CLOSED, input='a', age=1.5)
    channel.post(NodeOp.INPUT_RECOVERED, input='a')
    channel.send(NodeOp.STATE, state='active')
    assert [received(ours) for _ in range(3)] == [
        {'op': 'input_closed', 'input': 'a', 'age': 1.5},
        {'op': 'input_recovered', 'input': 'a'},
        {'op': 'state', 'state': 'active'},
    ]


def test_threads_that_flush_at_the_same_time_send_everything_once(
    manager: tuple[socket.socket, ControlChannel],
) -> None:
    ours, channel = manager

    def send_fifty(n: int) -> None:
        for i in range(50):
            channel.send(NodeOp.HELLO, n=n, i=i)

    threads = [threading.Thread(target=send_fifty, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    packets = [received(ours) for _ in range(200)]
    for thread in threads:
        thread.join()
    for n in range(4):
        assert [p['i'] for p in packets if p['n'] == n] == list(range(50))


def test_the_socket_is_not_passed_on(manager: tuple[socket.socket, ControlChannel]) -> None:
    _, channel = manager
    assert channel._socket is not None
    assert not os.get_inheritable(channel._socket.fileno())


def test_a_bad_packet_or_a_failing_handler_does_not_end_the_reader(
    manager: tuple[socket.socket, ControlChannel],
) -> None:
    ours, channel = manager
    seen = list[Any]()

    def handle(packet: dict[str, Any]) -> None:
        seen.append(packet)
        if packet['op'] == 'node_restarted':
            raise KeyError

    channel.start(handle, lambda: None)
    ours.send(b'not json')
    ours.send(pack(ManagerOp.NODE_RESTARTED, node='a'))
    ours.send(pack(ManagerOp.STOP, cause='MANUAL'))
    eventually(lambda: len(seen) == 2)
    assert [packet['op'] for packet in seen] == ['node_restarted', 'stop']


def test_a20_the_end_of_the_manager_is_told_and_then_the_process_ends(
    manager: tuple[socket.socket, ControlChannel], exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, channel = manager
    told = threading.Event()
    monkeypatch.setattr('adora_ros.node.control.ORPHAN_GRACE', 0.01)
    channel.start(lambda _: None, told.set)
    ours.close()
    assert told.wait(5.0)
    eventually(lambda: exits == [1])


def assert_set(event: threading.Event) -> None:
    assert event.wait(10.0)


def test_a20_the_process_ends_even_if_nobody_can_be_told(
    manager: tuple[socket.socket, ControlChannel], exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, channel = manager
    stuck = threading.Event()
    monkeypatch.setattr('adora_ros.node.control.ORPHAN_GRACE', 0.01)
    channel.start(lambda _: None, lambda: assert_set(stuck))
    ours.close()
    eventually(lambda: exits == [1])
    stuck.set()


def test_sending_to_a_manager_that_is_gone_is_no_error(manager: tuple[socket.socket, ControlChannel]) -> None:
    ours, channel = manager
    ours.close()
    channel.send(NodeOp.STATE, state='active')


def test_without_a_socket_nothing_happens() -> None:
    channel = ControlChannel(None)
    channel.start(lambda _: None, lambda: None)
    channel.send(NodeOp.STATE, state='active')
    assert not channel._outgoing
