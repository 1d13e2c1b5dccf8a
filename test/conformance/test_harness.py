"""What the comparison of runs is made of."""

from __future__ import annotations

from conformance.harness import (
    Outcome,
    Record,
    Scenario,
    canonical,
    closed_last,
    digest,
    failures,
    recovered_first,
    restarted_late,
    turns_in_order,
)

DORA = """
Dataflow failed:
Node `one` failed: exited with code 3 with stderr output:
  RuntimeError: 5
Node `two` failed: exited because of signal SIGKILL
There are 2 more consequential errors. Check the `out/x` folder for full details.
"""
ADORA = '17:30:18.045     DATAFLOW_ENDED     failed: one: exit code 3; two: signal:SIGKILL; three: exit code 5\n'


def test_recovery_moves_before_the_messages_that_overtook_it() -> None:
    records = [*inputs(0), closed(), *inputs(1, 2), event('INPUT_RECOVERED', 'data'), *inputs(3), closed()]
    assert canonical(recovered_first(records), exact=True) == [
        'INPUT data [0]',
        'INPUT_CLOSED data',
        'INPUT_RECOVERED data',
        'INPUT data [1]',
        'INPUT data [2]',
        'INPUT data [3]',
        'INPUT_CLOSED data',
    ]
    assert recovered_first(recovered_first(records)) == recovered_first(records)


def test_restart_moves_to_the_first_message_of_the_new_incarnation() -> None:
    restarted = event('NODE_RESTARTED', 'source')
    records = [*inputs(0), restarted, *inputs(1), closed(), *inputs(100), restarted, *inputs(101, 200)]
    assert canonical(restarted_late(records), exact=True) == [
        'INPUT data [0]',
        'INPUT data [1]',
        'INPUT_CLOSED data',
        'NODE_RESTARTED source',
        'INPUT data [100]',
        'INPUT data [101]',
        'NODE_RESTARTED source',
        'INPUT data [200]',
    ]


def test_restart_without_a_message_after_it_stays() -> None:
    records = [*inputs(0), event('NODE_RESTARTED', 'source'), closed()]
    assert restarted_late(records) == records


def test_end_of_an_input_moves_behind_the_messages_that_it_overtook() -> None:
    failed = event('NODE_FAILED', 'source')
    failed['value'] = {'source_node_id': 'source', 'error': 'exited with code 3', 'affected_input_ids': ['data']}
    stop = event('STOP', 'ALL_INPUTS_CLOSED')
    records = [*inputs(0), failed, *inputs(1), closed(), stop, *inputs(2)]
    assert canonical(closed_last(records), exact=True) == [
        'INPUT data [0]',
        'INPUT data [1]',
        'INPUT data [2]',
        "NODE_FAILED source ['data'] 3",
        'INPUT_CLOSED data',
        'STOP ALL_INPUTS_CLOSED',
    ]


def test_an_input_that_opened_again_is_not_at_its_end() -> None:
    records = [*inputs(0), closed(), event('INPUT_RECOVERED', 'data'), *inputs(1)]
    assert closed_last(records) == records


def test_the_messages_of_one_turn_are_put_in_order() -> None:
    a, b = ([{**record, 'id': name} for record in inputs(0, 1)] for name in 'ab')
    assert turns_in_order([b[0], a[0], b[1], a[1], closed()]) == [a[0], b[0], a[1], b[1], closed()]


def test_messages_that_took_no_turns_stay() -> None:
    records = [*({**record, 'id': name} for name in 'ba' for record in inputs(0, 1)), closed()]
    assert turns_in_order(records) == records


def test_final_reports_are_read() -> None:
    assert failures(DORA) == ({'one': '3', 'two': 'SIGKILL'}, 2)
    assert failures(ADORA) == ({'one': '3', 'two': 'SIGKILL', 'three': '5'}, 0)
    assert failures('17:30:18.045     DATAFLOW_ENDED     all nodes ended well\n') == ({}, 0)


def test_inputs_that_get_messages_at_the_same_time_can_be_compared_apart() -> None:
    stop = event('STOP', 'MANUAL')
    records = [*inputs(0), {**event('INPUT', 'other'), 'value': [5]}, *inputs(1), closed(), stop]
    outcome = Outcome(exit_code=0, records={'n': records}, failed={})
    assert digest(Scenario(name='x', exact=True, by_input=True), outcome).lines == {
        'n data': ['INPUT data [0]', 'INPUT data [1]', 'INPUT_CLOSED data'],
        'n other': ['INPUT other [5]'],
        'n': ['STOP MANUAL'],
    }


def inputs(*values: int) -> list[Record]:
    """Return one INPUT record for each of ``values``."""
    return [{**event('INPUT', 'data'), 'value': [value]} for value in values]


def closed() -> Record:
    """Return an INPUT_CLOSED record."""
    return event('INPUT_CLOSED', 'data')


def event(kind: str, name: str) -> Record:
    """Return a record of type ``kind`` about ``name``."""
    return {'type': kind, 'id': name}
