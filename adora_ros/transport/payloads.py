"""Large values in shared memory: the files of :mod:`adora_ros.transport.ring`.

A run has a folder in ``/dev/shm`` that only its user can enter, each output of an incarnation a file in it. Byte ``n``
of a file is locked by who writes slot ``n`` (exclusively) or has a lease on it (shared); the kernel drops the locks of
a process that ends, so there is nothing to repair after a crash. A reader takes the lock first and then compares the
generation, which changes only under the writer's lock: what it compares equal stays as it is until it lets go.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from adora_ros.errors import AdoraError
from adora_ros.transport import ofd
from adora_ros.transport.contract import PAYLOAD_FOLDER_PREFIX
from adora_ros.transport.ring import GENERATION_BYTES, HEADER, Extent, Reservation, Ring, largest_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LEASES = 128
"""Leases that a process holds at most, each of which takes a file descriptor; further values are copied."""
_PATH = re.compile(re.escape(PAYLOAD_FOLDER_PREFIX) + r'[\w-]+/[\w.-]+')
_GENERATION = struct.Struct('<Q')
_POPULATED = mmap.MAP_SHARED | getattr(mmap, 'MAP_POPULATE', 0)
_WITHOUT_FD: dict[str, Any] = {'trackfd': False} if sys.version_info >= (3, 13) else {}


class PayloadLostError(AdoraError, LookupError):
    """A message whose value is in shared memory came, and the value is not there."""


OVERRUN = 'the value came too late, its memory has been used for a newer one'
UNREACHABLE = (
    'the shared memory of the value is not here: another machine, user or container needs `inline: always` on the '
    'output, or the sender has ended'
)


ARROW = 0
"""Kind of a payload that is an Arrow IPC stream; ``n`` is that of the elements of an array of the type ``PLAIN[n - 1]``
of :mod:`adora_ros.transport.shapes`."""
BYTES = 1


class Descriptor(NamedTuple):
    """Where a value is."""

    kind: int
    path: str
    slot: int
    generation: int
    offset: int
    """Of the extent in the file, in bytes."""
    capacity: int
    """Of the extent, in bytes."""
    length: int
    """Of the value, in bytes."""


class RingFile:
    """The file of an output, from its writer's side; see :class:`adora_ros.transport.ring.Storage`.

    Args:
        path: where to create it.
        limit: bytes that all files of the folder may take together.

    Raises:
        OSError: it cannot be created.

    """

    def __init__(self, path: Path, limit: int) -> None:
        self._folder = path.parent
        self._limit = limit
        self._maps: dict[int, mmap.mmap] = {}
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(self._fd, 0, HEADER)  # an access to memory that is not there is a SIGBUS
            self._header = mmap.mmap(self._fd, HEADER, **_WITHOUT_FD)
        except OSError:
            os.close(self._fd)
            path.unlink()
            raise

    def take(self, slot: int) -> bool:
        """See the protocol."""
        return ofd.lock_exclusive(self._fd, slot)

    def give(self, slot: int) -> None:
        """See the protocol."""
        ofd.unlock(self._fd, slot)

    def label(self, slot: int, generation: int) -> None:
        """See the protocol."""
        _GENERATION.pack_into(self._header, slot * GENERATION_BYTES, generation)

    def allocate(self, extent: Extent) -> bool:
        """See the protocol; the limit is looked at afterwards, so that writers need not wait for one another."""
        if extent.size > self._limit:
            return False
        try:
            os.posix_fallocate(self._fd, extent.offset, extent.size)
            self._maps[extent.offset] = mmap.mmap(
                self._fd, extent.size, flags=_POPULATED, offset=extent.offset, **_WITHOUT_FD
            )
        except OSError:
            return False
        if self._usage() <= self._limit:
            return True
        self.free(extent)
        return False

    def free(self, extent: Extent) -> None:
        """See the protocol: the file keeps its length, so that no reader's mapping ends before it."""
        self._maps.pop(extent.offset).madvise(mmap.MADV_REMOVE)

    def memory(self, extent: Extent) -> mmap.mmap:
        """Return the memory of an extent."""
        return self._maps[extent.offset]

    def _usage(self) -> int:
        """Return the bytes that all files of the folder take; the manager removes those of nodes that have ended."""
        blocks = 0
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    blocks += entry.stat(follow_symlinks=False).st_blocks
        return blocks * 512


class Draft:
    """Memory for one value, to be filled and then committed or abandoned.

    Args:
        memory: as long as the value.
        reservation: of that memory in ``ring``.
        ring: of ``path``.
        path: of the file.
        clock: a steady clock in seconds.

    """

    def __init__(
        self, memory: memoryview, reservation: Reservation, ring: Ring, path: str, clock: Callable[[], float]
    ) -> None:
        self.memory = memory
        self._reservation = reservation
        self._ring = ring
        self._path = path
        self._clock = clock
        self._settled = False

    def commit(self, kind: int) -> Descriptor:
        """Let readers at what has been written, and return where it is."""
        self._settled = True
        self._ring.commit(self._reservation, self._clock())
        slot, generation, extent = self._reservation.slot, self._reservation.generation, self._reservation.extent
        return Descriptor(kind, self._path, slot, generation, extent.offset, extent.size, len(self.memory))

    def abandon(self) -> None:
        """Forget it; no effect on one that has been committed or abandoned."""
        if not self._settled:
            self._settled = True
            self._ring.abandon(self._reservation)


class PayloadWriter:
    """Where an output puts its large values; the file is made for the first of them.

    For one thread at a time. A child that the node forks must not send, as with all of ROS.

    Args:
        path: of the file.
        limit: bytes that all files of the folder may take together.
        keep: how many of the last messages readers may still have to take their leases of.
        latched: whether those stay readable for ever.
        clock: a steady clock in seconds.

    """

    def __init__(
        self, path: Path, *, limit: int, keep: int, latched: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._limit = limit
        self._keep = keep
        self._latched = latched
        self._clock = clock
        self._opened: tuple[RingFile, Ring] | None = None
        self._size = 0
        self._ready: Reservation | None = None
        self.complaint = ''
        """Why the last :meth:`reserve` returned None."""

    def reserve(self, size: int) -> Draft | None:
        """Return memory for ``size`` bytes, at least 1; None if there is none."""
        try:
            file, ring = self._opened or self._open()
        except OSError as error:
            self.complaint = f'shared memory cannot be used: {self._path.parent}: {error.strerror}'
            return None
        reservation = self._taken_ready(ring, size) or ring.reserve(size, self._clock())
        if reservation is None:
            self.complaint = (
                f'no shared memory is left for {size} bytes: /dev/shm is full, the limit of the dataflow '
                f'({self._limit} bytes, `shared_memory_limit`) is reached, or receivers keep too many values'
            )
            return None
        self._size = size
        memory = memoryview(file.memory(reservation.extent))[:size]
        return Draft(memory, reservation, ring, str(self._path), self._clock)

    def prepare(self) -> None:
        """Reserve for a value as large as the last one, if a slot is free: the next one then need not wait for that."""
        if self._size and self._ready is None and self._opened is not None:
            self._ready = self._opened[1].reserve_free(self._size, self._clock())

    def _taken_ready(self, ring: Ring, size: int) -> Reservation | None:
        ready, self._ready = self._ready, None
        if ready is not None and not size <= ready.extent.size <= largest_for(size):
            ring.abandon(ready)
            return None
        return ready

    def _open(self) -> tuple[RingFile, Ring]:
        file = RingFile(self._path, self._limit)
        self._opened = file, Ring(file, keep=self._keep, latched=self._latched)
        return self._opened


_held: set[int] = set()
"""File descriptors of the leases of this process. Sets are changed in one step, from whatever thread."""


class _Lease:
    """Holds a slot until it is garbage collected, in this process and in what it forks.

    Each lease has a file description, and so a lock, of its own: to let go is to close it, and a forked child that
    does so gives up nothing but its own share.
    """

    def __init__(self, fd: int, memory: pa.Buffer) -> None:
        self._fd = fd
        self._memory = memory
        _held.add(fd)

    def __del__(self, close: Callable[[int], None] = os.close, held: set[int] = _held) -> None:
        held.discard(self._fd)
        close(self._fd)


class PayloadReader:
    """Takes leases on what a :class:`PayloadWriter` has written; for one thread at a time."""

    def __init__(self) -> None:
        self._path = ''
        self._maps: dict[int, tuple[int, pa.Buffer]] = {}

    def lease(self, descriptor: Descriptor) -> pa.Buffer:
        """Return the memory of a value, unchanged for as long as the buffer or a slice of it is alive.

        Raises:
            PayloadLostError: it is not there.

        """
        if descriptor.path != self._path:
            _check(descriptor.path)
            self._path = descriptor.path
            self._maps.clear()
        fd = _opened(descriptor.path)
        try:
            _lock_current(fd, descriptor)
            whole = self._mapped(descriptor)
        except BaseException:
            os.close(fd)
            raise
        lease = _Lease(fd, whole)
        if len(_held) > LEASES:
            return pa.py_buffer(whole.slice(0, descriptor.length).to_pybytes())
        return pa.foreign_buffer(whole.address, descriptor.length, base=lease)

    def _mapped(self, descriptor: Descriptor) -> pa.Buffer:
        offset, whole = self._maps.get(descriptor.slot, (0, None))
        if whole is None or offset != descriptor.offset:
            # Of a description of its own, since the mapping outlives the lease and would keep its lock.
            fd = _opened(descriptor.path)
            try:
                extent = mmap.mmap(
                    fd,
                    descriptor.capacity,
                    flags=_POPULATED,
                    prot=mmap.PROT_READ,
                    offset=descriptor.offset,
                    **_WITHOUT_FD,
                )
            except (OSError, ValueError) as error:
                msg = f'{UNREACHABLE} ({error})'
                raise PayloadLostError(msg) from error
            finally:
                os.close(fd)
            whole = pa.py_buffer(extent)
            self._maps[descriptor.slot] = (descriptor.offset, whole)
        return whole


def _lock_current(fd: int, descriptor: Descriptor) -> None:
    """Lock a slot against its writer and make sure that it still holds the value."""
    if ofd.lock_shared(fd, descriptor.slot):
        label = os.pread(fd, GENERATION_BYTES, descriptor.slot * GENERATION_BYTES)
        if label == _GENERATION.pack(descriptor.generation):
            return
    raise PayloadLostError(OVERRUN)


def _check(path: str) -> None:
    """Make sure that a path which somebody sent is one of a ring."""
    if _PATH.fullmatch(path) is None:
        raise PayloadLostError(UNREACHABLE)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        msg = f'{UNREACHABLE} ({error.strerror})'
        raise PayloadLostError(msg) from error
