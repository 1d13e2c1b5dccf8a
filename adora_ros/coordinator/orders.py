"""What the coordinator has managers do: it compares what is wanted with what is reported, again and again.

Nothing is done once and hoped for. A machine that was away when a dataflow was started or stopped is told when it is
back, and a coordinator that was killed goes on where the records say it was.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.coordinator.records import DataflowRecord, Part, Record, Status, Wanted, combine
from adora_ros.errors import CoordinatorError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adora_ros.coordinator.machines import MachineReport
    from adora_ros.coordinator.protocol import Report
    from adora_ros.coordinator.registry import Registry

PATIENCE = 2.0
"""Seconds after which what has had no effect is asked for again."""


@dataclass(frozen=True)
class StartShare:
    """A waiting manager is to start its share of a dataflow."""

    machine: str
    node: str
    run: str


@dataclass(frozen=True)
class StopShare:
    """A manager is to stop its share of a dataflow and to end."""

    machine: str
    run: str
    service: str
    """Where it gives full reports; its other services are beside it."""


Order = StartShare | StopShare


class Orders:
    """Knows which managers wait, and what is to be asked of whom.

    Args:
        registry: The records, and who is heard of.

    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._waiting: dict[str, MachineReport] = {}
        self._services: dict[tuple[str, str], str] = {}
        self._active = {record.uuid for record in registry.list(DataflowRecord) if _is_active(record)}
        self._asked: dict[Order, float] = {}

    # What happens

    def changed(self, after: Record | None) -> None:
        """Note a record that has been written."""
        if isinstance(after, DataflowRecord):
            if _is_active(after):
                self._active.add(after.uuid)
            else:
                self._active.discard(after.uuid)

    def reported(self, report: Report) -> None:
        """Note which manager runs a share."""
        if report.last.status.final:
            self._services.pop((report.run, report.machine), None)
        else:
            self._services[report.run, report.machine] = report.service

    def waits(self, report: MachineReport) -> None:
        """Note that a manager waits, or does so no more."""
        if report.leaving:
            self._waiting.pop(report.machine, None)
        else:
            self._waiting[report.machine] = report

    def is_waiting(self, machine: str) -> bool:
        """Return whether a manager waits on a machine."""
        return machine in self._waiting and self._registry.expects_waiting(machine)

    # What is wanted

    def accept(self, before: DataflowRecord | None, after: DataflowRecord) -> DataflowRecord:
        """Return what a request makes of a dataflow's record.

        Raises:
            CoordinatorError: what it wants cannot be done.

        """
        wanted = Wanted.NOTHING if before is None else before.wanted
        if after.wanted is wanted or after.wanted is Wanted.NOTHING:
            return after
        if after.wanted is Wanted.RUN:
            return self._started(before, after)
        return self._stopped(before, after)

    def _started(self, before: DataflowRecord | None, after: DataflowRecord) -> DataflowRecord:
        if before is not None:
            msg = f'dataflow {after.name} is there already ({after.uuid}); start it as a new record'
            raise CoordinatorError(msg)
        if not after.name or not after.descriptor or not after.machines:
            msg = f'dataflows.{after.uuid}: a start needs name, descriptor and machines'
            raise CoordinatorError(msg)
        self._refuse_second(after)
        rest = self._rest() if '' in after.machines else ''
        machines = sorted({machine or rest for machine in after.machines})
        for machine in machines:
            if not self.is_waiting(machine):
                msg = f'no manager waits on machine `{machine}`; managers wait on {self._known()}'
                raise CoordinatorError(msg)
        parts = tuple(Part(machine=machine) for machine in machines)
        return dataclasses.replace(after, machines=tuple(machines), parts=parts, rest=rest)

    def _refuse_second(self, started: DataflowRecord) -> None:
        for record in self._registry.list(DataflowRecord):
            if record.name == started.name and not record.status.final:
                msg = f'dataflow {record.name} is {record.status.value} ({record.uuid}); stop it or choose another name'
                raise CoordinatorError(msg)

    def _rest(self) -> str:
        """Return the machine that takes nodes which name none: one without a name, as in dora, or the only one."""
        present = [report for report in self._waiting.values() if self.is_waiting(report.machine)]
        unnamed = sorted(report.machine for report in present if not report.named)
        if unnamed:
            return unnamed[0]
        if len(present) == 1:
            return present[0].machine
        msg = (
            'some nodes name no machine, and no manager without a name waits to take them: give them '
            f'`deploy: {{machine: NAME}}` or start `adora_ros manager` somewhere; managers wait on {self._known()}'
        )
        raise CoordinatorError(msg)

    def _known(self) -> str:
        return ', '.join(sorted(machine for machine in self._waiting if self.is_waiting(machine))) or 'no machine'

    def _stopped(self, before: DataflowRecord | None, after: DataflowRecord) -> DataflowRecord:
        if before is None:
            msg = f'dataflows.{after.uuid}: there is no such dataflow'
            raise CoordinatorError(msg)
        if before.over:
            msg = f'dataflow {before.name} has ended: it is {before.status.value}'
            raise CoordinatorError(msg)
        parts = tuple(self._unless_started(after, part) for part in after.parts)
        if before.presumed:
            return after  # whoever comes back is stopped then
        status, error = combine(parts, {})
        if not status.final and before.status in {Status.PENDING, Status.RUNNING}:
            status = Status.STOPPING
        elif not status.final:
            status = before.status
        return dataclasses.replace(after, parts=parts, status=status, error=error)

    def _unless_started(self, record: DataflowRecord, part: Part) -> Part:
        """Return a share that nobody has begun as one that has ended."""
        begun = part.seq or self._registry.expects(record.uuid, part.machine)
        return part if begun or part.status.final else dataclasses.replace(part, status=Status.SUCCEEDED)

    # What is to be done

    def due(self, now: float) -> tuple[Order, ...]:
        """Return what is to be asked now, and take it as asked.

        Args:
            now: Steady time in seconds.

        """
        wanted = tuple(order for run in sorted(self._active) for order in self._orders(run))
        self._asked = {order: at for order, at in self._asked.items() if order in wanted and now - at < PATIENCE}
        fresh = tuple(order for order in wanted if order not in self._asked)
        self._asked.update(dict.fromkeys(fresh, now))
        return fresh

    def _orders(self, run: str) -> Iterator[Order]:
        record = self._registry.get(DataflowRecord, run)
        if record is None:
            return
        if record.wanted is Wanted.RUN:
            for part in record.parts:
                if not part.status.final and not self._registry.expects(run, part.machine):
                    yield from self._start(record, part.machine)
            return
        for (other, machine), service in self._services.items():
            is_there = other == run and self._registry.expects(run, machine)
            if is_there and record.part(machine).status is not Status.STOPPING:
                yield StopShare(machine, run, service)

    def _start(self, record: DataflowRecord, machine: str) -> Iterator[Order]:
        if self.is_waiting(machine) and record.uuid not in self._waiting[machine].runs:
            yield StartShare(machine, self._waiting[machine].node, record.uuid)


def _is_active(record: DataflowRecord) -> bool:
    return record.wanted is not Wanted.NOTHING and not record.over
