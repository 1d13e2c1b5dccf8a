"""Values that are written in place: when they may be sent."""

from __future__ import annotations

import numpy as np
import pytest

from adora_ros.errors import NodeError
from adora_ros.node.sample import Sample


class Outbox:
    """A sample, and what became of it."""

    def __init__(self, size: int = 8) -> None:
        self.memory = bytearray(size)
        self.sent: list[bytes] = []
        self.discarded = 0
        self.sample = Sample(self.memory, self.send, self.discard)

    def send(self) -> None:
        self.sent.append(bytes(self.memory))

    def discard(self) -> None:
        self.discarded += 1


def test_a_with_block_sends() -> None:
    outbox = Outbox(4)
    with outbox.sample as buffer:
        np.asarray(buffer, np.uint8)[:] = [1, 2, 3, 4]
    assert outbox.sent == [b'\x01\x02\x03\x04']
    with pytest.raises(ValueError, match='released'):
        bytes(buffer)


def test_a_with_block_that_fails_does_not_send_and_leaves_the_sample_usable() -> None:
    outbox = Outbox()
    with pytest.raises(ZeroDivisionError), outbox.sample:
        raise ZeroDivisionError
    assert outbox.sent == []
    outbox.sample.send()
    assert len(outbox.sent) == 1


def test_by_hand() -> None:
    outbox = Outbox(3)
    view = outbox.sample.as_memoryview()
    view[:] = b'abc'
    view.release()
    outbox.sample.send()
    assert outbox.sent == [b'abc']


def test_open_views_keep_it_from_being_sent() -> None:
    outbox = Outbox()
    first, second = outbox.sample.as_memoryview(), outbox.sample.as_memoryview()
    assert first is not second
    first.release()
    with pytest.raises(NodeError, match='view of the memory is still open'):
        outbox.sample.send()
    assert outbox.discarded == 0
    second.release()
    outbox.sample.send()
    assert len(outbox.sent) == 1


def test_an_array_that_outlives_the_with_block_keeps_it_from_being_sent() -> None:
    outbox = Outbox()
    with pytest.raises(NodeError, match='still open'), outbox.sample as buffer:
        array = np.asarray(buffer, np.uint8)
    assert outbox.sent == []
    del array
    outbox.sample.send()
    assert len(outbox.sent) == 1


def test_it_is_sent_once() -> None:
    outbox = Outbox()
    assert outbox.sample.as_buffer() is outbox.sample.as_buffer()
    outbox.sample.send()
    for again in (outbox.sample.send, outbox.sample.as_buffer, outbox.sample.as_memoryview):
        with pytest.raises(NodeError, match='already been sent'):
            again()
    assert (len(outbox.sent), outbox.discarded) == (1, 1)


def test_memory_of_a_sample_that_is_dropped_is_given_back_after_its_last_view() -> None:
    outbox = Outbox()
    array = np.asarray(outbox.sample.as_buffer())
    del outbox.sample
    assert outbox.discarded == 0
    del array
    assert outbox.discarded == 1
    assert outbox.sent == []


def test_it_may_be_empty() -> None:
    outbox = Outbox(0)
    with outbox.sample as buffer:
        assert len(buffer) == 0
    assert outbox.sent == [b'']
