"""Which piece of a shared file holds which message: the decisions of a writer, without any input or output.

An output that sends large values has a ring of *slots*. A slot is a stretch of the file (an *extent*) with a generation
number that goes up whenever the slot is written. A message names slot and generation, and a reader holds a lease on the
slot while it uses the value; a slot with a lease is never written. The kernel keeps the leases, so the writer only
learns of one when it asks for the slot (:meth:`Storage.take`).

Extents are never moved and a stretch of the file is never used for a second extent: a slot of another size gets a new
one at the end and gives the memory of the old one back, so the file is long, but only as large as its extents. What a
reader has mapped therefore always means the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

PAGE = 4096
"""Bytes; extents begin and end at multiples of it."""
MAX_SLOTS = 512
GENERATION_BYTES = 8
HEADER = MAX_SLOTS * GENERATION_BYTES
"""Bytes at the beginning of the file: the generation of every slot, unsigned, little-endian."""
HOLD = 0.25
"""Seconds for which a message is not overwritten while there is memory for another, since readers may still have to
take their leases."""
IDLE = 10.0
"""Seconds without use after which the memory of a slot is given back."""
STEPS_PER_DOUBLING = 8
"""Sizes of extents between one power of two and the next: messages that vary in length share slots."""
WASTE = 4
"""How many times larger than a message a slot may be and still be the right one for it."""


class Extent(NamedTuple):
    """A stretch of the file, in bytes."""

    offset: int
    size: int


NOTHING = Extent(0, 0)


class Reservation(NamedTuple):
    """A slot that is being written."""

    slot: int
    generation: int
    extent: Extent


class Storage(Protocol):
    """What the decisions are carried out on."""

    def take(self, slot: int) -> bool:
        """Shut readers out of a slot; return False if one holds a lease."""

    def give(self, slot: int) -> None:
        """Let readers into a slot."""

    def label(self, slot: int, generation: int) -> None:
        """Write the generation of a slot that has been taken."""

    def allocate(self, extent: Extent) -> bool:
        """Get memory for an extent; return False if there is none, or no more is allowed."""

    def free(self, extent: Extent) -> None:
        """Give the memory of an extent back; its slot has been taken."""


@dataclass
class Slot:
    """What the writer knows of a slot."""

    extent: Extent = NOTHING
    generation: int = 0
    number: int = 0
    """Of the message in it, counted from 1; 0 for none."""
    used_at: float = float('-inf')
    """When it was written, in seconds on a steady clock."""
    reserved: bool = False


class Ring:
    """The slots of one output, for one thread at a time.

    Args:
        storage: what to work on.
        keep: how many of the last messages readers may still have to take their leases of.
        latched: whether those stay readable for ever, for readers that come late.

    """

    def __init__(self, storage: Storage, *, keep: int, latched: bool = False) -> None:
        self._storage = storage
        self._keep = min(keep, MAX_SLOTS - 2)
        self._latched = latched
        self._slots: list[Slot] = []
        self._order: list[int] = []
        """The slots, the one that was written last at the end. Those whose message is kept come behind all others."""
        self._count = 0
        self._end = HEADER
        self._swept_at = float('-inf')

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Copies of the slots, by number."""
        return tuple(replace(slot) for slot in self._slots)

    @property
    def allocated(self) -> int:
        """Bytes in all extents."""
        return sum(slot.extent.size for slot in self._slots)

    def reserve(self, size: int, now: float) -> Reservation | None:
        """Return a slot to write ``size`` bytes into, None if every one is in use and there is no memory for another.

        Preferred is the one that fits and was used last, for its memory is warm and those that are not needed fall
        idle; then a new one. Short of memory the ring takes back what does not fit, and at last overwrites messages
        that readers may not have seen yet, the oldest first.

        Args:
            size: bytes, at least 1.
            now: seconds on a steady clock.

        """
        index = self._first_free(size, now)
        if index is None:
            index = self._grown(size)
        if index is None:
            index = self._first_taken(self._free(size, now, self._end))
        if index is None and self._gave_small_back(size, now):
            index = self._grown(size)
        if index is None:
            index = self._first_taken(self._unseen(size, now))
        return None if index is None else self._reserved(index)

    def reserve_free(self, size: int, now: float) -> Reservation | None:
        """Do what :meth:`reserve` does if a slot that fits is free, and nothing otherwise."""
        index = self._first_free(size, now)
        return None if index is None else self._reserved(index)

    def commit(self, reservation: Reservation, now: float) -> None:
        """Let readers at what has been written."""
        self._count += 1
        slot = self._slots[reservation.slot]
        slot.number = self._count
        slot.used_at = now
        slot.reserved = False
        self._order.remove(reservation.slot)
        self._order.append(reservation.slot)
        self._storage.give(reservation.slot)

    def abandon(self, reservation: Reservation) -> None:
        """Forget about a slot that will not be written."""
        self._slots[reservation.slot].reserved = False
        self._order.remove(reservation.slot)
        self._order.insert(0, reservation.slot)
        self._storage.give(reservation.slot)

    def _first_free(self, size: int, now: float) -> int | None:
        if now - self._swept_at >= 1.0:
            self._give_back_idle(now)
        return self._first_taken(self._free(size, now, largest_for(size)))

    def _reserved(self, index: int) -> Reservation:
        slot = self._slots[index]
        slot.generation += 1
        slot.number = 0
        slot.reserved = True
        self._storage.label(index, slot.generation)
        return Reservation(index, slot.generation, slot.extent)

    def _first_taken(self, candidates: list[int]) -> int | None:
        for index in candidates:
            if self._storage.take(index):
                return index
        return None

    def _free(self, size: int, now: float, most: int) -> list[int]:
        """Return the slots of ``size`` to ``most`` bytes whose message need not be kept, the last used first."""
        free: list[int] = []
        for index in self._order:
            slot = self._slots[index]
            if self._keeps(slot, now):
                break
            if size <= slot.extent.size <= most and not slot.reserved:
                free.append(index)
        free.reverse()
        return free

    def _unseen(self, size: int, now: float) -> list[int]:
        """Return the slots that fit and whose message should be kept, the oldest first."""
        slots = ((index, self._slots[index]) for index in self._order)
        return [
            index for index, slot in slots if not slot.reserved and slot.extent.size >= size and self._keeps(slot, now)
        ]

    def _grown(self, size: int) -> int | None:
        """Return a slot with a new extent, None if there is no memory for it."""
        index = next((i for i, slot in enumerate(self._slots) if not slot.extent.size and not slot.reserved), None)
        if index is None and len(self._slots) >= MAX_SLOTS:
            return None
        extent = Extent(self._end, rounded(size))
        if not self._storage.allocate(extent):
            return None
        self._end += extent.size
        if index is None:
            index = len(self._slots)
            self._slots.append(Slot())
            self._order.insert(0, index)
        self._slots[index].extent = extent
        return self._first_taken([index])  # nobody can hold an empty slot, but that is for the kernel to say

    def _gave_small_back(self, size: int, now: float) -> bool:
        """Give slots that are too small back; return whether there were any."""
        small = [
            index
            for index, slot in enumerate(self._slots)
            if 0 < slot.extent.size < size and not slot.reserved and not self._keeps(slot, now)
        ]
        return sum(map(self._give_back, small)) > 0

    def _keeps(self, slot: Slot, now: float) -> bool:
        """Return whether readers may still have to take their lease of a message."""
        if slot.number == 0:
            return False
        recent = slot.number > self._count - self._keep
        return slot.number == self._count or (recent and (self._latched or now - slot.used_at < HOLD))

    def _give_back_idle(self, now: float) -> None:
        self._swept_at = now
        for index, slot in enumerate(self._slots):
            if slot.extent.size and not slot.reserved and now - slot.used_at >= IDLE and not self._keeps(slot, now):
                self._give_back(index)

    def _give_back(self, index: int) -> bool:
        if not self._storage.take(index):
            return False
        slot = self._slots[index]
        extent, slot.extent = slot.extent, NOTHING
        slot.generation += 1
        slot.number = 0
        self._storage.label(index, slot.generation)
        self._storage.free(extent)
        self._storage.give(index)
        return True


def rounded(size: int) -> int:
    """Return the size of the extent for a message of ``size`` bytes, at most an eighth larger, in whole pages."""
    step = max(PAGE, (1 << size.bit_length()) // 2 // STEPS_PER_DOUBLING)
    return -(-size // step) * step


def largest_for(size: int) -> int:
    """Return the size of the largest extent that is not too large for a message of ``size`` bytes."""
    return rounded(size) * WASTE
