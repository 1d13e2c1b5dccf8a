"""Operators in one process of their node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from manager.harness import NODES

if TYPE_CHECKING:
    from manager.harness import Flow, Runs

SOURCE = str(NODES / 'counting_operator.py')


def _operator(source: str, **keys: Any) -> dict[str, Any]:
    return {'python': SOURCE, 'inputs': {'in': source}, 'outputs': ['double'], **keys}


def test_operators_share_a_process_and_fail_by_the_policy_of_their_node(flow: Flow, run: Runs) -> None:
    flow.node('src', 'count.py', 5, 0.1, outputs=['data'])
    flow.any_node('pair', operators=[_operator('src/data', id='a'), _operator('src/data', id='b')])
    flow.any_node('one', operator=_operator('pair/a/double'), env={'ADORA_TEST_OPERATOR': 'STOP 6'})
    flow.any_node(
        'bad',
        operator=_operator('src/data'),
        env={'ADORA_TEST_OPERATOR': 'raise 1'},
        restart_policy='on-failure',
        max_restarts=3,
    )
    flow.any_node('worse', operator=_operator('src/data'), env={'ADORA_TEST_OPERATOR': 'raise 4'})
    inputs = {'b': 'pair/b/double', 'one': 'one/double', 'bad': 'bad/double', 'worse': 'worse/double'}
    flow.node('rec', 'events.py', inputs=inputs)
    manager = run(flow)
    assert manager.wait() == 1, manager.report('unexpected')

    both = [f'0 operator 6 INPUT in [{number}]' for number in range(5)]
    assert flow.marks('pair') == [mark for mark in both for _ in 'ab'] + ['0 operator 6 INPUT_CLOSED in'] * 2
    assert flow.marks('one') == [f'0 operator 6 INPUT in [{2 * number}]' for number in range(4)]
    seen = {name: [m for m in flow.marks('rec') if m.startswith(f'0 INPUT {name} ')] for name in inputs}
    assert seen['b'] == [f'0 INPUT b [{2 * number}]' for number in range(5)]
    assert seen['one'] == [f'0 INPUT one [{4 * number}]' for number in range(3)]
    assert seen['worse'] == [f'0 INPUT worse [{2 * number}]' for number in range(4)]
    assert seen['bad'][0] == '0 INPUT bad [0]'
    assert manager.restarts()['bad'] == 1
    assert manager.states() == {
        **dict.fromkeys(('src', 'pair', 'one', 'bad', 'rec'), 'finished'),
        'worse': 'failed',
    }
    assert any('RuntimeError: no more' in line for line in manager.raw)


def test_an_operator_can_stop_the_dataflow(flow: Flow, run: Runs) -> None:
    flow.node('src', 'count.py', 1000, 0.05, outputs=['data'])
    flow.any_node('o', operator=_operator('src/data'), env={'ADORA_TEST_OPERATOR': 'STOP_ALL 2'})
    flow.node('idle', 'silent.py', inputs={'tick': 'dora/timer/secs/100'})
    manager = run(flow)
    assert manager.wait() == 0, manager.report('failed')
    assert manager.texts('DATAFLOW_STOPPING') == ['stopping: o: operator op returned STOP_ALL']
    assert manager.states()['idle'] == 'stopped'
