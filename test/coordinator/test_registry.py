"""What the coordinator makes of reports, of silence, and of its own restarts."""

from __future__ import annotations

import dataclasses

import pytest

from adora_ros.coordinator.limits import Recovery
from adora_ros.coordinator.protocol import KEPT_STEPS, ReportKind, Step
from adora_ros.coordinator.records import COORDINATOR_RESTARTED, BuildRecord, DataflowRecord, MachineRecord, Status
from adora_ros.errors import RecordError
from coordinator.build import RUN, STAMP, Fixture, record, report, step

BEAT = ReportKind.HEARTBEAT
FULL = ReportKind.FULL
BYE = ReportKind.BYE
PENDING, RUNNING, STOPPING = step(1, Status.PENDING), step(2), step(3, Status.STOPPING)
SUCCEEDED, FAILED = step(4, Status.SUCCEEDED), step(3, Status.FAILED, 'camera: exit code 1')
TICK = 0.5


def return_of(fixture: Fixture, *steps: Step, now: float, machine: str = 'A') -> None:
    """Let a manager report again after a silence: a heartbeat, and the full report that it is asked for."""
    assert fixture.registry.take(report(steps[-1], BEAT, machine=machine), now)
    full = report(steps[-1], FULL, machine=machine, descriptor='{}', steps=steps)
    assert not fixture.registry.take(full, now, final_word=True)


def running(machine: str = 'A', now: float = 0.0, fixture: Fixture | None = None) -> Fixture:
    fixture = fixture or Fixture()
    for made in (PENDING, RUNNING):
        assert not fixture.registry.take(report(made, machine=machine), now)
    return fixture


def look(fixture: Fixture, now: float) -> None:
    if fixture.registry.tick(now, TICK):
        fixture.registry.judge(now)


def tick_until(fixture: Fixture, start: float, end: float) -> None:
    for number in range(int((end - start) / TICK) + 1):
        look(fixture, start + number * TICK)


# Steps


def test_every_step_is_a_generation() -> None:
    fixture = running()
    assert fixture.state == ('Running', '', 2)
    made = fixture.dataflow
    assert (made.name, made.descriptor, made.machines) == ('flow', '{}', ('A',))
    assert (made.created_at, made.updated_at) == ('stamp 1', 'stamp 2')
    assert not fixture.registry.take(report(STOPPING), 1.0)
    assert not fixture.registry.take(report(SUCCEEDED), 2.0)
    assert fixture.state == ('Succeeded', '', 4)
    assert fixture.states() == ['Pending', 'Running', 'Stopping', 'Succeeded']


def test_a_failure_is_kept_with_what_each_node_died_of() -> None:
    fixture = running()
    fixture.registry.take(report(FAILED), 1.0)
    assert fixture.state == ('Failed', 'camera: exit code 1', 3)
    assert fixture.dataflow.over


def test_what_is_repeated_changes_nothing() -> None:
    fixture = running()
    for made in (
        report(PENDING),
        report(RUNNING),
        report(RUNNING, BEAT),
        report(RUNNING, FULL, steps=(PENDING, RUNNING)),
    ):
        assert not fixture.registry.take(made, 1.0)
    assert fixture.state == ('Running', '', 2)
    fixture.registry.take(report(FAILED), 1.0)
    for made in (report(FAILED), report(FAILED, BYE), report(FAILED, BEAT)):
        assert not fixture.registry.take(made, 1.0)
    assert fixture.state[2] == 3
    assert fixture.told.warnings == []


# Gaps


@pytest.mark.parametrize('kind', [ReportKind.STEP, BEAT])
def test_a75_a_gap_is_noticed_and_healed_by_a_full_report(kind: ReportKind) -> None:
    fixture = running()
    assert fixture.registry.take(report(SUCCEEDED, kind), 1.0)
    assert fixture.state == ('Running', '', 2)
    everything = (PENDING, RUNNING, STOPPING, SUCCEEDED)
    assert not fixture.registry.take(report(SUCCEEDED, FULL, steps=everything), 1.1, final_word=True)
    assert fixture.states() == ['Pending', 'Running', 'Stopping', 'Succeeded']
    assert fixture.told.warnings == []


def test_a75_a_run_that_nobody_knows_of_is_told_as_a_whole() -> None:
    fixture = Fixture()
    assert fixture.registry.take(report(RUNNING, BEAT), 0.0)
    assert not fixture.registry.take(report(RUNNING, FULL, descriptor='{"x": 1}', steps=(PENDING, RUNNING)), 0.1)
    assert fixture.state == ('Running', '', 2)
    assert fixture.dataflow.descriptor == '{"x": 1}'


def test_a75_steps_that_the_manager_has_forgotten_are_said_to_be_lost() -> None:
    fixture = running()
    last = step(KEPT_STEPS + 10, Status.STOPPING)
    kept = (step(KEPT_STEPS + 9), last)
    assert not fixture.registry.take(report(last, FULL, steps=kept), 1.0, final_word=True)
    assert fixture.state[0] == 'Stopping'
    assert fixture.told.warnings == [f'dataflow flow: {KEPT_STEPS + 6} steps on machine A are lost']


def test_a75_a_manager_that_gives_no_full_report_is_taken_at_its_last_word() -> None:
    fixture = running()
    assert fixture.registry.take(report(step(5, Status.STOPPING), BEAT), 1.0)
    assert not fixture.registry.take(report(step(5, Status.STOPPING), BEAT), 4.0, final_word=True)
    assert fixture.state == ('Stopping', '', 3)
    assert fixture.told.warnings == ['dataflow flow: 2 steps on machine A are lost']
    assert not fixture.registry.take(report(step(6, Status.SUCCEEDED)), 5.0)
    assert fixture.state == ('Succeeded', '', 4)


def test_a_descriptor_that_was_too_long_is_asked_for() -> None:
    fixture = Fixture()
    assert fixture.registry.take(report(PENDING, descriptor=''), 0.0)
    assert fixture.state == ('Pending', '', 1)
    assert not fixture.registry.take(
        report(PENDING, FULL, descriptor='{"x": 1}', steps=(PENDING,)), 0.1, final_word=True
    )
    assert fixture.dataflow.descriptor == '{"x": 1}'
    assert not fixture.registry.take(report(PENDING, BEAT), 3.0)


# Restarts of the coordinator


def test_what_was_not_final_is_recovering_until_its_manager_reports() -> None:
    fixture = running().restarted(now=1000.0)
    assert fixture.state == ('Recovering', '', 3)
    return_of(fixture, PENDING, RUNNING, now=1010.0)
    assert fixture.state == ('Running', '', 4)
    tick_until(fixture, 1010.0, 1035.0)
    assert fixture.state == ('Running', '', 4)


def test_steps_that_were_made_meanwhile_are_taken_over_in_order() -> None:
    fixture = running().restarted(now=1000.0)
    for old in (PENDING, RUNNING, STOPPING):
        assert fixture.registry.take(report(old), 1000.5)
    assert fixture.state == ('Recovering', '', 3)
    return_of(fixture, PENDING, RUNNING, STOPPING, SUCCEEDED, now=1001.0)
    assert fixture.states() == ['Recovering', 'Stopping', 'Succeeded']


def test_after_30_s_without_a_report_it_has_failed() -> None:
    fixture = running().restarted(now=1000.0)
    tick_until(fixture, 1000.0, 1029.5)
    assert fixture.state == ('Recovering', '', 3)
    tick_until(fixture, 1030.0, 1030.0)
    assert fixture.state == ('Failed', COORDINATOR_RESTARTED, 4)
    assert fixture.machine() == 'Disconnected'
    assert fixture.told.machines == ['lost A after 30']


def test_a_manager_that_reports_after_that_is_believed() -> None:
    fixture = running().restarted(now=1000.0)
    tick_until(fixture, 1000.0, 1030.0)
    again = fixture.restarted(now=2000.0)
    assert again.state == ('Failed', COORDINATOR_RESTARTED, 4)
    return_of(again, PENDING, RUNNING, now=2001.0)
    assert again.state == ('Running', '', 5)
    assert again.told.machines == ['back A']


def test_with_recovery_fail_it_has_failed_at_once_and_stays_so() -> None:
    fixture = running().restarted(Recovery.FAIL, now=1000.0)
    assert fixture.state == ('Failed', COORDINATOR_RESTARTED, 3)
    for _ in range(3):
        assert not fixture.registry.take(report(RUNNING, BEAT), 1001.0)
    assert fixture.state == ('Failed', COORDINATOR_RESTARTED, 3)
    assert fixture.told.warnings == [
        'dataflow flow is recorded as Failed, but machine A still reports it; stop it there'
    ]


def test_a_manager_that_comes_back_but_gives_no_full_report_is_believed_all_the_same() -> None:
    fixture = running().restarted(now=1000.0)
    assert fixture.registry.take(report(RUNNING, BEAT), 1001.0)
    assert not fixture.registry.take(report(RUNNING, BEAT), 1004.0, final_word=True)
    assert fixture.state == ('Running', '', 4)


def test_what_was_final_stays_as_it_was() -> None:
    fixture = running()
    fixture.registry.take(report(FAILED), 1.0)
    before = fixture.dataflow
    assert fixture.restarted().dataflow == before
    assert fixture.machine() == 'Left'


def test_a_coordinator_that_ends_leaves_records_that_recover() -> None:
    fixture = running()
    fixture.registry.shut_down()
    assert fixture.state == ('Recovering', '', 3)
    again = fixture.restarted(now=1000.0)
    assert again.state == ('Recovering', '', 3)
    return_of(again, PENDING, RUNNING, now=1001.0)
    assert again.state == ('Running', '', 4)


def test_a_record_that_no_manager_ever_took_up_fails_as_well() -> None:
    fixture = Fixture()
    fixture.store.put(record(DataflowRecord, RUN, name='flow'))
    again = fixture.restarted(now=0.0)
    tick_until(again, 0.0, 30.0)
    assert again.state == ('Failed', COORDINATOR_RESTARTED, 3)


def test_a_build_that_nobody_goes_on_with_after_a_restart_has_failed() -> None:
    fixture = Fixture()
    for key in ('left', 'done', 'taken_up'):
        status = Status.SUCCEEDED if key == 'done' else Status.RUNNING
        fixture.store.put(record(BuildRecord, key, name='flow', machine='A', status=status))
    again = fixture.restarted(now=0.0)

    def state(key: str) -> tuple[str, str]:
        found = again.registry.get(BuildRecord, key)
        assert found is not None
        return found.status.value, found.error

    assert [state(key)[0] for key in ('left', 'done', 'taken_up')] == ['Recovering', 'Succeeded', 'Recovering']
    taken_up = again.registry.get(BuildRecord, 'taken_up')
    assert taken_up is not None
    again.registry.commit(taken_up, taken_up.moved(STAMP, Status.RUNNING))
    tick_until(again, 0.0, 29.5)
    assert state('left') == ('Recovering', '')
    tick_until(again, 30.0, 40.0)
    assert state('left') == ('Failed', COORDINATOR_RESTARTED)
    assert state('taken_up') == ('Running', '')
    again.registry.shut_down()
    assert state('taken_up') == ('Recovering', '')
    fixture.restarted(Recovery.FAIL)
    assert state('taken_up') == ('Failed', COORDINATOR_RESTARTED)


# Silence


def test_a_manager_is_gone_30_s_after_its_last_report() -> None:
    fixture = running(now=100.0)
    fixture.registry.take(report(RUNNING, BEAT), 103.0)
    tick_until(fixture, 103.0, 132.5)
    assert fixture.state == ('Running', '', 2)
    assert fixture.machine() == 'Connected'
    tick_until(fixture, 133.0, 140.0)
    assert fixture.state == ('Failed', 'machine A: not heard of for 30 s', 3)
    assert fixture.machine() == 'Disconnected'
    assert fixture.told.machines == ['lost A after 30']
    return_of(fixture, PENDING, RUNNING, now=141.0)
    assert fixture.state == ('Running', '', 4)
    assert fixture.machine() == 'Connected'
    assert fixture.told.machines == ['lost A after 30', 'back A']


def test_the_silence_of_a_coordinator_that_was_away_is_nobodys() -> None:
    fixture = running(now=100.0)
    tick_until(fixture, 100.0, 110.0)
    look(fixture, 170.0)
    assert fixture.state == ('Running', '', 2)
    assert fixture.registry.heartbeat_age('A', 170.0) == pytest.approx(10.5)
    tick_until(fixture, 170.5, 199.5)  # everybody gets as long as after a restart
    assert fixture.state == ('Running', '', 2)
    look(fixture, 200.0)
    assert fixture.state[0] == 'Failed'


def test_looks_that_come_a_little_late_again_and_again_are_nobodys_silence_either() -> None:
    fixture = running(now=100.0)
    for number in range(1, 41):  # 0.9 s instead of 0.5 s each
        look(fixture, 100.0 + number * 0.9)
    assert fixture.state == ('Running', '', 2)
    assert fixture.registry.heartbeat_age('A', 136.0) == pytest.approx(40 * TICK + 0.4)


def test_what_was_received_counts_before_anybody_is_taken_for_gone() -> None:
    fixture = running(now=100.0)
    tick_until(fixture, 100.0, 129.5)
    assert fixture.registry.tick(130.0, TICK)
    fixture.registry.take(report(RUNNING, BEAT), 130.0)
    fixture.registry.judge(130.0)
    assert fixture.state == ('Running', '', 2)
    assert fixture.told.machines == []


def test_a_manager_that_says_bye_is_not_missed() -> None:
    fixture = running()
    fixture.registry.take(report(SUCCEEDED, FULL, steps=(STOPPING, SUCCEEDED)), 1.0)
    fixture.registry.take(report(SUCCEEDED, BYE), 1.1)
    assert fixture.machine() == 'Left'
    tick_until(fixture, 2.0, 60.0)
    assert fixture.told.machines == []


def test_a_manager_that_says_bye_without_a_result_has_failed() -> None:
    fixture = running()
    fixture.registry.take(report(RUNNING, BYE), 1.0)
    assert fixture.state == ('Failed', 'machine A: its manager ended without a result', 3)
    assert fixture.machine() == 'Left'


# Several machines


def test_a_dataflow_ends_when_all_of_its_parts_have() -> None:
    fixture = running('B', fixture=running('A'))
    assert fixture.dataflow.machines == ('A', 'B')
    fixture.registry.take(report(step(3, Status.FAILED, 'camera: exit code 1'), machine='A'), 1.0)
    assert fixture.state[:2] == ('Running', '')
    fixture.registry.take(report(step(3, Status.STOPPING), machine='B'), 2.0)
    assert fixture.state[:2] == ('Stopping', '')
    fixture.registry.take(report(step(4, Status.SUCCEEDED), machine='B'), 3.0)
    assert fixture.state[:2] == ('Failed', 'camera: exit code 1')
    assert fixture.states() == ['Pending', 'Running', 'Running', 'Running', 'Running', 'Stopping', 'Failed']


def test_losing_a_machine_leaves_the_rest_running() -> None:
    fixture = running('B', fixture=running('A'))
    for now in range(0, 60, 3):
        fixture.registry.take(report(RUNNING, BEAT, machine='A'), float(now))
        tick_until(fixture, float(now), now + 2.5)
    assert fixture.state[:2] == ('Running', '')
    assert fixture.told.machines == ['lost B after 30']
    assert (fixture.machine('A'), fixture.machine('B')) == ('Connected', 'Disconnected')
    fixture.registry.take(report(step(3, Status.SUCCEEDED), machine='A'), 60.0)
    assert fixture.state[:2] == ('Failed', 'machine B: not heard of for 30 s')
    return_of(fixture, PENDING, RUNNING, now=61.0, machine='B')
    assert fixture.state[:2] == ('Running', '')
    fixture.registry.take(report(step(3, Status.SUCCEEDED), machine='B'), 62.0)
    assert fixture.state[:2] == ('Succeeded', '')
    assert fixture.dataflow.over


# Deleting


def test_what_is_in_use_cannot_be_deleted() -> None:
    fixture = running()
    with pytest.raises(RecordError, match=f'dataflows.{RUN} is Running; stop it first'):
        fixture.registry.delete(fixture.dataflow)
    machine = fixture.registry.get(MachineRecord, 'A')
    assert machine is not None
    with pytest.raises(RecordError, match=r'machines\.A reports; stop its managers first'):
        fixture.registry.delete(machine)
    fixture.registry.take(report(FAILED), 1.0)
    before = fixture.dataflow
    fixture.registry.delete(before)
    assert fixture.registry.list(DataflowRecord) == ()
    assert fixture.told.changes[-1] == (before, None)


def test_nothing_is_kept_in_memory_of_dataflows_that_are_over() -> None:
    fixture = Fixture()
    for number in range(100):
        for made in (PENDING, RUNNING, FAILED):
            fixture.registry.take(dataclasses.replace(report(made), run=f'run-{number}'), float(number))
        fixture.registry.take(dataclasses.replace(report(FAILED, BYE), run=f'run-{number}'), float(number))
    registry = fixture.registry
    assert (registry._lost, registry._refused) == ({}, set())
    assert len(list(registry._silence)) == 1  # the machine


def test_stamps_of_the_coordinator_are_its_own() -> None:
    fixture = running().restarted(now=0.0)
    assert fixture.dataflow.updated_at == STAMP
