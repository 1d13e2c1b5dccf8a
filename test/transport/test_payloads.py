"""Values in shared memory, from writer to reader."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from rclpy.serialization import deserialize_message
from std_msgs.msg import UInt8MultiArray

from adora_ros.errors import TransportError
from adora_ros.transport import descriptor, ofd, payloads
from adora_ros.transport.contract import PAYLOAD_FOLDER_PREFIX
from adora_ros.transport.metadata import Stamp
from adora_ros.transport.payloads import BYTES, PayloadWriter
from adora_ros.transport.ports import INLINE_LIMIT, ArrowPort, Borrowed, PayloadCounts
from adora_ros.transport.ring import HOLD, MAX_SLOTS
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

STAMP = Stamp(1_700_000_000_123_456_789, 3, 42)
MIB = 1024 * 1024
STRESS = Path(__file__).parents[1] / 'soak' / 'payload_stress.py'


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder such as a run has."""
    path = Path(f'{PAYLOAD_FOLDER_PREFIX}{uuid.uuid4()}')
    path.mkdir(mode=0o700)
    yield path
    shutil.rmtree(path)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Link:
    """A sending and a receiving port."""

    def __init__(self, folder: Path, *, limit: int = 64 * MIB, keep: int = 10) -> None:
        self.clock = Clock()
        self.warnings: list[str] = []
        self.counts = PayloadCounts(self.warnings.append)
        self.file = folder / 'node.0.0'
        writer = PayloadWriter(self.file, limit=limit, keep=keep, latched=False, clock=self.clock)
        self.sender = ArrowPort(writer, self.counts)
        self.receiver = ArrowPort(counts=self.counts)

    def send(self, value: Any, **parameters: Any) -> bytes:
        self.clock.now += 1.0
        return self.sender.to_message(value, parameters, STAMP)

    def receive(self, message: Any) -> Any:
        received = self.receiver.receive(message)
        return None if received is None else self.receiver.from_message(received)

    def leased(self) -> list[int]:
        """Return the slots that somebody holds."""
        fd = os.open(self.file, os.O_RDWR)
        held = [slot for slot in range(MAX_SLOTS) if not ofd.lock_exclusive(fd, slot)]
        os.close(fd)
        return held


@pytest.mark.parametrize(
    'value',
    [
        pa.array(np.arange(MIB, dtype=np.uint8)),
        pa.array(np.arange(MIB, dtype=np.float64))[5:-7],
        pa.array(['text', None, 'ä'] * 30_000),
        pa.array([[1, 2], None, []] * 30_000),
        pa.array([{'a': 1, 'b': 'x'}] * 30_000),
        pa.array(['a', 'b'] * 100_000).dictionary_encode(),
        pa.chunked_array([pa.array(range(20_000)), pa.array(range(9))]),
        b'\x07' * MIB,
    ],
    ids=lambda value: str(getattr(value, 'type', 'bytes')),
)
def test_large_values_of_every_kind_arrive_with_their_metadata(folder: Path, value: Any) -> None:
    link = Link(folder)
    message = link.send(value, n=1)
    assert len(message) < 1000
    decoded = link.receive(message)
    expected = value if not isinstance(value, bytes) else pa.array(np.frombuffer(value, np.uint8))
    expected = expected.combine_chunks() if isinstance(value, pa.ChunkedArray) else expected
    assert decoded.value.equals(expected)
    assert decoded.value.type == expected.type
    decoded.value.validate(full=True)
    assert decoded.metadata['n'] == 1
    assert (decoded.incarnation, decoded.seq) == (3, 42)
    assert (link.counts.fallbacks, link.counts.drops, link.warnings) == (0, 0, [])


def test_small_values_stay_inside_their_messages(folder: Path) -> None:
    link = Link(folder)
    message = link.send(b'x' * (INLINE_LIMIT - 1000))
    assert len(message) > INLINE_LIMIT - 1000
    assert link.receiver.receive(message) is message
    assert not link.file.exists()


def test_a_stock_tool_sees_where_the_value_is_and_a_port_takes_what_it_decoded(folder: Path) -> None:
    link = Link(folder)
    plain = deserialize_message(link.send(b'x' * MIB), UInt8MultiArray)
    (dimension,) = plain.layout.dim
    assert 'adora topic echo' in dimension.label
    assert dimension.size == MIB
    assert link.receive(plain).value.equals(pa.array(np.frombuffer(b'x' * MIB, np.uint8)))


def test_files_of_nodes_that_end_may_go_at_any_moment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link(folder)
    gone = folder / 'other.0.0'
    gone.write_bytes(b'x' * 8192)
    listing = os.scandir

    @contextlib.contextmanager
    def listed(path: Path) -> Iterator[Any]:
        with listing(path) as entries:
            found = list(entries)
        gone.unlink(missing_ok=True)  # by the manager, in the middle of it
        yield iter(found)

    monkeypatch.setattr(os, 'scandir', listed)
    assert len(link.receive(link.send(b'x' * MIB)).value) == MIB
    assert not gone.exists()
    assert link.counts.fallbacks == 0


def test_files_are_for_their_user_only(folder: Path) -> None:
    link = Link(folder)
    link.send(b'x' * MIB)
    assert (link.file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_value_is_not_copied_and_stays_until_it_is_garbage_collected(folder: Path) -> None:
    link = Link(folder)
    value = link.receive(link.send(b'\x01' * MIB)).value
    assert link.leased() == [0]
    for number in range(20):
        assert link.receive(link.send(bytes([number]) * MIB)).value[0].as_py() == number
    assert value.equals(pa.array(np.full(MIB, 1, np.uint8)))
    view = value.to_numpy()
    assert not view.flags.writeable
    del value
    assert link.leased() == [0]
    assert view[-1] == 1
    del view
    gc.collect()
    assert link.leased() == []
    assert link.file.stat().st_blocks * 512 < 4 * MIB


def test_a_reader_that_comes_too_late_drops_the_message_and_says_so_once(folder: Path) -> None:
    link = Link(folder, keep=1)
    late = [link.send(b'\x01' * MIB) for _ in range(3)]
    assert [link.receive(message) is None for message in late] == [True, False, False]
    assert link.receive(late[0]) is None
    assert link.counts.drops == 2
    assert link.warnings == ['a message is dropped: the value came too late, its memory has been used for a newer one']


def test_two_inputs_of_a_process_hold_their_leases_apart(folder: Path) -> None:
    link = Link(folder)
    message = link.send(b'\x01' * MIB)
    other = ArrowPort()
    first, second = link.receiver.receive(message), other.receive(message)
    del first
    assert link.leased() == [0]
    assert other.from_message(second).value[0].as_py() == 1
    del second
    assert link.leased() == []


def test_beyond_the_limit_values_travel_inside_their_messages(folder: Path) -> None:
    link = Link(folder, limit=3 * MIB)
    held = [link.receive(link.send(bytes([number]) * MIB)).value for number in range(5)]
    assert [value[0].as_py() for value in held] == [0, 1, 2, 3, 4]
    assert link.counts.fallbacks == 3
    (warning,) = link.warnings
    assert 'travels inside its message' in warning
    assert f'({3 * MIB} bytes, `shared_memory_limit`)' in warning
    del held
    assert len(link.send(b'x' * MIB)) < 1000


def test_without_the_folder_values_travel_inside_their_messages() -> None:
    link = Link(Path(f'{PAYLOAD_FOLDER_PREFIX}{uuid.uuid4()}'))
    assert link.receive(link.send(b'x' * MIB)).value[-1].as_py() == ord('x')
    assert 'No such file or directory' in link.warnings[0]


def test_a_value_that_arrow_cannot_carry_leaves_its_slot_free(folder: Path) -> None:
    link = Link(folder)
    link.send(b'x' * MIB)
    with pytest.raises(TransportError, match='64 bits'):
        link.send(b'x' * MIB, n=2**70)
    assert link.leased() == []


def test_drafts_are_sent_as_they_are(folder: Path) -> None:
    link = Link(folder)
    draft = link.sender.draft(MIB)
    assert draft is not None
    assert link.leased() == [0]
    draft.memory[:3] = b'abc'
    decoded = link.receive(link.sender.draft_message(draft, {'n': 1}, STAMP))
    assert decoded.value[:4].to_pylist() == [97, 98, 99, 0]
    assert len(decoded.value) == MIB
    draft.abandon()
    assert link.leased() == [0]
    unsent = link.sender.draft(MIB)
    assert unsent is not None
    unsent.abandon()
    del decoded
    assert link.leased() == []
    assert link.sender.draft(INLINE_LIMIT - 1) is None
    assert ArrowPort().draft(MIB) is None


def test_the_next_value_finds_its_slot_reserved(folder: Path) -> None:
    link = Link(folder, keep=1)
    for _ in range(2):
        link.send(bytes(MIB))
    size = link.file.stat().st_blocks
    link.sender.prepare()
    assert link.leased() == [0]
    message = link.send(b'\x07' * MIB)
    assert link.leased() == []
    assert link.file.stat().st_blocks == size
    assert link.receive(message).value[MIB - 1].as_py() == 7


def test_no_slot_is_reserved_ahead_while_readers_may_want_what_is_in_it(folder: Path) -> None:
    link = Link(folder)
    link.sender.prepare()
    message = link.send(bytes(MIB))
    size = link.file.stat().st_blocks
    link.sender.prepare()
    assert (link.leased(), link.file.stat().st_blocks) == ([], size)
    assert link.receive(message) is not None


@pytest.mark.parametrize('size', [INLINE_LIMIT, 4 * MIB])
def test_what_is_reserved_ahead_is_given_back_for_a_value_of_another_size(folder: Path, size: int) -> None:
    link = Link(folder, keep=1)
    for _ in range(2):
        link.send(bytes(MIB))
    link.sender.prepare()
    message = link.send(bytes(size))
    assert link.leased() == []
    assert len(link.receive(message).value) == size


def test_too_many_leases_are_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, 'LEASES', 2)
    link = Link(folder)
    held = [link.receive(link.send(bytes([number]) * 70_000)).value for number in range(6)]
    assert len(link.leased()) == 2
    assert [value[0].as_py() for value in held] == list(range(6))


@pytest.mark.parametrize(
    'path',
    [
        f'{PAYLOAD_FOLDER_PREFIX}{uuid.UUID(int=0)}/gone.0.0',
        '/etc/passwd',
        f'{PAYLOAD_FOLDER_PREFIX}x/../../etc/passwd',
    ],
)
def test_what_is_not_here_is_dropped(folder: Path, path: str) -> None:
    link = Link(folder)
    link.send(b'x' * MIB)
    found = payloads.Descriptor(BYTES, path, 0, 1, 4096, MIB, MIB)
    assert link.receive(descriptor.to_message(found, '{}')) is None
    assert '`inline: always`' in link.warnings[0]


@pytest.mark.parametrize('data', [b'', b'ADORASHM', b'ADORASHX' + bytes(60), b'ADORASHM\x63' + bytes(60)])
def test_a_descriptor_that_is_not_one_is_refused(data: bytes) -> None:
    with pytest.raises(TransportError, match='not readable'):
        descriptor.parse(data)


def test_a_value_outlives_its_port_and_its_message(folder: Path) -> None:
    link = Link(folder)
    received = link.receiver.receive(link.send(b'\x05' * MIB))
    assert isinstance(received, Borrowed)
    value = ArrowPort().from_message(received).value
    gone = weakref.ref(link.receiver)
    link.receiver = ArrowPort()
    del received
    assert gone() is None
    assert value[-1].as_py() == 5
    assert link.leased() == [0]


FORKER = """
import os, signal, sys
from adora_ros.transport import descriptor
from adora_ros.transport.payloads import PayloadReader
reader = PayloadReader()
value = reader.lease(descriptor.parse(descriptor.descriptor_data(bytes.fromhex(sys.argv[1])))[0])
child = os.fork()
if child == 0:
    if sys.argv[2] == 'keep':
        os.read(0, 1)
    del value, reader
    os._exit(0)
if sys.argv[2] == 'drop':
    os.waitpid(child, 0)
print(child, flush=True)
signal.pause()
"""


@pytest.mark.parametrize('child_does', ['drop', 'keep'])
def test_a_forked_child_gives_up_its_own_share_of_a_lease_only(folder: Path, child_does: str) -> None:
    link = Link(folder)
    message = link.send(b'\x05' * MIB)
    with subprocess.Popen(
        [sys.executable, '-c', FORKER, message.hex(), child_does], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert link.leased() == [0]
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        if child_does == 'keep':
            assert link.leased() == [0]
            os.kill(child, signal.SIGKILL)
        eventually(lambda: not link.leased())


def test_nobody_notices_when_writers_and_readers_are_killed() -> None:
    done = subprocess.run(
        [sys.executable, str(STRESS), '--kills', '60', '--seed', '5'], capture_output=True, text=True, check=False
    )
    outcome = json.loads(done.stdout)
    assert done.returncode == 0, (outcome, done.stderr)
    assert outcome['kills'] == 60
    assert outcome['received'] > 100
    assert (outcome['torn'], outcome['stalled'], outcome['crashed'], outcome['leased']) == (0, 0, [], 0)


def test_messages_are_held_for_readers_that_have_not_taken_their_lease(folder: Path) -> None:
    link = Link(folder, keep=4)
    messages = []
    for number in range(5):
        messages.append(link.send(bytes([number]) * MIB))
        link.clock.now += HOLD / 100 - 1.0
    assert [link.receive(message) is not None for message in messages] == [True] * 5
