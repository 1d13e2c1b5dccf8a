"""Slots of a ring: which one is written, and when memory comes and goes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from adora_ros.transport.ring import HEADER, HOLD, IDLE, MAX_SLOTS, PAGE, Extent, Reservation, Ring, rounded

MIB = 1024 * 1024


class Memory:
    """Storage that remembers everything, with the leases of readers."""

    def __init__(self, limit: int = 64 * MIB) -> None:
        self.limit = limit
        self.extents: dict[int, Extent] = {}
        self.ever: list[Extent] = []
        self.taken: set[int] = set()
        self.leases: list[tuple[int, int]] = []
        self.generations: dict[int, int] = {}

    def take(self, slot: int) -> bool:
        if any(held == slot for held, _ in self.leases):
            return False
        assert slot not in self.taken
        self.taken.add(slot)
        return True

    def give(self, slot: int) -> None:
        self.taken.remove(slot)

    def label(self, slot: int, generation: int) -> None:
        assert slot in self.taken
        assert generation > self.generations.get(slot, 0)
        self.generations[slot] = generation

    def allocate(self, extent: Extent) -> bool:
        if sum(e.size for e in self.extents.values()) + extent.size > self.limit:
            return False
        assert extent.offset >= HEADER
        assert extent.offset % PAGE == extent.size % PAGE == 0
        assert all(extent.offset >= e.offset + e.size for e in self.ever)
        self.extents[extent.offset] = extent
        self.ever.append(extent)
        return True

    def free(self, extent: Extent) -> None:
        assert self.extents.pop(extent.offset) == extent

    def lease(self, message: Reservation) -> tuple[int, int] | None:
        """Do what a reader does with a message."""
        if message.slot in self.taken or self.generations[message.slot] != message.generation:
            return None
        held = (message.slot, message.generation)
        self.leases.append(held)
        return held


def sent(ring: Ring, size: int, now: float) -> Reservation:
    reservation = ring.reserve(size, now)
    assert reservation is not None
    ring.commit(reservation, now)
    return reservation


def test_slow_messages_take_turns_in_two_slots() -> None:
    ring = Ring(Memory(), keep=10)
    assert [sent(ring, MIB, float(t)).slot for t in range(6)] == [0, 1, 0, 1, 0, 1]


def test_fast_messages_are_kept_until_every_reader_can_have_taken_them() -> None:
    ring = Ring(Memory(), keep=3)
    assert [sent(ring, MIB, t / 1000).slot for t in range(8)] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_latched_messages_are_kept_for_ever() -> None:
    memory = Memory()
    ring = Ring(memory, keep=2, latched=True)
    messages = [sent(ring, MIB, t * 100.0) for t in range(5)]
    assert [memory.lease(m) is not None for m in messages[-2:]] == [True, True]


def test_a_lease_costs_its_slot_and_not_the_writer() -> None:
    memory = Memory()
    ring = Ring(memory, keep=1)
    held = sent(ring, MIB, 0.0)
    assert memory.lease(held)
    later = [sent(ring, MIB, 1.0 + t).slot for t in range(4)]
    assert held.slot not in later
    memory.leases.clear()
    assert memory.lease(held) is not None


def test_without_memory_the_oldest_unseen_message_goes_and_with_every_slot_leased_there_is_none() -> None:
    memory = Memory(2 * MIB)
    ring = Ring(memory, keep=10)
    first, second = sent(ring, MIB, 0.0), sent(ring, MIB, 0.0)
    third = sent(ring, MIB, 0.0)
    assert third.slot == first.slot
    assert memory.lease(first) is None
    assert memory.lease(second)
    assert memory.lease(third)
    assert ring.reserve(MIB, 0.0) is None
    assert not memory.taken


def test_larger_messages_take_the_memory_of_smaller_ones() -> None:
    memory = Memory(4 * MIB)
    ring = Ring(memory, keep=2)
    for t in range(3):
        sent(ring, MIB, t / 100)
    assert sent(ring, 2 * MIB, 10.0).extent.size == 2 * MIB
    assert ring.allocated <= 4 * MIB


def test_idle_slots_are_given_back() -> None:
    memory = Memory()
    ring = Ring(memory, keep=8)
    for t in range(20):
        sent(ring, MIB, t / 1000)
    assert ring.allocated == 9 * MIB
    for t in range(30):
        sent(ring, MIB, IDLE + t)
    assert ring.allocated == sum(e.size for e in memory.extents.values()) == 2 * MIB


def test_a_short_message_does_not_go_into_a_long_slot_unless_memory_is_short() -> None:
    ring = Ring(Memory(), keep=1)
    for t in range(6):
        size = 16 * MIB if t % 2 else PAGE
        assert sent(ring, size, float(t)).extent.size == size
    short = Ring(Memory(32 * MIB), keep=1)
    for t in range(2):
        sent(short, 16 * MIB, float(t))
    assert sent(short, PAGE, 2.0).extent.size == 16 * MIB


@pytest.mark.parametrize('count', [MAX_SLOTS + 3])
def test_there_is_an_end_to_slots(count: int) -> None:
    memory = Memory(1 << 40)
    ring = Ring(memory, keep=1)
    found = []
    for t in range(count):
        reservation = ring.reserve(PAGE, float(t) / 1000)
        if reservation is not None:
            ring.commit(reservation, float(t) / 1000)
            memory.lease(reservation)
            found.append(reservation.slot)
    assert found == list(range(MAX_SLOTS))


@given(st.integers(1, 1 << 40))
def test_extents_are_whole_pages_and_little_larger_than_asked_for(size: int) -> None:
    assert rounded(size) % PAGE == 0
    assert size <= rounded(size) <= size + max(size / 8, PAGE)


class RingMachine(RuleBasedStateMachine):
    """A writer and readers that take and drop leases as they please."""

    reservations: Any = Bundle('reservations')
    messages: Any = Bundle('messages')
    leases: Any = Bundle('leases')

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(limit=40 * PAGE)
        self.ring = Ring(self.memory, keep=3)
        self.now = 0.0
        self.swept_at = float('-inf')
        self.last: Reservation | None = None
        self.sizes: dict[tuple[int, int], int] = {}

    @rule(seconds=st.sampled_from([0.001, HOLD / 2, HOLD, 1.0, IDLE + 1]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=reservations, pages=st.integers(1, 24))
    def reserve(self, pages: int) -> Any:
        before = {lease: self.memory.generations[lease[0]] for lease in self.memory.leases}
        reservation = self.reserved(pages * PAGE)
        for (slot, generation), labelled in before.items():
            assert self.memory.generations[slot] == labelled == generation
        if reservation is not None:
            assert reservation.extent.size >= pages * PAGE
            assert self.memory.extents[reservation.extent.offset] == reservation.extent
            assert reservation.slot in self.memory.taken
        return reservation

    @rule(target=reservations, pages=st.integers(1, 24))
    def reserve_free(self, pages: int) -> Any:
        fits = self.is_certain_of(pages * PAGE)
        before = len(self.memory.ever)
        reservation = self.ring.reserve_free(pages * PAGE, self.now)
        assert reservation is not None or not fits
        assert len(self.memory.ever) == before
        assert reservation is None or reservation.extent.size >= pages * PAGE
        return reservation

    def reserved(self, size: int) -> Reservation | None:
        """Reserve, and make sure that no memory is allocated while there is a free slot."""
        fits = self.is_certain_of(size)
        before = len(self.memory.ever)
        reservation = self.ring.reserve(size, self.now)
        assert not fits or len(self.memory.ever) == before
        return reservation

    def is_certain_of(self, size: int) -> bool:
        """Return whether a slot of about that size is free, at a moment when the ring gives none back."""
        is_swept = self.now - self.swept_at >= 1.0
        if is_swept:
            self.swept_at = self.now
        return self.has_room_for(size) and not is_swept

    def has_room_for(self, size: int) -> bool:
        """Return whether a slot of about that size holds nothing that anybody has or may still want."""
        leased = {slot for slot, _ in self.memory.leases}
        newest = max((slot.number for slot in self.ring.slots), default=0)
        return any(
            size <= slot.extent.size <= 4 * size
            and not slot.reserved
            and number not in leased
            and (slot.number == 0 or (slot.number < newest and self.now - slot.used_at >= HOLD))
            for number, slot in enumerate(self.ring.slots)
        )

    @rule(target=messages, reservation=consumes(reservations))
    def commit(self, reservation: Reservation | None) -> Any:
        if reservation is not None:
            self.ring.commit(reservation, self.now)
            self.last = reservation
        return reservation

    @rule(reservation=consumes(reservations))
    def abandon(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            self.ring.abandon(reservation)

    @rule(target=leases, message=messages)
    def lease(self, message: Reservation | None) -> Any:
        return None if message is None else self.memory.lease(message)

    @rule(lease=consumes(leases))
    def drop(self, lease: tuple[int, int] | None) -> None:
        if lease is not None:
            self.memory.leases.remove(lease)

    @precondition(lambda self: self.last is not None)
    @rule()
    def the_last_message_stays_while_there_is_memory(self) -> None:
        assert self.last is not None
        before = self.memory.generations[self.last.slot]
        if self.memory.limit - self.ring.allocated >= PAGE:
            reservation = self.reserved(PAGE)
            assert reservation is not None
            self.ring.abandon(reservation)
            assert self.memory.generations[self.last.slot] == before or before != self.last.generation

    @invariant()
    def the_books_agree(self) -> None:
        extents = sorted((s.extent for s in self.ring.slots if s.extent.size), key=lambda e: e.offset)
        assert extents == sorted(self.memory.extents.values(), key=lambda e: e.offset)
        assert self.memory.taken == {i for i, s in enumerate(self.ring.slots) if s.reserved}
        assert self.ring.allocated <= self.memory.limit


TestRing = RingMachine.TestCase
