"""Nodes without ROS."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import adora_ros
from adora_ros.errors import AnswerTimeoutError, NodeError, ServerEndedError, ServerRestartedError
from adora_ros.inputs import Error, InputClosed, NodeFailed, NodeRestarted, Stop, StopCause
from adora_ros.testing import EPOCH, Logged, MockNode, Sent, installed, run_script

ROOT = Path(__file__).parents[2]
PAGE = ROOT / 'docs' / 'testing-nodes.md'


def test_the_page_says_what_is_so(tmp_path: Path) -> None:
    node, test, part = re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)
    (tmp_path / 'doubler.py').write_text(node)
    (tmp_path / 'test_doubler.py').write_text(test)
    (tmp_path / 'part.py').write_text(part + "import sys\nassert 'rclpy' not in sys.modules\n")
    env = {**os.environ, 'PYTHONPATH': str(ROOT)}
    for command in (['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_doubler.py'], ['part.py']):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_events_come_in_order_and_end_with_a_stop() -> None:
    node = MockNode([('a', 1), InputClosed('a'), {'type': 'INPUT', 'id': 'b', 'value': 2}, Error('x')], {'k': 'v'})
    assert [event['type'] for event in node] == ['INPUT', 'INPUT_CLOSED', 'INPUT', 'ERROR', 'STOP']
    assert (node.next(), node.try_recv(), node.is_empty()) == (None, None, True)
    with pytest.raises(NodeError, match='Channel is closed'):
        node.drain()


def test_inputs_have_stamps_that_are_always_the_same() -> None:
    node = MockNode([('a', 1), ('a', 2, {'own': True})], {'k': 'v'})
    first, second, stop = node.drain()
    assert first['metadata'] == {'timestamp': EPOCH + timedelta(milliseconds=1), 'k': 'v'}
    assert second['metadata'] == {'timestamp': EPOCH + timedelta(milliseconds=2), 'own': True}
    assert node.timestamp() == second['metadata']['timestamp']
    assert stop == {'kind': 'dora', 'type': 'STOP', 'id': 'ALL_INPUTS_CLOSED'}


def test_nothing_comes_after_a_stop() -> None:
    node = MockNode([Stop(StopCause.MANUAL), ('a', 1)])
    assert asyncio.run(node.recv_async(timeout=1.0)) == {'kind': 'dora', 'type': 'STOP', 'id': 'MANUAL'}
    assert node.next_event() is None


def test_what_is_sent_and_logged_is_kept() -> None:
    node = MockNode(outputs=['x'], restart_count=2)
    node.send_output('x', b'\x01\x02', {'n': 1})
    node.send_output('y', pa.array([1]))
    with node.send_output_raw('x', 2) as buffer:
        buffer[:] = b'ab'
    with pytest.raises(NodeError):
        node.send_output_raw('y', 2)
    assert node.send_service_request('x', pa.array([1]), {'m': 2}) == 'request-1'
    node.send_service_response('x', pa.array([2]), {})
    assert [value.to_pylist() for value in node.outputs['x']] == [[1, 2], [97, 98], [1], [2]]
    assert node.sent[2] == Sent('x', node.outputs['x'][2], {'m': 2, 'request_id': 'request-1'})
    assert node.logged[0] == Logged('warn', "Ignoring output `y` not in node's output list.")
    assert 'no client will recognise it' in node.logged[1].message
    assert (node.is_restart(), node.restart_count()) == (True, 2)
    node.extension_store('space', 'key', b'value')
    assert node.extension_load('space', 'key', remove=True) == b'value'
    assert node.extension_load('space', 'key') is None
    assert node.drain_dropped_extension_keys('space') == ['key']
    assert node.drain_dropped_extension_keys('space') == []


def test_answers_are_taken_out_of_turn() -> None:
    node = MockNode([('a', 1), ('r', 3, {'goal_id': 'g'}), ('r', 4, {'goal_id': 'g', 'goal_status': 'canceled'})])
    assert node.recv_action_result('g', 'server', 1.0)['value'] == 4
    with pytest.raises(AnswerTimeoutError):
        node.recv_service_response('q', 'server', 1.0)
    assert [event['type'] for event in node] == ['INPUT', 'INPUT', 'STOP']
    with pytest.raises(ServerRestartedError):
        MockNode([NodeRestarted('server'), ('r', 1, {'request_id': 'q'})]).recv_service_response('q', 'server')
    with pytest.raises(ServerEndedError, match='exit code 1'):
        MockNode([NodeFailed('server', 'exit code 1')]).recv_service_response('q', 'server')


def test_a_script_gets_the_mock_and_everything_is_as_before_after_it(tmp_path: Path) -> None:
    script = tmp_path / 'n.py'
    script.write_text(
        'import sys, adora, adora_ros, dora\n'
        'node = dora.Node("me")\n'
        'assert node is adora.Node() is adora_ros.Node() and adora.AdoraStatus is dora.DoraStatus\n'
        'node.log_info(" ".join(sys.argv[1:]))\n'
        'sys.exit(int(sys.argv[1]))\n'
    )
    modules = {name: sys.modules.get(name) for name in ('dora', 'adora')}
    node = run_script(script, node_id='me', args=['0', 'x'])
    assert node.logged == [Logged('info', '0 x')]
    with pytest.raises(SystemExit):
        run_script(script, node_id='me', args=['3'])
    with pytest.raises(NodeError, match="this process is node 'node', not 'me'"):
        run_script(script, args=['0'])
    assert {name: sys.modules.get(name) for name in ('dora', 'adora')} == modules
    real = adora_ros.Node
    with installed(MockNode()) as mock:
        node_of_a_script: object = adora_ros.Node()
        assert node_of_a_script is mock
    assert adora_ros.Node is real
