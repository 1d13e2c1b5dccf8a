"""The coordinator as a process: its store as a parameter server, its restarts, and managers that report to it."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from rcl_interfaces.msg import ParameterEvent, ParameterType
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient

from adora_ros.coordinator.sqlite import SqliteStore
from coordinator.harness import COORDINATOR, DEADLINE
from support import eventually

if TYPE_CHECKING:
    from coordinator.harness import Client, Coordinators

RUN = 'aaaaaaaa-0000-4000-8000-000000000001'
PAST = 'aaaaaaaa-0000-4000-8000-000000000002'
FLOW = f'dataflows.{RUN}'


def refused(*arguments: str) -> str:
    done = subprocess.run([*COORDINATOR, *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert (done.returncode, done.stdout) == (2, '')
    return done.stderr


# A parameter server


def test_any_parameter_client_reads_and_writes_the_store(coordinators: Coordinators, client: Client) -> None:
    coordinators.start()
    changes: list[Any] = []
    client.node.create_subscription(ParameterEvent, '/parameter_events', changes.append, 100)
    eventually(lambda: client.node.count_publishers('/parameter_events') >= 2, DEADLINE)

    assert client.write('builds.b1', name='flow', machine='A', generation=1) == ''
    listed = client.ask('list_parameters', ['builds'], 0).result
    fields = ['name', 'machine', 'status', 'error', 'generation', 'created_at', 'updated_at']
    assert listed.names == [f'builds.b1.{field}' for field in fields]
    assert listed.prefixes == ['builds.b1']
    assert client.ask('list_parameters', [], 1).result.names == []

    names = ['builds.b1.name', 'builds.b1.generation', 'builds.b2.name', 'dataflows.x.machines']
    types = [ParameterType.PARAMETER_STRING, ParameterType.PARAMETER_INTEGER] + 2 * [ParameterType.PARAMETER_NOT_SET]
    values = client.ask('get_parameters', names).values
    assert [value.type for value in values] == types
    assert (values[0].string_value, values[1].integer_value) == ('flow', 1)
    assert list(client.ask('get_parameter_types', names).types) == types
    described = client.ask('describe_parameters', ['builds.b1.generation', 'builds.b1.updated_at']).descriptors
    assert [(each.name, each.type, each.read_only) for each in described] == [
        ('builds.b1.generation', ParameterType.PARAMETER_INTEGER, False),
        ('builds.b1.updated_at', ParameterType.PARAMETER_STRING, True),
    ]

    results = client.ask('set_parameters', [Parameter('builds.b1.status', value='Running'), Parameter('x', value=1.5)])
    assert [result.successful for result in results.results] == [True, False]
    assert client.write('builds.b1', status='Failed', error='gcc: exit code 1', generation=2) == (
        'builds.b1: generation 2 cannot follow 2; read the record again and set 3'
    )
    assert client.write('builds.b1', status='Failed', error='gcc: exit code 1', generation=3) == ''
    assert client.write('builds.b1', generation=None) == ''
    assert client.values('builds') == {}

    ours = eventually(lambda: [e for e in changes if e.node == '/adora/store' and e.deleted_parameters] and changes)
    ours = [event for event in ours if event.node == '/adora/store']
    assert [[len(e.new_parameters), len(e.changed_parameters), len(e.deleted_parameters)] for e in ours] == [
        [7, 0, 0],
        [0, 3, 0],
        [0, 4, 0],
        [0, 0, 7],
    ]
    assert {p.name: p.value.string_value for p in ours[2].changed_parameters}['builds.b1.error'] == 'gcc: exit code 1'


def test_of_two_clients_that_race_for_a_generation_exactly_one_wins(coordinators: Coordinators, client: Client) -> None:
    coordinators.start()
    rivals = [client.parameters, AsyncParameterClient(client.node, '/adora/store')]
    eventually(lambda: all(rival.services_are_ready() for rival in rivals), DEADLINE)
    for generation in range(1, 51):
        futures: list[Any] = [
            rival.set_parameters_atomically(
                [
                    Parameter('machines.m.hostname', value=f'rival {number} {generation}'),
                    Parameter('machines.m.generation', value=generation),
                ]
            )
            for number, rival in enumerate(rivals)
        ]
        for future in futures:
            eventually(future.done, DEADLINE)
        won = [future.result().result.successful for future in futures]
        assert sorted(won) == [False, True]
        if generation % 10 == 0:
            winner = f'rival {won.index(True)} {generation}'
            assert client.values('machines.m')['hostname'] == winner


def test_a73_what_was_answered_is_there_after_kill_9(coordinators: Coordinators, client: Client) -> None:
    for generation in range(1, 4):
        coordinator = coordinators.start()
        name = f'{generation}' * 20_000
        assert client.write('builds.x', name=name, status='Succeeded', generation=generation) == ''
        coordinator.end(signal.SIGKILL)
        with closing(sqlite3.connect(coordinators.database)) as database:
            body = database.execute('SELECT body FROM records').fetchone()[0].decode()
        assert f'"{name}"' in body
        assert f'"generation":{generation},' in body


# Restarts


def test_a72_past_and_running_dataflows_are_known_after_kill_9(coordinators: Coordinators, client: Client) -> None:
    coordinator = coordinators.start()
    past = coordinators.manager(PAST, dataflow='past').step('Pending').step('Running')
    client.waits_for(f'dataflows.{PAST}', status='Running')
    past.step('Failed', 'camera: exit code 1; lidar: signal:SIGSEGV')
    assert past.leave() == 0
    coordinators.manager(RUN).step('Pending').step('Running')
    client.waits_for(FLOW, status='Running', generation=2)
    before = client.waits_for(f'dataflows.{PAST}', status='Failed')
    coordinator.end(signal.SIGKILL)

    again = coordinators.start()
    again.says('2 dataflows, 1 of them not final')
    after = client.waits_for(f'dataflows.{PAST}', status='Failed')
    assert after == before
    assert after['error'] == 'camera: exit code 1; lidar: signal:SIGSEGV'
    assert client.waits_for(FLOW, status='Running', generation=4)['machines'] == ['A']


def test_a75_what_happened_while_the_coordinator_was_away_is_told_in_order(
    coordinators: Coordinators, client: Client
) -> None:
    descriptor = '{"nodes":"' + 'x' * 100_000 + '"}'
    coordinator = coordinators.start()
    manager = coordinators.manager(RUN, descriptor=descriptor).step('Pending')
    assert client.waits_for(FLOW, status='Pending', descriptor=descriptor)['generation'] == 2
    coordinator.end(signal.SIGKILL)
    manager.step('Running').step('Stopping')
    coordinators.start()
    values = client.waits_for(FLOW, status='Stopping')
    assert values['generation'] == 5
    manager.step('Failed', 'camera: exit code 1')
    assert manager.leave() == 0
    values = client.waits_for(FLOW, status='Failed', error='camera: exit code 1')
    assert values['generation'] == 6
    eventually(lambda: client.states(RUN)[-4:] == ['Recovering', 'Running', 'Stopping', 'Failed'], DEADLINE)


def test_a_manager_that_never_comes_back_has_failed(coordinators: Coordinators, client: Client) -> None:
    coordinator = coordinators.start()
    manager = coordinators.manager(RUN).step('Pending').step('Running')
    client.waits_for(FLOW, status='Running')
    manager.end(signal.SIGKILL)
    coordinator.end(signal.SIGKILL)
    coordinators.start(recovery_timeout=1.0)
    client.waits_for(FLOW, status='Failed', error='coordinator restarted', generation=4)


def test_with_recovery_fail_nothing_is_waited_for(coordinators: Coordinators, client: Client) -> None:
    coordinator = coordinators.start()
    manager = coordinators.manager(RUN).step('Pending').step('Running')
    client.waits_for(FLOW, status='Running')
    coordinator.end(signal.SIGKILL)
    coordinators.start('--recovery', 'fail').says(
        'is recorded as Failed, but machine A still reports it; stop it there'
    )
    client.waits_for(FLOW, status='Failed', error='coordinator restarted', generation=3)
    assert manager.process.poll() is None


# Machines


def test_a_machine_that_falls_silent_is_announced_and_the_rest_goes_on(
    coordinators: Coordinators, client: Client
) -> None:
    coordinator = coordinators.start(machine_timeout=4.0)
    lost = coordinators.manager(RUN, machine='B').step('Pending').step('Running')
    other = coordinators.manager(PAST, dataflow='other', machine='A').step('Pending').step('Running')
    client.waits_for('machines.A', status='Connected')
    assert client.waits_for('machines.B', status='Connected')['last_heartbeat_ago_ms'] < 4000
    client.waits_for(f'dataflows.{PAST}', status='Running')
    client.waits_for(FLOW, status='Running')
    lost.send(signal.SIGSTOP)
    client.waits_for('machines.B', status='Disconnected')
    coordinator.says('peer daemon disconnected daemon_id=B, not heard of for 4.')
    found = eventually(lambda: [e for e in client.events if e['event'] == 'PeerDaemonDisconnected'], DEADLINE)
    assert [(event['machine'], event['text']) for event in found] == [('B', 'peer daemon disconnected daemon_id=B')]
    assert 4.0 <= float(found[0]['age']) < 4.0 + 3.0
    client.waits_for(FLOW, status='Failed', error='machine B: not heard of for 4 s')
    assert client.values(f'dataflows.{PAST}')['status'] == 'Running'

    lost.send(signal.SIGCONT)
    client.waits_for('machines.B', status='Connected')
    client.waits_for(FLOW, status='Running', error='')
    other.step('Stopping').step('Succeeded')
    assert other.leave() == 0
    client.waits_for('machines.A', status='Left')


# Refusals and failures


def test_a76_another_schema_version_is_refused_with_both_and_the_file_is_untouched(coordinators: Coordinators) -> None:
    SqliteStore(str(coordinators.database), warn=print).close()
    with closing(sqlite3.connect(coordinators.database)) as database:
        database.execute('PRAGMA user_version=7')
    before = coordinators.database.read_bytes()
    said = refused('--store', f'sqlite:{coordinators.database}')
    assert said == (
        f'coordinator: error: {coordinators.database}: it has schema version 7, this adora_ros has 1; '
        'use the adora_ros that wrote it, or name another path (the file has not been touched)\n'
    )
    assert coordinators.database.read_bytes() == before


def test_a_domain_has_one_coordinator(coordinators: Coordinators) -> None:
    first = coordinators.start()
    said = refused('--store', f'sqlite:{coordinators.folder / "other.db"}')
    assert said == (
        f'coordinator: error: /adora/coordinator is already running (pid {first.process.pid}); '
        'a ROS domain has one coordinator: stop it, or use another domain\n'
    )
    assert not (coordinators.folder / 'other.db').exists()


@pytest.mark.parametrize(
    ('arguments', 'problem'),
    [
        (['--store', 'redb'], '--store redb: redb has no Python binding that works; use --store sqlite'),
        (['--store', 'sqlite:../x.db'], '../x.db: a path with `..` is refused; give the path that you mean'),
        (['--ros-args', '-p', 'machine_timeout:=soon'], 'the timeouts are numbers of seconds with a decimal point'),
    ],
)
def test_a_command_line_that_is_wrong(arguments: list[str], problem: str) -> None:
    said = refused(*arguments)
    assert re.search(rf'^coordinator: error: .*{re.escape(problem)}', said)


def test_a_store_that_fails_is_a_warning_and_the_coordinator_goes_on(
    coordinators: Coordinators, client: Client
) -> None:
    coordinator = coordinators.start()
    assert client.write('machines.m', hostname='one', generation=1) == ''
    other = coordinators.folder / 'rubbish'
    other.write_text('rubbish')
    other.replace(coordinators.database)
    assert client.note == ''
    assert client.write('machines.m', hostname='two', generation=2) == ''
    assert client.note.startswith('kept in memory only: ')
    coordinator.says('the file was replaced by another one; restart the coordinator; the coordinator goes on in memory')
    assert client.values('machines.m')['hostname'] == 'two'
    assert coordinator.end(signal.SIGINT) == 0
    assert coordinators.database.read_text() == 'rubbish'
    again = coordinators.start()
    assert 'file is not a database; move the file away' in again.text
    assert 'coordinator ready: store memory, since sqlite:' in again.text
