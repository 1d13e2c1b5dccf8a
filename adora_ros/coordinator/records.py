"""What the coordinator knows of dataflows, builds and machines, and which steps a record may make: pure data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeVar

from adora_ros.errors import RecordError

if TYPE_CHECKING:
    from typing_extensions import Self

COORDINATOR_RESTARTED = 'coordinator restarted'
"""Error of a dataflow that nobody has reported since the coordinator started again."""
MAX_KEY = 200
"""Characters of a key; with the names around it, a parameter name stays within what tools show."""


class Status(str, Enum):
    """Where a dataflow or a build is."""

    PENDING = 'Pending'
    RUNNING = 'Running'
    STOPPING = 'Stopping'
    SUCCEEDED = 'Succeeded'
    FAILED = 'Failed'
    RECOVERING = 'Recovering'
    """It was not final when the coordinator ended, and nobody has reported it since."""

    @property
    def final(self) -> bool:
        """Whether nothing follows."""
        return self in {Status.SUCCEEDED, Status.FAILED}


class Presence(str, Enum):
    """Whether a machine is heard of."""

    CONNECTED = 'Connected'
    DISCONNECTED = 'Disconnected'
    """It fell silent without having said that it would."""
    LEFT = 'Left'
    """Its last manager ended as it should."""


class Wanted(str, Enum):
    """What the coordinator is to do about a dataflow."""

    NOTHING = ''
    """Nothing: whoever started it looks after it."""
    RUN = 'run'
    """Have it run by the managers that wait on its machines."""
    STOP = 'stop'
    """Have it stopped on all of its machines, whoever started it."""


STEPS: dict[Status, frozenset[Status]] = {
    Status.PENDING: frozenset(
        {Status.RUNNING, Status.STOPPING, Status.SUCCEEDED, Status.FAILED, Status.RECOVERING},
    ),
    Status.RUNNING: frozenset({Status.STOPPING, Status.SUCCEEDED, Status.FAILED, Status.RECOVERING}),
    Status.STOPPING: frozenset({Status.SUCCEEDED, Status.FAILED, Status.RECOVERING}),
    Status.RECOVERING: frozenset(
        {Status.PENDING, Status.RUNNING, Status.STOPPING, Status.SUCCEEDED, Status.FAILED},
    ),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset(),
}
"""Which state may follow which."""


def check_step(origin: Status, target: Status, *, presumed: bool = False) -> None:
    """Refuse a step that the table does not have.

    Args:
        origin: The state.
        target: The state that is to follow.
        presumed: Whether ``origin`` is a failure that was only concluded from silence, and so may be corrected.

    Raises:
        RecordError: the step is not allowed.

    """
    allowed = STEPS[Status.RECOVERING] if presumed else STEPS[origin]
    if target not in allowed:
        names = ', '.join(sorted(status.value for status in allowed)) or 'nothing; it is final'
        msg = f'{origin.value} cannot become {target.value}; what may follow is {names}'
        raise RecordError(msg)


@dataclass(frozen=True, kw_only=True)
class Part:
    """The share of a dataflow that one machine runs, as its manager reports it.

    Attributes:
        machine: Its name.
        status: Where the share is.
        error: Why it failed; empty unless it did.
        seq: Number of the last step that was taken over from the manager.

    """

    machine: str
    status: Status = Status.PENDING
    error: str = ''
    seq: int = 0


@dataclass(frozen=True, kw_only=True)
class Record:
    """What every record has.

    Attributes:
        generation: Number of the change that made it so, from 1.
        created_at: Wall time of the first generation, ISO 8601 in UTC; a label, not to be calculated with.
        updated_at: Wall time of this generation, as ``created_at``.

    """

    KIND: ClassVar[str]
    KEY: ClassVar[str]

    generation: int = 1
    created_at: str = ''
    updated_at: str = ''

    @property
    def key(self) -> str:
        """What identifies it among those of its kind."""
        return str(getattr(self, self.KEY))

    def __post_init__(self) -> None:
        check_key(self.KIND, self.key)
        if self.generation < 0:
            msg = f'{self.KIND}.{self.key}: generation {self.generation} is below zero'
            raise RecordError(msg)

    @classmethod
    def new(cls, key: str) -> Self:
        """Return a record that has no generation yet; the first change makes the first one."""
        return cls(generation=0, **{cls.KEY: key})

    def changed(self, stamp: str, **fields: object) -> Self:
        """Return the next generation, with some fields replaced.

        Args:
            stamp: Wall time of the change, ISO 8601 in UTC.
            **fields: The fields that change.

        """
        created = self.created_at or stamp
        generation = self.generation + 1
        return dataclasses.replace(self, created_at=created, updated_at=stamp, generation=generation, **fields)


def check_key(kind: str, key: str) -> None:
    """Refuse what cannot be part of a parameter's name.

    Raises:
        RecordError: the key is empty, too long, or has blanks or control characters.

    """
    if not 0 < len(key) <= MAX_KEY or any(char.isspace() or not char.isprintable() for char in key):
        msg = f'{kind}: {key!r} cannot be a key: use 1 to {MAX_KEY} printable characters without blanks'
        raise RecordError(msg)


@dataclass(frozen=True, kw_only=True)
class DataflowRecord(Record):
    """A run of a dataflow.

    Attributes:
        uuid: Identifies the run.
        name: Name of the dataflow.
        descriptor: The dataflow as JSON; empty while it is not known.
        status: Where it is.
        error: Every failure as ``node: reason``, joined by ``; ``; empty unless it failed.
        machines: The machines that it runs on.
        wanted: What the coordinator is to do about it.
        file: Path of its YAML where it was started from; empty while it is not known.
        rest: The machine that runs the nodes which name none; empty where that is not up to the coordinator.
        parts: What each of them has reported.
        presumed: Whether the failure was concluded from silence, and would be corrected by a manager that reports.

    """

    KIND: ClassVar[str] = 'dataflows'
    KEY: ClassVar[str] = 'uuid'

    uuid: str
    name: str = ''
    descriptor: str = ''
    status: Status = Status.PENDING
    error: str = ''
    machines: tuple[str, ...] = ()
    wanted: Wanted = Wanted.NOTHING
    file: str = ''
    rest: str = ''
    parts: tuple[Part, ...] = ()
    presumed: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing can follow."""
        return self.status.final and not self.presumed

    def part(self, machine: str) -> Part:
        """Return what is known of a machine's share."""
        return next((part for part in self.parts if part.machine == machine), Part(machine=machine))

    def with_part(self, part: Part) -> tuple[Part, ...]:
        """Return the parts with one of them replaced or added."""
        others = tuple(other for other in self.parts if other.machine != part.machine)
        return tuple(sorted((*others, part), key=lambda each: each.machine))

    def moved(self, stamp: str, status: Status, error: str = '', *, presumed: bool = False) -> DataflowRecord:
        """Return the next generation in another state.

        Raises:
            RecordError: the step is not allowed.

        """
        check_step(self.status, status, presumed=self.presumed)
        return self.changed(stamp, status=status, error=error, presumed=presumed)


@dataclass(frozen=True, kw_only=True)
class BuildRecord(Record):
    """A build of the nodes of a dataflow on one machine.

    Attributes:
        uuid: Identifies the build.
        name: Name of the dataflow.
        machine: Where it is built.
        status: Where the build is.
        error: Why it failed; empty unless it did.

    """

    KIND: ClassVar[str] = 'builds'
    KEY: ClassVar[str] = 'uuid'

    uuid: str
    name: str = ''
    machine: str = ''
    status: Status = Status.PENDING
    error: str = ''

    def moved(self, stamp: str, status: Status, error: str = '') -> BuildRecord:
        """Return the next generation in another state.

        Raises:
            RecordError: the step is not allowed.

        """
        check_step(self.status, status)
        return self.changed(stamp, status=status, error=error)


@dataclass(frozen=True, kw_only=True)
class MachineRecord(Record):
    """A machine that a manager has reported from.

    Attributes:
        id: Its name, as in ``deploy.machine``.
        hostname: What the machine calls itself.
        status: Whether it is heard of.

    """

    KIND: ClassVar[str] = 'machines'
    KEY: ClassVar[str] = 'id'

    id: str
    hostname: str = ''
    status: Presence = Presence.CONNECTED


RecordT = TypeVar('RecordT', bound=Record)
KINDS: dict[str, type[Record]] = {cls.KIND: cls for cls in (DataflowRecord, BuildRecord, MachineRecord)}
"""The kinds of records by the name under which the store has them."""


def combine(parts: tuple[Part, ...], lost: dict[str, str]) -> tuple[Status, str]:
    """Return the state of a dataflow and its error, given those of its shares.

    Args:
        parts: What each machine has reported.
        lost: Machines that are not heard of any more, and what to say of them.

    """
    reported = {part.machine for part in parts}
    parts = (*parts, *(Part(machine=machine) for machine in lost if machine not in reported))
    if not parts:
        return Status.PENDING, ''
    live = [part.status for part in parts if not part.status.final and part.machine not in lost]
    for status in (Status.STOPPING, Status.PENDING, Status.RUNNING):
        if status in live:
            return status, ''
    failures = []
    for part in parts:
        if part.status is Status.FAILED:
            failures.append(part.error or f'machine {part.machine}: failed')
        elif not part.status.final:
            failures.append(f'machine {part.machine}: {lost[part.machine]}')
    return (Status.FAILED if failures else Status.SUCCEEDED), '; '.join(failures)
