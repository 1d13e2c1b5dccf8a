"""What the coordinator has managers do, given what is wanted and what is reported."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from adora_ros.coordinator import machines
from adora_ros.coordinator.machines import MachineReport, Start
from adora_ros.coordinator.orders import PATIENCE, Orders, StartShare, StopShare
from adora_ros.coordinator.protocol import ReportKind
from adora_ros.coordinator.records import DataflowRecord, Status, Wanted
from adora_ros.errors import CoordinatorError, TransportError
from coordinator.build import RUN, STAMP, Fixture, report, step

SERVICE = '/flow/manager/report'


class Desk:
    """A registry, its orders, and managers that wait."""

    def __init__(self, *waiting: str, unnamed: str = '') -> None:
        self.fixture = Fixture()
        self.orders = Orders(self.fixture.registry)
        self.now = 0.0
        for machine in waiting:
            self.waits(machine, named=machine != unnamed)

    def waits(self, machine: str, *, named: bool = True, **fields: Any) -> None:
        """Let a waiting manager say how it is."""
        said = MachineReport(machine=machine, hostname='host', node=f'/adora/machine_{machine}', named=named, **fields)
        self.orders.waits(said)
        self.fixture.registry.hear_machine(said, self.now)

    def write(self, wanted: Wanted, machines: tuple[str, ...] = (), key: str = RUN) -> DataflowRecord:
        """Let a client want something."""
        registry = self.fixture.registry
        before = registry.get(DataflowRecord, key)
        base = before or DataflowRecord(uuid=key, name='flow', descriptor='{}', machines=machines, generation=0)
        after = self.orders.accept(before, base.changed(STAMP, wanted=wanted))
        registry.commit(before, after)
        self.orders.changed(after)
        return after

    def reports(self, machine: str, number: int, status: Status = Status.RUNNING) -> None:
        """Let a manager of the run report a step."""
        made = report(step(number, status), ReportKind.STEP, machine=machine)
        self.orders.reported(made)
        self.fixture.registry.take(made, self.now)
        self.orders.changed(self.fixture.dataflow)

    def due(self) -> tuple[Any, ...]:
        """Return what is to be asked a while later."""
        self.now += PATIENCE
        return self.orders.due(self.now)


def test_a_start_is_asked_of_every_machine_until_its_manager_reports() -> None:
    desk = Desk('A', 'B')
    made = desk.write(Wanted.RUN, ('A', 'B'))
    assert (made.machines, made.status, [part.machine for part in made.parts]) == (
        ('A', 'B'),
        Status.PENDING,
        ['A', 'B'],
    )
    both = (StartShare('A', '/adora/machine_A', RUN), StartShare('B', '/adora/machine_B', RUN))
    assert desk.due() == both
    assert desk.orders.due(desk.now + PATIENCE / 2) == ()
    assert desk.due() == both
    desk.waits('A', runs=(RUN,))
    assert desk.due() == both[1:]
    for number, status in enumerate((Status.PENDING, Status.RUNNING), start=1):
        desk.reports('A', number, status)
    assert desk.fixture.state[0] == 'Pending'  # since B has not begun
    for number, status in enumerate((Status.PENDING, Status.RUNNING), start=1):
        desk.reports('B', number, status)
    assert desk.due() == ()
    assert desk.fixture.state[0] == 'Running'


@pytest.mark.parametrize(
    ('waiting', 'unnamed', 'machines', 'expected'),
    [
        ('AB', '', ('A', 'B'), ('A', 'B')),
        ('AB', 'B', ('A', ''), ('A', 'B')),
        ('A', '', ('',), ('A',)),
        ('AB', '', ('',), 'no manager without a name waits'),
        ('AB', '', ('Q',), 'no manager waits on machine `Q`; managers wait on A, B'),
        ('', '', ('Q',), 'no manager waits on machine `Q`; managers wait on no machine'),
        ('A', '', (), 'a start needs name, descriptor and machines'),
    ],
)
def test_where_a_dataflow_is_started(
    waiting: str, unnamed: str, machines: tuple[str, ...], expected: tuple[str, ...] | str
) -> None:
    desk = Desk(*waiting, unnamed=unnamed)
    if isinstance(expected, str):
        with pytest.raises(CoordinatorError, match=expected):
            desk.write(Wanted.RUN, machines)
    else:
        assert desk.write(Wanted.RUN, machines).machines == expected


def test_a_name_runs_once() -> None:
    desk = Desk('A')
    desk.write(Wanted.RUN, ('A',))
    with pytest.raises(CoordinatorError, match=rf'dataflow flow is Pending \({RUN}\); stop it or choose another name'):
        desk.write(Wanted.RUN, ('A',), key='other')


def test_a_stop_is_asked_of_whoever_runs_it_whoever_started_it() -> None:
    desk = Desk()
    for number, status in enumerate((Status.PENDING, Status.RUNNING), start=1):
        desk.reports('A', number, status)
    assert desk.write(Wanted.STOP).status is Status.STOPPING
    order = StopShare('A', RUN, SERVICE)
    assert desk.due() == (order,)
    assert desk.due() == (order,)
    desk.reports('A', 3, Status.STOPPING)
    assert desk.due() == ()
    desk.reports('A', 4, Status.SUCCEEDED)
    assert desk.fixture.state[0] == 'Succeeded'
    with pytest.raises(CoordinatorError, match='start it as a new record'):
        desk.write(Wanted.RUN)


def test_what_runs_on_a_machine_that_is_away_is_stopped_when_it_is_back() -> None:
    desk = Desk()
    for number, status in enumerate((Status.PENDING, Status.RUNNING), start=1):
        desk.reports('A', number, status)
    desk.now = 31.0
    desk.fixture.registry.judge(desk.now)
    assert desk.fixture.state[:2] == ('Failed', 'machine A: not heard of for 31 s')
    assert desk.write(Wanted.STOP).status is Status.FAILED
    full = report(step(2), ReportKind.FULL, steps=(step(1, Status.PENDING), step(2)))
    desk.orders.reported(full)
    desk.fixture.registry.take(full, desk.now, final_word=True)
    desk.orders.changed(desk.fixture.dataflow)
    assert desk.fixture.state[0] == 'Running'
    assert desk.due() == (StopShare('A', RUN, SERVICE),)


def test_what_has_ended_cannot_be_stopped() -> None:
    desk = Desk()
    desk.reports('A', 1, Status.SUCCEEDED)
    with pytest.raises(CoordinatorError, match='dataflow flow has ended: it is Succeeded'):
        desk.write(Wanted.STOP)


def test_what_nobody_has_begun_is_stopped_at_once() -> None:
    desk = Desk('A')
    desk.write(Wanted.RUN, ('A',))
    assert desk.write(Wanted.STOP).status is Status.SUCCEEDED
    assert desk.due() == ()


def test_a_share_whose_machine_was_switched_off_begins_anew() -> None:
    desk = Desk('A', 'B')
    desk.write(Wanted.RUN, ('A', 'B'))
    for machine in 'AB':
        for number, status in enumerate((Status.PENDING, Status.RUNNING), start=1):
            desk.reports(machine, number, status)
        desk.waits(machine, runs=(RUN,))
    desk.now = 20.0
    desk.waits('A', runs=(RUN,))
    desk.reports('A', 2)
    desk.now = 31.0
    desk.fixture.registry.judge(desk.now)
    assert desk.fixture.told.machines == ['lost B after 31']
    assert desk.fixture.state[0] == 'Running'
    desk.waits('B')  # it knows of nothing
    assert desk.due() == (StartShare('B', '/adora/machine_B', RUN),)
    desk.fixture.registry.renew_share(RUN, 'B')
    desk.reports('B', 1, Status.PENDING)
    desk.reports('B', 2)
    assert desk.due() == ()
    assert [part.seq for part in desk.fixture.dataflow.parts] == [2, 2]


def test_a_share_that_cannot_be_started_fails_and_stops_the_others() -> None:
    desk = Desk('A', 'B')
    desk.write(Wanted.RUN, ('A', 'B'))
    desk.reports('A', 1, Status.PENDING)
    desk.waits('B', runs=(RUN,), ended={RUN: 'its manager ended: signal:SIGKILL'})
    desk.orders.changed(desk.fixture.dataflow)
    assert desk.fixture.dataflow.wanted is Wanted.STOP
    assert desk.due() == (StopShare('A', RUN, SERVICE),)
    desk.reports('A', 2, Status.STOPPING)
    desk.reports('A', 3, Status.SUCCEEDED)
    assert desk.fixture.state[:2] == ('Failed', 'machine B: its manager ended: signal:SIGKILL')


def test_a_share_that_ended_unheard_has_ended_as_its_waiting_manager_says() -> None:
    desk = Desk('A')
    desk.write(Wanted.RUN, ('A',))
    desk.waits('A', runs=(RUN,), ended={RUN: ''})
    assert desk.fixture.state[:2] == ('Succeeded', '')


def test_reports_and_starts_survive_their_encoding() -> None:
    said = MachineReport(machine='A', hostname='h', node='/adora/machine_A', named=True, runs=('x',), ended={'x': 'no'})
    assert machines.decode_report(machines.encode(said)) == said
    start = Start(run='x', name='flow', file='/f.yml', descriptor='{}', rest=False)
    assert machines.decode_start(machines.encode(start)) == start


@pytest.mark.parametrize('text', ['', '[]', '{}', '{"run":1,"name":"","file":"","descriptor":"","rest":false}'])
def test_what_is_no_start(text: str) -> None:
    with pytest.raises(TransportError):
        machines.decode_start(text)


def test_a_machine_that_never_stops_has_no_more_and_more_to_say() -> None:
    said = MachineReport(machine='A', hostname='h', node='/adora/machine_A', named=True, runs=('goes on',))
    for number in range(machines.KEPT_ENDS + 5):
        said = machines.with_end(dataclasses.replace(said, runs=(*said.runs, f'run {number}')), f'run {number}', 'why')
    last = [f'run {number}' for number in range(5, machines.KEPT_ENDS + 5)]
    assert said.runs == ('goes on', *last)
    assert said.ended == dict.fromkeys(last, 'why')
