"""What participants announce of themselves, as far as others have to know it to introduce them to each other.

The layout is that of the RTPS specification, 8.3 and 9.4: a header, then submessages, of which that with the data of a
participant has a list of parameters.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = struct.Struct('4s4x12s')
_PARTICIPANT_SIZE = 12
_DATA = 0x15
_LITTLE_ENDIAN, _INLINE_QOS, _HAS_DATA = 0x01, 0x02, 0x04
_PARTICIPANT_WRITER = b'\x00\x01\x00\xc2'
_ENCAPSULATION = 4
_DISCOVERY_LOCATOR, _END_OF_LIST = 0x32, 0x01
_UDP_V4 = 1
_VENDOR_FAST_DDS = b'\x01\x0f'


class Announcement(NamedTuple):
    """What a participant says of itself."""

    participant: bytes
    """The first 12 bytes of its GUID and those of all that it has."""
    port: int
    """Where it listens for others, by UDP; 0 when it leaves."""

    def is_of(self, pid: int) -> bool:
        """Return whether it may be one of a process."""
        return is_of(self.participant, pid)


def is_of(guid: bytes, pid: int) -> bool:
    """Return whether a GUID may be one of a process: Fast DDS has the lower half of the process id in each."""
    return guid[:2] == _VENDOR_FAST_DDS and guid[4:6] == (pid & 0xFFFF).to_bytes(2, 'little')


def participant_of(packet: bytes) -> bytes:
    """Return what :attr:`Announcement.participant` would be, at no cost, of whatever packet."""
    return packet[_HEADER.size - _PARTICIPANT_SIZE : _HEADER.size]


def announcement(packet: bytes) -> Announcement | None:
    """Return what a packet announces; None if it is none of a participant."""
    try:
        magic, participant = _HEADER.unpack_from(packet)
        if magic != b'RTPS':
            return None
        for flags, body in _data(packet):
            if body[8:12] == _PARTICIPANT_WRITER:
                is_there = flags & (_INLINE_QOS | _HAS_DATA) == _HAS_DATA
                return Announcement(participant, _port(body, flags) if is_there else 0)
    except (struct.error, IndexError):
        pass
    return None


def _data(packet: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield flags and body of each DATA."""
    at = _HEADER.size
    while at + 4 <= len(packet):
        kind, flags = packet[at], packet[at + 1]
        (size,) = struct.unpack_from(_order(flags) + 'H', packet, at + 2)
        end = at + 4 + size if size else len(packet)
        if kind == _DATA:
            yield flags, packet[at + 4 : end]
        at = end


def _port(body: bytes, flags: int) -> int:
    (skipped,) = struct.unpack_from(_order(flags) + 'H', body, 2)
    at = 4 + skipped
    order = _order(body[at + 1])
    at += _ENCAPSULATION
    key = 0
    while key != _END_OF_LIST:
        key, size = struct.unpack_from(order + 'HH', body, at)
        if key == _DISCOVERY_LOCATOR:
            kind, port = struct.unpack_from(order + 'iI', body, at + 4)
            if kind == _UDP_V4:
                return int(port)
        at += 4 + size
    return 0


def _order(flags: int) -> str:
    return '<' if flags & _LITTLE_ENDIAN else '>'
