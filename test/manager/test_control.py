"""The manager's end of a control socket."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.errors import TransportError
from adora_ros.manager.control import ControlSocket
from adora_ros.transport.contract import (
    CONTROL_PACKET_LIMIT,
    CONTROL_TEXT_LIMIT,
    ManagerOp,
    NodeOp,
    pack,
    shortened,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

LIMIT = 20.0


def on_loop(test: Callable[[ControlSocket, socket.socket], Coroutine[Any, Any, None]]) -> None:
    """Run a test with a control socket and the node's end of it."""

    async def main() -> None:
        control = ControlSocket(asyncio.get_running_loop())
        with socket.socket(fileno=os.dup(control.child_fd)) as node:
            control.hand_over()
            node.setblocking(False)  # noqa: FBT003 - positional only
            try:
                await asyncio.wait_for(test(control, node), LIMIT)
            finally:
                control.close()

    asyncio.run(main())


def test_packets_arrive_in_order() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        for number in range(10):
            control.send(ManagerOp.INPUT_CLOSED, input=str(number))
        packets = [unpack(node.recv(CONTROL_PACKET_LIMIT)) for _ in range(10)]
        assert packets == [{'op': 'input_closed', 'input': str(number)} for number in range(10)]

    on_loop(check)


def test_a_reader_that_does_not_read_blocks_nobody_and_loses_nothing() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        count = 5000
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for number in range(count):
            control.send(ManagerOp.NODE_FAILED, node=str(number), error='x' * 200, inputs=[])
        assert loop.time() - begin < 5.0
        seen: list[int] = []
        while len(seen) < count:
            seen.append(int(unpack(await loop.sock_recv(node, CONTROL_PACKET_LIMIT))['node']))
        assert seen == list(range(count))

    on_loop(check)


def test_what_the_node_says_is_drained_in_order() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        for state in ('inactive', 'active'):
            node.send(pack(NodeOp.STATE, state=state))
        assert [packet['state'] for packet in control.drain()] == ['inactive', 'active']
        assert list(control.drain()) == []

    on_loop(check)


def test_a_bad_packet_is_an_error_and_those_after_it_are_read() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        node.send(b'{"no": "op"}')
        node.send(pack(NodeOp.STATE, state='active'))
        with pytest.raises(TransportError, match='has no op'):
            list(control.drain())
        assert [packet['state'] for packet in control.drain()] == ['active']

    on_loop(check)


def test_a_node_that_is_gone_gets_nothing_and_says_nothing() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        asyncio.get_running_loop().add_reader(control, lambda: None)
        node.close()
        control.send(ManagerOp.STOP, cause='MANUAL')
        assert list(control.drain()) == []
        assert not asyncio.get_running_loop().remove_reader(control), 'an end of file that is read is not watched on'

    on_loop(check)


def test_a_node_that_goes_while_packets_wait_gets_none_of_them() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        for _ in range(2000):
            control.send(ManagerOp.NODE_FAILED, node='n', error='x' * 200, inputs=[])
        node.close()
        control.send(ManagerOp.STOP, cause='MANUAL')
        assert not asyncio.get_running_loop().remove_writer(control)

    on_loop(check)


def test_a_closed_socket_takes_packets_and_drops_them() -> None:
    async def check(control: ControlSocket, node: socket.socket) -> None:
        control.close()
        control.send(ManagerOp.STOP, cause='MANUAL')
        assert list(control.drain()) == []
        assert node.recv(1) == b''
        control.close()

    on_loop(check)


def test_a_packet_that_is_too_large_is_an_error_and_a_long_text_can_be_shortened() -> None:
    text = 'x' * CONTROL_PACKET_LIMIT
    with pytest.raises(TransportError, match='node_failed has 65'):
        pack(ManagerOp.NODE_FAILED, node='n', error=text, inputs=[])
    short = shortened(text)
    assert (len(short), short[-2:]) == (CONTROL_TEXT_LIMIT, 'x…')
    assert shortened('short') == 'short'
    assert shortened('caf\udce9') == 'caf?'
    assert unpack(pack(ManagerOp.NODE_FAILED, node='n', error=short, inputs=[]))['error'] == short
