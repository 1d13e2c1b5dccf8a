"""A cable that loses frames: it carries what comes at one end to the other, and drops some of it at random.

Run as ``cable.py INTERFACE INTERFACE SEED``. Each line of the standard input is the share of the frames that is lost
from then on, in each direction, and is answered with how many were carried and how many were lost until then.
"""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import sys

SOL_PACKET, PACKET_VNET_HDR = 263, 15
"""From ``linux/if_packet.h``: with the header, frames keep checksums that are still to be filled in."""
ETH_P_ALL = 3
LARGEST = 128 * 1024
"""Bytes of a frame at most."""
ROUND = 64
"""Frames that are taken from one end before it is the other one's turn."""


def opened(interface: str) -> socket.socket:
    """Return a socket for all frames of an interface."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * 1024 * 1024)
    made.bind((interface, ETH_P_ALL))
    made.settimeout(0.0)
    return made


class Cable:
    """Two ends and what becomes of the frames between them."""

    def __init__(self, one: str, other: str, seed: int) -> None:
        ends = opened(one), opened(other)
        self.ends = {ends[0]: ends[1], ends[1]: ends[0]}
        self.share = 0.0
        self.carried = 0
        self.lost = 0
        self._chance = random.Random(seed)

    def carry(self, end: socket.socket) -> None:
        """Take what has come at one end."""
        for _ in range(ROUND):
            try:
                frame, (_, _, kind, *_) = end.recvfrom(LARGEST)
            except BlockingIOError:
                return
            if kind == socket.PACKET_OUTGOING:
                continue
            if self._chance.random() < self.share:
                self.lost += 1
                continue
            self.carried += 1
            with contextlib.suppress(OSError):  # an end that is down, or whose queue is full, loses it
                self.ends[end].send(frame)


def main() -> None:
    """Carry until the input ends."""
    cable = Cable(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        for end in cable.ends:
            selector.register(end, selectors.EVENT_READ, end)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    cable.carry(key.data)
                    continue
                line = sys.stdin.readline()
                if not line:
                    return
                cable.share = float(line)
                sys.stdout.write(f'{cable.carried} {cable.lost}\n')
                sys.stdout.flush()


if __name__ == '__main__':
    main()
