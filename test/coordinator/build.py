"""Records and reports for tests, and an observer that remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adora_ros.coordinator.limits import Limits, Recovery
from adora_ros.coordinator.protocol import Report, ReportKind, Step
from adora_ros.coordinator.records import BuildRecord, DataflowRecord, MachineRecord, Record, Status
from adora_ros.coordinator.registry import Registry
from adora_ros.coordinator.store import MemoryStore

if TYPE_CHECKING:
    from adora_ros.coordinator.store import CoordinatorStore

STAMP = '2030-01-02T03:04:05.000000Z'
RUN = '11111111-2222-3333-4444-555555555555'


def record(cls: type[Record], key: str = 'a', **fields: Any) -> Any:
    """Return a record of its first generation."""
    return cls.new(key).changed(STAMP, **fields)


def records(key: str = 'a') -> list[Any]:
    """Return one record of each kind."""
    return [record(cls, key) for cls in (DataflowRecord, BuildRecord, MachineRecord)]


def step(seq: int, status: Status = Status.RUNNING, error: str = '') -> Step:
    """Return a step."""
    return Step(seq=seq, status=status, error=error, stamp=f'stamp {seq}')


def report(last: Step, kind: ReportKind = ReportKind.STEP, *, machine: str = 'A', **fields: Any) -> Report:
    """Return a report about one run; a step carries the descriptor unless told otherwise."""
    plain: dict[str, Any] = {
        'run': RUN,
        'dataflow': 'flow',
        'hostname': 'host',
        'service': '/flow/manager/report',
        'descriptor': '{}' if kind is ReportKind.STEP else '',
    }
    return Report(kind=kind, machine=machine, last=last, **{**plain, **fields})


@dataclass
class Remembered:
    """An observer that keeps what it is told."""

    changes: list[tuple[Record | None, Record | None]] = field(default_factory=list)
    machines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def changed(self, before: Record | None, after: Record | None) -> None:
        """Keep a change."""
        self.changes.append((before, after))

    def machine_lost(self, machine: str, age: float) -> None:
        """Keep a loss."""
        self.machines.append(f'lost {machine} after {age:g}')

    def machine_back(self, machine: str) -> None:
        """Keep a return."""
        self.machines.append(f'back {machine}')

    def warn(self, text: str) -> None:
        """Keep a warning."""
        self.warnings.append(text)


class Fixture:
    """A registry over a store, with the limits of the protocol."""

    def __init__(self, store: CoordinatorStore | None = None) -> None:
        self.store = store if store is not None else MemoryStore()
        self.told = Remembered()
        self.registry = Registry(self.store, observer=self.told, limits=Limits(), label=lambda: STAMP)

    def restarted(self, recovery: Recovery = Recovery.ADOPT, now: float = 0.0) -> Fixture:
        """Return the registry of a coordinator that starts with the same store."""
        fresh = Fixture(self.store)
        fresh.registry.recover(recovery, now)
        return fresh

    @property
    def dataflow(self) -> DataflowRecord:
        """The record of the run that reports are about."""
        found = self.registry.get(DataflowRecord, RUN)
        assert found is not None
        return found

    @property
    def state(self) -> tuple[str, str, int]:
        """State, error and generation of that record."""
        return self.dataflow.status.value, self.dataflow.error, self.dataflow.generation

    def machine(self, name: str = 'A') -> str:
        """Return whether a machine is heard of."""
        found = self.registry.get(MachineRecord, name)
        assert found is not None
        return found.status.value

    def states(self) -> list[str]:
        """Return the states that the dataflow went through, in order."""
        return [after.status.value for _, after in self.told.changes if isinstance(after, DataflowRecord)]
