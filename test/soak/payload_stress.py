"""Kills writers and readers of shared-memory values at any instant, and looks whether anybody notices.

Writers put values of one byte, repeated, into slots and send their descriptors to all readers by datagram; readers take
leases, hold some of them for a while, and compare every byte, when they take the value and when they let it go. A value
that is torn ends the reader with :data:`TORN`. A parent kills one of them every few milliseconds and replaces it.

    python test/soak/payload_stress.py --kills 1000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import time
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adora_ros.manager.sharedmemory import SharedMemory
from adora_ros.transport import descriptor, ofd
from adora_ros.transport.payloads import BYTES, PayloadLostError, PayloadReader, PayloadWriter
from adora_ros.transport.ring import MAX_SLOTS

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

TORN = 3
READERS = 4
SIZES = (70_000, 300_000, 1_000_000)
LIMIT = 12_000_000
STALL = 5.0
"""Seconds without a message to a reader that lives from which on it counts as stalled."""
_COUNTS = struct.Struct('<qqq')
"""Values received, dropped, and the time of the last in nanoseconds on the steady clock."""


@dataclass
class Outcome:
    """What became of it."""

    kills: int = 0
    received: int = 0
    dropped: int = 0
    torn: int = 0
    stalled: int = 0
    crashed: list[int] = field(default_factory=list)
    """Wait statuses of processes that ended by themselves."""
    leased: int = 0
    """Files of which a slot is still locked after everybody was killed."""


def write(folder: Path, incarnation: int, addresses: list[str], seed: int) -> None:
    """Send values to all readers, for ever."""
    choice = random.Random(seed)
    outgoing = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    outgoing.settimeout(0.0)
    writer = PayloadWriter(folder / f'writer.{incarnation}.0', limit=LIMIT, keep=10, latched=False)
    number = 0
    while True:
        number += 1
        draft = writer.reserve(choice.choice(SIZES))
        if draft is None:
            time.sleep(0.001)
            continue
        np.asarray(draft.memory)[:] = number % 251
        message = descriptor.to_message(draft.commit(BYTES), str(number))
        for address in addresses:
            with contextlib.suppress(OSError):
                outgoing.sendto(message, address)
        time.sleep(choice.choice((0.0, 0.0005, 0.002)))


def check(value: pa.Buffer, number: int) -> None:
    """End the process if a value is not what was sent."""
    if not (np.frombuffer(value, np.uint8) == number % 251).all():
        os._exit(TORN)


def read(address: str, counts: Path, seed: int) -> None:
    """Take values and hold some of them, for ever."""
    choice = random.Random(seed)
    incoming = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    incoming.bind(address)
    reader = PayloadReader()
    held: list[tuple[pa.Buffer, int]] = []
    received = dropped = 0
    with counts.open('r+b', buffering=0) as file:
        while True:
            data = descriptor.descriptor_data(incoming.recv(4096))
            assert data is not None
            found, text = descriptor.parse(data)
            try:
                value = reader.lease(found)
            except PayloadLostError:
                dropped += 1
                continue
            received += 1
            check(value, int(text))
            held.append((value, int(text)))
            while len(held) > choice.randrange(12):
                check(*held.pop(choice.randrange(len(held))))
            os.pwrite(file.fileno(), _COUNTS.pack(received, dropped, time.monotonic_ns()), 0)


class Stress:
    """Starts, kills and replaces; for a process without other threads of its own.

    Args:
        folder: in shared memory, of nobody else.
        scratch: folder for what the readers have counted.
        seed: of everything that is left to chance.

    """

    def __init__(self, folder: Path, scratch: Path, seed: int) -> None:
        self._folder = folder
        self._choice = random.Random(seed)
        self._name = f'\0adora-stress/{uuid.uuid4()}'
        self._scratch = scratch
        self._incarnation = 0
        self._pids: dict[str, int] = {}
        self._born: dict[str, float] = {}
        self.outcome = Outcome()

    def run(self, kills: int) -> Outcome:
        """Kill ``kills`` processes and return what came of it."""
        try:
            self._trouble(kills)
        finally:
            for role in tuple(self._pids):
                self._kill(role)
        self.outcome.leased = sum(not self._is_free(file) for file in self._folder.iterdir())
        return self.outcome

    def _trouble(self, kills: int) -> None:
        for reader in range(READERS):
            self._start(f'reader{reader}')
        self._start('writer')
        while self.outcome.kills < kills and not (self.outcome.torn or self.outcome.crashed):
            time.sleep(self._choice.uniform(0.0, 0.06))
            self._look()
            role = self._choice.choice(['writer', *(f'reader{reader}' for reader in range(READERS))])
            self._kill(role)
            self.outcome.kills += 1
            self._start(role)
        time.sleep(0.3)
        self._look()

    def _start(self, role: str) -> None:
        self._incarnation += 1
        seed = self._choice.randrange(1 << 30)
        addresses = [f'{self._name}/reader{reader}' for reader in range(READERS)]
        if role == 'writer':
            for old in sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-1]:
                old.unlink()
            self._fork(role, lambda: write(self._folder, self._incarnation, addresses, seed))
        else:
            counts = self._scratch / role
            counts.write_bytes(_COUNTS.pack(0, 0, 0))
            self._fork(role, lambda: read(f'{self._name}/{role}', counts, seed))

    def _fork(self, role: str, work: Callable[[], None]) -> None:
        pid = os.fork()
        if not pid:
            try:
                work()
            finally:
                os._exit(1)
        self._pids[role] = pid
        self._born[role] = time.monotonic()

    def _kill(self, role: str) -> None:
        pid = self._pids.pop(role)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            self.outcome.torn += os.WEXITSTATUS(status) == TORN
            self.outcome.crashed.append(status)
        if role != 'writer':
            received, dropped, _ = self._counts(role)
            self.outcome.received += received
            self.outcome.dropped += dropped

    def _look(self) -> None:
        """Count readers that have had nothing for long though a writer has been there."""
        now = time.monotonic()
        for role in self._pids:
            last = max(self._born[role], self._born['writer'])
            if role != 'writer':
                last = max(last, self._counts(role)[2] / 1e9)
                self.outcome.stalled += now - last > STALL

    def _counts(self, role: str) -> tuple[int, int, int]:
        received, dropped, last = _COUNTS.unpack((self._scratch / role).read_bytes())
        return received, dropped, last

    @staticmethod
    def _is_free(file: Path) -> bool:
        fd = os.open(file, os.O_RDWR)
        try:
            return ofd.lock_exclusive(fd, 0, MAX_SLOTS)
        finally:
            os.close(fd)


def main() -> int:
    """Run it, print the outcome as JSON and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--kills', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    memory = SharedMemory(f'stress-{uuid.uuid4()}')
    with contextlib.closing(memory), tempfile.TemporaryDirectory() as scratch:
        assert memory.folder is not None, memory.problem
        outcome = Stress(memory.folder, Path(scratch), arguments.seed).run(arguments.kills)
    sys.stdout.write(json.dumps(asdict(outcome)) + '\n')
    bad = outcome.torn or outcome.stalled or outcome.crashed or outcome.leased
    return 1 if bad or not outcome.received else 0


if __name__ == '__main__':
    sys.exit(main())
