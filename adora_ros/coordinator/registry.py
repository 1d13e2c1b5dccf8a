"""The one owner of the records: takes reports in, notices silence, and writes every step to the store.

Without ROS and without a clock: time is an argument, in seconds of a steady clock.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from adora_ros.coordinator.ledger import Ledger
from adora_ros.coordinator.limits import Limits, Observer, Recovery
from adora_ros.coordinator.protocol import Report, ReportKind, Step
from adora_ros.coordinator.records import (
    COORDINATOR_RESTARTED,
    BuildRecord,
    DataflowRecord,
    MachineRecord,
    Part,
    Presence,
    Record,
    Status,
    Wanted,
    combine,
)
from adora_ros.coordinator.silence import Heard, Silence, Source, Unfinished, Waiting
from adora_ros.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from adora_ros.coordinator.machines import MachineReport
    from adora_ros.coordinator.store import CoordinatorStore

_FORWARD = (Status.PENDING, Status.RUNNING, Status.STOPPING)
"""The states that are not final, in the order in which a dataflow goes through them."""


class Registry(Ledger):
    """The records, and the managers and machines that are expected to report.

    Args:
        store: Where the records are kept.
        observer: Told of every change.
        limits: Times.
        label: Returns the wall time as a label.

    """

    def __init__(
        self, store: CoordinatorStore, *, observer: Observer, limits: Limits, label: Callable[[], str]
    ) -> None:
        super().__init__(store, observer)
        self._limits = limits
        self._label = label
        self._silence = Silence(grace=limits.recovery_timeout)
        self._lost: dict[str, dict[str, str]] = {}
        self._refused: set[tuple[str, str]] = set()

    def delete(self, record: Record) -> None:
        """Forget a record that nothing happens to any more.

        Raises:
            RecordError: it is in use.

        """
        if isinstance(record, DataflowRecord) and not record.status.final:
            msg = f'dataflows.{record.uuid} is {record.status.value}; stop it first'
            raise RecordError(msg)
        if isinstance(record, MachineRecord) and self._is_heard_of(record.id):
            msg = f'machines.{record.id} reports; stop its managers first'
            raise RecordError(msg)
        self._lost.pop(record.key, None)
        self._erase(record)

    def heartbeat_age(self, machine: str, now: float) -> float | None:
        """Return the seconds since a machine was last heard of, or None if it was not in this life."""
        return self._silence.age(Heard(machine), now)

    @property
    def under_way(self) -> bool:
        """Whether there is a dataflow whose end is still to come, as far as its managers say."""
        return any(not r.status.final and r.status is not Status.RECOVERING for r in self.list(DataflowRecord))

    # The life of the coordinator

    def recover(self, recovery: Recovery, now: float) -> int:
        """Take up what the last coordinator left, once, at the start; return how many dataflows were not final."""
        unfinished = [record for record in self.list(DataflowRecord) if not record.status.final]
        for record in unfinished:
            if self._recover(record, recovery, now):
                for part in record.parts:
                    if part.seq and not part.status.final:
                        source = Source(record.uuid, part.machine)
                        self._silence.expect(source, now, self._limits.recovery_timeout)
        for build in self.list(BuildRecord):
            if not build.status.final:
                self._recover(build, recovery, now)
        for machine in self.list(MachineRecord):
            if machine.status is Presence.CONNECTED and not self._is_heard_of(machine.id):
                self.commit(machine, machine.changed(self._label(), status=Presence.LEFT))
        return len(unfinished)

    def _recover(self, record: DataflowRecord | BuildRecord, recovery: Recovery, now: float) -> bool:
        """Take up one record; return whether somebody may still do something about it."""
        if recovery is Recovery.FAIL:
            self.commit(record, record.moved(self._label(), Status.FAILED, COORDINATOR_RESTARTED))
            return False
        if record.status is not Status.RECOVERING:
            self.commit(record, record.moved(self._label(), Status.RECOVERING))
        self._silence.expect(Unfinished(type(record), record.key), now, self._limits.recovery_timeout)
        return True

    def shut_down(self) -> None:
        """Leave the records as a coordinator that starts later is to find them."""
        records: tuple[DataflowRecord | BuildRecord, ...] = (*self.list(DataflowRecord), *self.list(BuildRecord))
        for record in records:
            if not record.status.final and record.status is not Status.RECOVERING:
                self.commit(record, record.moved(self._label(), Status.RECOVERING))

    def tick(self, now: float, period: float) -> bool:
        """Note that the coordinator listens.

        Args:
            now: The time.
            period: Seconds after which this was to be called again. What is beyond it was the coordinator's own
                absence, which is no silence of anybody.

        Returns:
            Whether somebody seems to have been silent for too long. :meth:`judge` is to be called once everything that
            has been received has been taken.

        """
        self._silence.listened(now, period)
        return bool(self._silence.overdue(now))

    def judge(self, now: float) -> None:
        """Take those for gone who have been silent for too long."""
        for who, age in self._silence.overdue(now):
            self._silence.forget(who)
            if isinstance(who, Waiting):
                self._note_machine(who.machine, Presence.DISCONNECTED, age)
            elif isinstance(who, Source):
                self._lose(who, age)
            elif isinstance(who, Unfinished):
                self._give_up(who)

    def _give_up(self, unfinished: Unfinished) -> None:
        record = self.get(unfinished.cls, unfinished.key)
        if record is None or record.status is not Status.RECOVERING:
            return
        failed = record.moved(self._label(), Status.FAILED, COORDINATOR_RESTARTED)
        if isinstance(failed, DataflowRecord):
            failed = dataclasses.replace(failed, presumed=True)
        self.commit(record, failed)

    # Reports

    def take(self, report: Report, now: float, *, final_word: bool = False) -> bool:
        """Take a report.

        Args:
            report: What a manager says.
            now: The time.
            final_word: Whether there is nobody to ask for what is missing: the gap is noted, and the state taken.

        Returns:
            Whether a full report is needed, since steps or the descriptor are missing.

        """
        record = self.get(DataflowRecord, report.run) or DataflowRecord(
            uuid=report.run, name=report.dataflow, generation=0
        )
        part = record.part(report.machine)
        if record.over or (part.status.final and report.last.seq <= part.seq):
            self._refuse(record, report)
            return False
        self._hear(report, now)
        seq = part.seq
        steps = [step for step in _steps_of(report, final_word=final_word) if step.seq > seq]
        gap = report.last.seq > seq and not (steps and (steps[0].seq == seq + 1 or report.kind is ReportKind.FULL))
        # What comes first after a restart or a silence may be old: the topic keeps reports for who comes late.
        comes_back = record.presumed or record.status is Status.RECOVERING
        if (gap or (comes_back and report.kind is not ReportKind.FULL)) and not final_word:
            return True
        if steps and steps[0].seq > seq + 1:
            missing = steps[0].seq - seq - 1
            self._observer.warn(f'dataflow {report.dataflow}: {missing} steps on machine {report.machine} are lost')
        if report.descriptor and not record.descriptor:
            record = self._describe(record, report.descriptor, alone=not steps)
        for step in steps:
            record = self._step(record, report.machine, step)
        record = self._adopt(record)
        if record.part(report.machine).status.final or report.kind is ReportKind.BYE:
            self._dismiss(report)
        return not (record.descriptor or final_word)

    def _refuse(self, record: DataflowRecord, report: Report) -> None:
        """Say once that a manager runs what the records say has ended."""
        source = (report.run, report.machine)
        ended = report.kind is ReportKind.BYE or report.last.status.final
        if not ended and not record.part(report.machine).status.final and source not in self._refused:
            self._refused.add(source)
            self._observer.warn(
                f'dataflow {report.dataflow} is recorded as {record.status.value}, but machine {report.machine} '
                f'still reports it; stop it there'
            )

    def _hear(self, report: Report, now: float) -> None:
        self._silence.forget(Unfinished(DataflowRecord, report.run))
        self._lost.get(report.run, {}).pop(report.machine, None)
        self._silence.expect(Source(report.run, report.machine), now, self._limits.machine_timeout)
        self._hear_machine(report.machine, report.hostname, now)

    def _hear_machine(self, machine: str, hostname: str, now: float) -> None:
        self._silence.expect(Heard(machine), now, float('inf'))
        before = self.get(MachineRecord, machine)
        if before is None:
            new = MachineRecord(id=machine, hostname=hostname, generation=0)
            self.commit(None, new.changed(self._label()))
        elif before.status is not Presence.CONNECTED or before.hostname != hostname:
            self.commit(before, before.changed(self._label(), status=Presence.CONNECTED, hostname=hostname))
            if before.status is Presence.DISCONNECTED:
                self._tell(functools.partial(self._observer.machine_back, machine))

    def _step(self, record: DataflowRecord, machine: str, step: Step) -> DataflowRecord:
        parts = record.with_part(Part(machine=machine, status=step.status, error=step.error, seq=step.seq))
        machines = record.machines if machine in record.machines else (*record.machines, machine)
        status, error = self._state(record, parts)
        stamp = step.stamp or self._label()
        after = record.changed(
            stamp, parts=parts, machines=machines, status=status, error=error, presumed=self._is_presumed(record, parts)
        )
        self.commit(record if record.generation else None, after)
        if after.over:
            self._lost.pop(after.uuid, None)
        return after

    def _describe(self, record: DataflowRecord, descriptor: str, *, alone: bool) -> DataflowRecord:
        """Add the descriptor: as a change of its own, unless a step follows that it can go with."""
        if not alone:
            return dataclasses.replace(record, descriptor=descriptor)
        after = record.changed(self._label(), descriptor=descriptor)
        self.commit(record if record.generation else None, after)
        return after

    def _adopt(self, record: DataflowRecord) -> DataflowRecord:
        """Correct what was only presumed, once a manager reports."""
        if not record.parts or not (record.presumed or record.status is Status.RECOVERING):
            return record
        status, error = self._state(record, record.parts)
        if status is record.status:
            return record
        presumed = self._is_presumed(record, record.parts)
        after = record.moved(self._label(), status, error, presumed=presumed)
        self.commit(record, after)
        return after

    def _state(self, record: DataflowRecord, parts: tuple[Part, ...]) -> tuple[Status, str]:
        """Return the state that follows from the parts; one that runs does not become pending by a late part."""
        status, error = combine(parts, self._lost.get(record.uuid, {}))
        if record.status in _FORWARD and status in _FORWARD:
            status = max(record.status, status, key=_FORWARD.index)
        return status, error

    def _is_presumed(self, record: DataflowRecord, parts: tuple[Part, ...]) -> bool:
        lost = self._lost.get(record.uuid, {})
        status, _ = combine(parts, lost)
        return status is Status.FAILED and any(not part.status.final for part in parts)

    # Waiting managers

    def hear_machine(self, report: MachineReport, now: float) -> None:
        """Take what a waiting manager says."""
        self._hear_machine(report.machine, report.hostname, now)
        if report.leaving:
            self._silence.forget(Waiting(report.machine))
            self._note_machine(report.machine, Presence.LEFT, 0.0)
        else:
            self._silence.expect(Waiting(report.machine), now, self._limits.machine_timeout)
        for run, error in report.ended.items():
            self.end_share(run, report.machine, error)

    def expects_waiting(self, machine: str) -> bool:
        """Return whether a manager waits on a machine and is heard of."""
        return Waiting(machine) in self._silence

    def expects(self, run: str, machine: str) -> bool:
        """Return whether a manager runs a share and is heard of."""
        return Source(run, machine) in self._silence

    def renew_share(self, run: str, machine: str) -> None:
        """Forget how far a share has come whose manager is gone, since it begins anew."""
        record = self.get(DataflowRecord, run)
        if record is not None and record.part(machine).seq:
            self._change_part(record, Part(machine=machine))

    def end_share(self, run: str, machine: str, error: str) -> None:
        """Note that a share ended, without its manager having said so; if it could not begin, the others are stopped.

        Args:
            run: The uuid of the run.
            machine: Where the share was.
            error: Why it failed; empty if it did not.

        """
        record = self.get(DataflowRecord, run)
        if record is None or record.part(machine).status.final or machine not in record.machines:
            return
        self._silence.forget(Source(run, machine))
        part = record.part(machine)
        if error:
            after = dataclasses.replace(part, status=Status.FAILED, error=f'machine {machine}: {error}')
        else:
            after = dataclasses.replace(part, status=Status.SUCCEEDED)
        self._change_part(record, after, wanted=Wanted.STOP if error and not part.seq else record.wanted)

    def _change_part(self, record: DataflowRecord, part: Part, **fields: object) -> None:
        parts = record.with_part(part)
        status, error = self._state(record, parts)
        changes = {'parts': parts, 'status': status, 'error': error, 'presumed': self._is_presumed(record, parts)}
        self.commit(record, record.changed(self._label(), **changes, **fields))

    # Silence

    def _lose(self, source: Source, age: float) -> None:
        """Take a manager for gone."""
        self._note_machine(source.machine, Presence.DISCONNECTED, age)
        self._conclude(source.run, source.machine, f'not heard of for {age:.0f} s')

    def _dismiss(self, report: Report) -> None:
        """Expect no more of a manager that has said its last word."""
        self._silence.forget(Source(report.run, report.machine))
        self._note_machine(report.machine, Presence.LEFT, 0.0)
        record = self.get(DataflowRecord, report.run)
        if record is not None and not record.part(report.machine).status.final:
            self._conclude(report.run, report.machine, 'its manager ended without a result')

    def _conclude(self, run: str, machine: str, text: str) -> None:
        """Work out what it means for a dataflow that nothing more is heard of one of its machines."""
        self._lost.setdefault(run, {})[machine] = text
        record = self.get(DataflowRecord, run)
        if record is None or record.status.final or record.status is Status.RECOVERING:
            return
        status, error = self._state(record, record.parts)
        if status is not record.status:
            self.commit(record, record.moved(self._label(), status, error, presumed=status is Status.FAILED))

    def _is_heard_of(self, machine: str) -> bool:
        """Return whether a manager of a machine is expected to report."""
        return Waiting(machine) in self._silence or any(
            isinstance(who, Source) and who.machine == machine for who in self._silence
        )

    def _note_machine(self, machine: str, presence: Presence, age: float) -> None:
        """Record that a machine is not heard of any more, if that was the last of its managers."""
        record = self.get(MachineRecord, machine)
        if record is None or self._is_heard_of(machine):
            return
        if record.status is not presence:
            self.commit(record, record.changed(self._label(), status=presence))
        if presence is Presence.DISCONNECTED:
            self._tell(functools.partial(self._observer.machine_lost, machine, age))


def _steps_of(report: Report, *, final_word: bool) -> Iterator[Step]:
    """Return the steps that a report tells of, oldest first."""
    if report.kind is ReportKind.FULL:
        yield from report.steps
    elif report.last.seq and (report.kind is ReportKind.STEP or final_word):
        yield report.last
