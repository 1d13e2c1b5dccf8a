"""Introduces the participants of a dataflow to each other, on the loopback interface.

A Fast DDS participant announces itself before it listens. Each of the others answers at once, to nobody; they know it
then, do not answer again, and it has to wait for their next periodic announcement. Those of a dataflow announce
themselves to its manager's reception only, their *guests*, which passes the announcement on as soon as they listen. All
that two participants have to tell each other then takes as long as Fast DDS takes.

Two participants that meet exchange what each of them has, which is work. Nodes that send to each other meet at once;
all others of a large dataflow when it is up, a few at a time, since they would only make each other late.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from typing import TYPE_CHECKING

from adora_ros.transport.dds import discovery_ports, domain_of, udp_ports
from adora_ros.transport.rtps import Announcement, announcement, participant_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

CROWD = 12
"""Guests up to which all meet at once."""
LISTENING = 0.1
"""Seconds after which a participant listens that has announced itself once and not again."""
PATIENCE = 3.0
"""Seconds after which all guests are to meet although the dataflow is not up."""
ROUND = 0.1
"""Seconds between two rounds of guests that meet, in each of which no guest meets more than one other."""
PAIRS = 8
"""Guests of which that is so at most."""
LOOK = 0.2
"""Seconds between two looks at what participants say while none is on its way: they all repeat themselves."""
REPEAT = 2.0
"""Seconds between two announcements to those that are no guests, such as tools, which may have started since."""
REPEATS = 5
"""One guest out of so many is told of to the others as well each time: a packet may have been lost."""
REPEATED = 2
"""How often a guest is repeated to the others. One that has been heard by another keeps telling it by itself."""
GONE = 10.0
"""Seconds of silence after which a guest is forgotten."""
_PACKET_LIMIT = 65536
_BACKLOG = 200


class _Guest:
    def __init__(self, said: Announcement, packet: bytes, now: float) -> None:
        self.said = said
        self.packet = packet
        self.came = now
        self.heard = now
        self.is_introduced = False
        self.repeated = 0
        self.met: set[bytes] = set()

    @property
    def domain(self) -> int:
        return domain_of(self.said.port)


class Reception:
    """One reception, on the event loop; only the loop's thread may call it.

    Args:
        loop: The event loop.
        participants: Number of processes of the dataflow, the manager included.

    Raises:
        OSError: there is no socket.

    """

    def __init__(self, loop: asyncio.AbstractEventLoop, participants: int) -> None:
        self._loop = loop
        self._participants = participants
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._socket.bind(('127.0.0.1', 0))
        self._guests: dict[bytes, _Guest] = {}
        self._pids: dict[str, int] = {}
        self._neighbours: Mapping[str, frozenset[str]] = {}
        self._is_up = False
        self._awaited: set[str] = set()
        self._look: asyncio.TimerHandle | None = None
        self._rounds: asyncio.TimerHandle | None = None
        self._counter = itertools.count(1)
        self._repeats = loop.call_later(REPEAT, self._repeat)
        loop.add_reader(self._socket, self._on_packets)

    @property
    def port(self) -> int:
        """Where participants announce themselves, by UDP."""
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Introduce nobody any more."""
        for timer in (self._repeats, self._rounds, self._look):
            if timer is not None:
                timer.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()

    # What a run says

    def begin(self, neighbours: Mapping[str, frozenset[str]]) -> None:
        """Take note of which nodes send to each other in a dataflow that is being started."""
        self._neighbours = neighbours
        self._pids.clear()
        self._awaited.clear()
        self._is_up = False
        self._listen()

    def up(self) -> None:
        """Let all guests meet, since the dataflow is up."""
        self._is_up = True
        self._listen()

    def expect(self, node: str, pid: int) -> None:
        """Take note of the process of a node."""
        self._pids[node] = pid
        self._awaited.add(node)
        self._listen()

    def ready(self, node: str) -> None:
        """Take it that the process of a node listens."""
        for guest in tuple(self._guests.values()):
            if guest.said.is_of(self._pids.get(node, 0)):
                self._introduce(guest)
                for other in guest.met & self._guests.keys():
                    self._tell(guest.said.port, self._guests[other])

    def leave(self, node: str) -> None:
        """Take note that the process of a node has ended."""
        pid = self._pids.pop(node, 0)
        for guest in tuple(self._guests.values()):
            if guest.said.is_of(pid):
                del self._guests[guest.said.participant]
        self._awaited.discard(node)
        self._listen()

    # What participants say

    def _listen(self) -> None:
        """Hear at once what is said while a process is on its way, and now and then while all are there."""
        is_quiet = self._is_up and not self._awaited
        if is_quiet and self._look is None:
            self._loop.remove_reader(self._socket)
            self._look = self._loop.call_later(LOOK, self._look_again)
        elif not is_quiet and self._look is not None:
            self._look.cancel()
            self._look = None
            self._loop.add_reader(self._socket, self._on_packets)

    def _look_again(self) -> None:
        self._on_packets()
        self._look = self._loop.call_later(LOOK, self._look_again)

    def _on_packets(self) -> None:
        for _ in range(_BACKLOG):
            try:
                packet = self._socket.recv(_PACKET_LIMIT)
            except OSError:  # nothing is left, or somebody did not listen
                return
            guest = self._guests.get(participant_of(packet))
            if guest is not None and len(guest.packet) == len(packet):  # it says the same; one that leaves says less
                guest.heard = self._loop.time()
                self._introduce(guest)
            elif (said := announcement(packet)) is not None:
                self._take(said, packet)

    def _take(self, said: Announcement, packet: bytes) -> None:
        if not said.port:
            self._guests.pop(said.participant, None)
            return
        now = self._loop.time()
        guest = self._guests.get(said.participant)
        if guest is None:
            self._guests[said.participant] = guest = _Guest(said, packet, now)
            self._loop.call_later(LISTENING, self._introduce, guest)
            return
        guest.packet, guest.heard = packet, now
        self._introduce(guest)

    def _introduce(self, guest: _Guest) -> None:
        """Introduce a guest that listens, once."""
        if guest.is_introduced or self._socket.fileno() < 0:
            return
        guest.is_introduced = True
        self._awaited.difference_update(self._nodes(guest))
        self._listen()
        others = [other for other in self._guests.values() if other.is_introduced and other is not guest]
        for other in others:
            if len(others) < CROWD or self._is_urgent(guest, other):
                self._meet(guest, other)
        self._tell_strangers((guest,))
        if self._rounds is None:
            self._rounds = self._loop.call_later(ROUND, self._round)

    def _is_urgent(self, one: _Guest, other: _Guest) -> bool:
        nodes = [self._nodes(guest) for guest in (one, other)]
        if not all(nodes):
            return True
        return any(a == b or b in self._neighbours.get(a, ()) for a in nodes[0] for b in nodes[1])

    def _nodes(self, guest: _Guest) -> list[str]:
        """Return the nodes that a guest may be of; none for the manager and for processes that nodes have started."""
        return [] if guest.said.is_of(os.getpid()) else [n for n, pid in self._pids.items() if guest.said.is_of(pid)]

    def _meet(self, one: _Guest, other: _Guest) -> None:
        one.met.add(other.said.participant)
        other.met.add(one.said.participant)
        self._tell(other.said.port, one)
        self._tell(one.said.port, other)

    def _tell(self, port: int, guest: _Guest) -> None:
        if domain_of(port) == guest.domain:
            with contextlib.suppress(OSError):
                self._socket.sendto(guest.packet, ('127.0.0.1', port))

    def _tell_strangers(self, guests: Iterable[_Guest]) -> None:
        strangers = udp_ports() - {guest.said.port for guest in self._guests.values()}
        for guest in guests:
            for port in strangers.intersection(discovery_ports(self._participants, guest.domain)):
                self._tell(port, guest)

    # What takes its time

    def _round(self) -> None:
        """Have some meet that have not yet."""
        self._rounds = None
        now = self._loop.time()
        waiting = [guest for guest in self._guests.values() if guest.is_introduced]
        pairs = [(a, b) for a, b in itertools.combinations(waiting, 2) if b.said.participant not in a.met]
        if not pairs:
            return
        busy: set[bytes] = set()
        for one, other in pairs:
            names = {one.said.participant, other.said.participant}
            if len(busy) < 2 * PAIRS and not names & busy and (self._is_up or now - one.came > PATIENCE):
                busy |= names
                self._meet(one, other)
        self._rounds = self._loop.call_later(ROUND, self._round)

    def _repeat(self) -> None:
        now = self._loop.time()
        for guest in tuple(self._guests.values()):
            if now - guest.heard > GONE:
                del self._guests[guest.said.participant]
        guests = [guest for guest in self._guests.values() if guest.is_introduced]
        self._tell_strangers(guests)
        for guest in guests[next(self._counter) % REPEATS :: REPEATS]:
            if guest.repeated < REPEATED:
                guest.repeated += 1
                for other in guest.met & self._guests.keys():
                    self._tell(self._guests[other].said.port, guest)
        self._repeats = self._loop.call_later(REPEAT, self._repeat)
