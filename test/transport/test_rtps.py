"""What participants announce, taken from what Fast DDS sends."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adora_ros.transport import dds
from adora_ros.transport.rtps import Announcement, announcement

PARTICIPANT = """
import os, sys, rclpy
from rclpy.signals import SignalHandlerOptions
rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node('participant')
print(os.getpid(), flush=True)
sys.stdin.read()
node.destroy_node()
rclpy.shutdown()
"""


def test_fast_dds_says_who_and_where_it_is_and_that_it_leaves(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reception:
        reception.bind(('127.0.0.1', 0))
        port = reception.getsockname()[1]
        env = {**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_LOCALHOST_ONLY': ''}
        env.update(dds.write_profile(tmp_path, 3, env, reception=port, is_guest=True))
        streams = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE}
        with subprocess.Popen([sys.executable, '-c', PARTICIPANT], env=env, **streams) as participant:  # type: ignore[call-overload]
            pid = int(participant.stdout.readline())
            first = received(reception)
            assert first is not None
            assert first.is_of(pid)
            assert not first.is_of(pid + 1)
            assert dds.domain_of(first.port) == int(os.environ['ROS_DOMAIN_ID'])
            assert first.port in dds.discovery_ports(200, dds.domain_of(first.port))
            assert listens(first.port)
            participant.stdin.close()
            said = [received(reception)]
            while said[-1] is None or said[-1].port:
                said.append(received(reception))
            assert said[-1] == Announcement(first.participant, 0)


def received(reception: socket.socket) -> Announcement | None:
    assert select.select([reception], [], [], 10)[0]
    return announcement(reception.recv(65536))


def listens(port: int) -> bool:
    return f'0100007F:{port:04X}' in Path('/proc/net/udp').read_text(encoding='ascii')


@pytest.mark.parametrize('packet', [b'', b'RTPS', b'HTTP' + bytes(100), b'RTPS' + bytes(16), b'RTPS' + bytes(300)])
def test_other_packets_announce_nothing(packet: bytes) -> None:
    assert announcement(packet) is None


def test_a_packet_that_ends_early_announces_nothing() -> None:
    head = b'RTPS\x02\x03\x01\x0f' + bytes(range(12))
    writer = bytes.fromhex('000010000000000000010 0c2'.replace(' ', ''))
    packet = head + b'\x15\x05\xff\x00' + writer + bytes(8) + b'\x00\x03\x00\x00' + b'\x32\x00\x18\x00\x01\x00'
    assert announcement(packet) is None
