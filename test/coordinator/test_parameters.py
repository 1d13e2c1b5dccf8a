"""The records as parameters, without ROS."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from rclpy.parameter import Parameter

from adora_ros.coordinator.orders import Orders
from adora_ros.coordinator.parameters import RecordParameters, Value
from adora_ros.coordinator.protocol import ReportKind
from adora_ros.coordinator.records import BuildRecord, DataflowRecord, MachineRecord, Status
from adora_ros.coordinator.storenode import from_message, to_message
from coordinator.build import STAMP, Fixture, record, report, step

DATAFLOW = (
    'name',
    'descriptor',
    'status',
    'error',
    'machines',
    'wanted',
    'file',
    'generation',
    'created_at',
    'updated_at',
)
BUILD = ('name', 'machine', 'status', 'error', 'generation', 'created_at', 'updated_at')
MACHINE = ('hostname', 'status', 'generation', 'created_at', 'updated_at')


class Server:
    """Parameters over a registry with one record of each kind."""

    def __init__(self) -> None:
        self.fixture = Fixture()
        for made in (
            record(DataflowRecord, 'u1', name='flow', descriptor='{}', machines=('A', 'B')),
            record(BuildRecord, 'u2', name='flow', machine='A'),
            record(MachineRecord, 'robot.local', hostname='robot'),
        ):
            self.fixture.store.put(made)
        self.now = 0.0
        registry = self.fixture.registry
        self.parameters = RecordParameters(
            registry, accept=Orders(registry).accept, clock=lambda: self.now, label=lambda: 'now'
        )
        self.get = self.parameters.get
        self.set = self.parameters.set_atomically

    def dataflow(self, key: str = 'u1') -> DataflowRecord:
        found = self.fixture.registry.get(DataflowRecord, key)
        assert found is not None
        return found


@pytest.fixture
def server() -> Server:
    return Server()


def names_of(prefix: str, fields: tuple[str, ...]) -> list[str]:
    return [f'{prefix}.{field}' for field in fields]


ALL = [
    *names_of('dataflows.u1', DATAFLOW),
    *names_of('builds.u2', BUILD),
    *names_of('machines.robot.local', MACHINE),
]


def test_all_records_are_listed(server: Server) -> None:
    names, prefixes = server.parameters.names([], 0)
    assert names == ALL
    assert prefixes == ['dataflows.u1', 'builds.u2', 'machines.robot.local']


@pytest.mark.parametrize(
    ('prefixes', 'depth'),
    list(
        itertools.product(
            ([], ['dataflows'], ['builds', 'machines'], ['dataflows.u1'], ['dataflows.u1.name'], ['data'], ['x'], ['']),
            range(5),
        )
    ),
)
def test_a_list_is_filtered_as_rclpy_does(server: Server, prefixes: list[str], depth: int) -> None:
    from rclpy.node import Node  # noqa: PLC0415

    class Twin:
        _parameters = dict.fromkeys(ALL)

    expected: Any = Node.list_parameters(Twin(), prefixes, depth)  # type: ignore[arg-type]
    assert server.parameters.names(prefixes, depth) == (list(expected.names), list(expected.prefixes))


def test_values(server: Server) -> None:
    found = {name: server.get(name) for name in ALL}
    assert found == {
        'dataflows.u1.name': 'flow',
        'dataflows.u1.descriptor': '{}',
        'dataflows.u1.status': 'Pending',
        'dataflows.u1.error': '',
        'dataflows.u1.machines': ('A', 'B'),
        'dataflows.u1.wanted': '',
        'dataflows.u1.file': '',
        'dataflows.u1.generation': 1,
        'dataflows.u1.created_at': STAMP,
        'dataflows.u1.updated_at': STAMP,
        'builds.u2.name': 'flow',
        'builds.u2.machine': 'A',
        'builds.u2.status': 'Pending',
        'builds.u2.error': '',
        'builds.u2.generation': 1,
        'builds.u2.created_at': STAMP,
        'builds.u2.updated_at': STAMP,
        'machines.robot.local.hostname': 'robot',
        'machines.robot.local.status': 'Connected',
        'machines.robot.local.generation': 1,
        'machines.robot.local.created_at': STAMP,
        'machines.robot.local.updated_at': STAMP,
    }


@pytest.mark.parametrize(
    'name',
    [
        '',
        'x',
        'dataflows',
        'dataflows.u1',
        'dataflows.u9.name',
        'dataflows.u1.parts',
        'dataflows.u1.hostname',
        'builds..name',
    ],
)
def test_an_unknown_name_has_no_value(server: Server, name: str) -> None:
    assert server.get(name) is None
    assert server.parameters.describe(name) is None


def test_the_age_of_a_heartbeat_is_computed(server: Server) -> None:
    name = 'machines.robot.local.last_heartbeat_ago_ms'
    assert server.get(name) is None
    server.fixture.registry.take(report(step(1, Status.PENDING), machine='robot.local'), 5.0)
    server.now = 6.25
    assert server.get(name) == 1250
    assert name in server.parameters.names(['machines'], 0)[0]
    assert server.set({name: 0, 'machines.robot.local.generation': 2}) == f'{name} is read-only'


def test_descriptions(server: Server) -> None:
    for name in ALL:
        found = server.parameters.describe(name)
        assert found is not None
        assert found.text
        assert found.read_only == name.endswith('_at')


def test_one_request_writes_one_record(server: Server) -> None:
    error = server.set(
        {
            'dataflows.new.name': 'other',
            'dataflows.new.descriptor': '{"nodes": []}',
            'dataflows.new.machines': ('A',),
            'dataflows.new.generation': 1,
        }
    )
    assert error == ''
    made = server.dataflow('new')
    assert (made.name, made.descriptor, made.machines, made.status) == (
        'other',
        '{"nodes": []}',
        ('A',),
        Status.PENDING,
    )
    assert (made.generation, made.created_at, made.updated_at) == (1, 'now', 'now')
    assert server.set({'dataflows.new.status': 'Running', 'dataflows.new.generation': 2}) == ''
    assert (server.dataflow('new').status, server.dataflow('new').generation) == (Status.RUNNING, 2)
    assert server.fixture.told.changes == [(None, made), (made, server.dataflow('new'))]


REFUSED: dict[str, tuple[dict[str, Value | None], str]] = {
    'a stale generation': (
        {'dataflows.u1.name': 'x', 'dataflows.u1.generation': 1},
        'dataflows.u1: generation 1 cannot follow 1; read the record again and set 2',
    ),
    'a generation from the future': (
        {'dataflows.u1.name': 'x', 'dataflows.u1.generation': 3},
        'dataflows.u1: generation 3 cannot follow 1; read the record again and set 2',
    ),
    'no generation': ({'dataflows.u1.name': 'x'}, 'dataflows.u1.generation is missing; set it to 2'),
    'two records': (
        {'dataflows.u1.name': 'x', 'builds.u2.name': 'x'},
        'one request writes one record, not both dataflows.u1 and builds.u2; send two',
    ),
    'a label': ({'dataflows.u1.created_at': 'x', 'dataflows.u1.generation': 2}, 'dataflows.u1.created_at is read-only'),
    'no state': (
        {'builds.u2.status': 'Asleep', 'builds.u2.generation': 2},
        "builds.u2.status cannot be 'Asleep'; use one of Pending, Running, Stopping, Succeeded, Failed, Recovering",
    ),
    'a type': (
        {'dataflows.u1.machines': 'A', 'dataflows.u1.generation': 2},
        "dataflows.u1.machines cannot be 'A'; it is a list of texts",
    ),
    'an error of what has not failed': (
        {'dataflows.u1.error': 'x', 'dataflows.u1.generation': 2},
        'dataflows.u1.error is only for what is Failed; set its status, too',
    ),
    'a field alone': (
        {'dataflows.u1.name': None, 'dataflows.u1.generation': 2},
        'dataflows.u1.name cannot be deleted alone; delete dataflows.u1.generation to delete the record',
    ),
    'a record that runs': ({'dataflows.u1.generation': None}, 'dataflows.u1 is Pending; stop it first'),
    'a record that is not there': ({'builds.u9.generation': None}, 'builds.u9: there is no such record'),
    'a key that cannot be': (
        {'builds.a b.generation': 1},
        "builds: 'a b' cannot be a key: use 1 to 200 printable characters without blanks",
    ),
    'deleting and setting': (
        {'builds.u2.generation': None, 'builds.u2.name': 'x'},
        'builds.u2: a request that deletes the record cannot set its parameters, too; send two',
    ),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_is_refused_changes_nothing(server: Server, case: str) -> None:
    values, problem = REFUSED[case]
    assert server.set(values) == problem
    assert server.fixture.told.changes == []
    assert server.parameters.names([], 0)[0] == ALL


def test_an_unknown_name_is_refused_with_the_known_ones(server: Server) -> None:
    assert server.set({'use_sim_time': 1}) == (
        'there can be no parameter use_sim_time; what can be set is '
        'dataflows.<uuid>.{name, descriptor, status, error, machines, wanted, file, generation}; '
        'builds.<uuid>.{name, machine, status, error, generation}; machines.<id>.{hostname, status, generation}'
    )


def test_the_state_changes_by_the_table_only(server: Server) -> None:
    failed: dict[str, Value | None] = {
        'dataflows.u1.status': 'Failed',
        'dataflows.u1.error': 'a: b',
        'dataflows.u1.generation': 2,
    }
    assert server.set(failed) == ''
    again: dict[str, Value | None] = {'dataflows.u1.status': 'Running', 'dataflows.u1.generation': 3}
    assert server.set(again) == 'Failed cannot become Running; what may follow is nothing; it is final'
    assert (server.dataflow().status, server.dataflow().error) == (Status.FAILED, 'a: b')


def test_a_record_is_deleted_by_its_generation(server: Server) -> None:
    assert server.set({'builds.u2.generation': None}) == ''
    assert not any(name.startswith('builds') for name in server.parameters.names([], 0)[0])


def test_an_operator_sets_one_parameter_on_top_of_what_is_there(server: Server) -> None:
    set_one = server.parameters.set_one
    assert set_one('dataflows.u1.name', 'other') == ''
    assert set_one('dataflows.u1.status', 'Running') == ''
    assert (server.dataflow().name, server.dataflow().generation) == ('other', 3)
    assert set_one('dataflows.u1.generation', 3) == (
        'dataflows.u1: generation 3 cannot follow 3; read the record again and set 4'
    )
    assert set_one('dataflows.u9.name', 'x') == 'dataflows.u9.generation is missing; set it to 1'
    assert set_one('x', 'y').startswith('there can be no parameter x; ')


def test_a_client_and_a_manager_meet_in_one_record(server: Server) -> None:
    server.fixture.registry.take(report(step(1, Status.PENDING), run='u1'), 0.0)
    assert server.dataflow().generation == 2
    stale: dict[str, Value | None] = {'dataflows.u1.name': 'x', 'dataflows.u1.generation': 2}
    assert server.set(stale).startswith('dataflows.u1: generation 2 cannot follow 2')
    assert server.set({'dataflows.u1.name': 'x', 'dataflows.u1.generation': 3}) == ''
    server.fixture.registry.take(report(step(2), ReportKind.STEP, run='u1'), 1.0)
    made = server.dataflow()
    assert (made.name, made.status, made.generation) == ('x', Status.RUNNING, 4)


@pytest.mark.parametrize('value', ['', 'text', 0, 2**62, (), ('a', '')])
def test_a_value_survives_ros(value: Value) -> None:
    assert from_message(to_message(value)) == value


def test_a_value_that_no_record_has() -> None:
    for value in (1.5, True, [1.5], [1], [True], [b'x']):
        message = Parameter('x', value=value).get_parameter_value()
        with pytest.raises(ValueError, match=r'^a value of type \d is not a text, a whole number or a list of texts'):
            from_message(message)
    assert from_message(Parameter('x').get_parameter_value()) is None
