"""What is valid and yet not what it seems."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.dataflow.lint import shortest_giving_up

if TYPE_CHECKING:
    from dataflow.conftest import Check

NODE = 'nodes:\n  - id: a\n    path: a.py\n    outputs: [o]\n    restart_policy: on-failure\n'
"""A valid dataflow of one node, whose further keys begin in line 6, column 5."""


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('env: {LD_PRELOAD: x}', '6:11: warning: node `a`: `LD_PRELOAD` has no effect in a dataflow; it loads code into every program'),
        ('env: {ADORA_NODE_CONFIG: x}', '6:11: warning: node `a`: `ADORA_NODE_CONFIG` has no effect in a dataflow; the manager sets it'),
        ('output_framing: {o: raw}', '6:22: warning: node `a`: `raw` has no effect here; bytes travel as Arrow IPC, and arrive as what they are'),
        ('shared_memory_pool_size: 8MB', '6:5: warning: node `a`: `shared_memory_pool_size` has no effect here; set `shared_memory_limit` at the top level'),
        ('deploy: {working_dir: /x}', '6:14: warning: node `a`: `working_dir` has no effect here; only `machine` has'),
        ('deploy: {labels: {gpu: "1"}}', '6:14: warning: node `a`: `labels` has no effect here; only `machine` has'),
        ('_unstable_deploy: {distribute: scp}', '6:24: warning: node `a`: `distribute` has no effect here; only `machine` has'),
        ('max_restart_delay: 1', '6:5: warning: node `a`: `max_restart_delay` has no effect without `restart_delay`'),
        ('restart_window: 1', '6:5: warning: node `a`: `restart_window` has no effect without `max_restarts`'),
        ('inputs: {t: {source: dora/timer/secs/1, input_timeout: 1}}', '6:45: warning: node `a`: input `t`: `input_timeout: 1` closes the input between two ticks of its timer, which are 1 s apart'),
        ('inputs: {x: {source: a/o, queue_size: 0}}', '6:31: warning: node `a`: input `x`: `queue_size: 0` keeps the newest message, as 1 does'),
    ],
)  # fmt: skip
def test_of_a_node(check: Check, lines: str, expected: str) -> None:
    assert check(f'{NODE}    {lines}\n') == [expected]


def test_of_a_node_from_outside(check: Check) -> None:
    node = 'nodes:\n  - {id: a, path: dynamic, args: x, health_check_timeout: 3}\n'
    words = 'has no effect on a node that somebody else starts'
    assert check(node) == [
        f'2:28: warning: node `a`: `args` {words}',
        f'2:37: warning: node `a`: `health_check_timeout` {words}',
    ]


def test_of_a_warm_start_that_cannot_be(check: Check) -> None:
    why = '`warm` has no effect here; only a `path` to a Python script starts warm'
    program = NODE.replace('a.py', '/bin/sh')
    assert check(f'{program}    warm: true\n') == [f'6:5: warning: node `a`: {why}']
    assert check(f'{program}    warm: auto\n') == check(f'{NODE}    warm: true\n') == []


@pytest.mark.parametrize('key', ['send_stdout_as', 'send_logs_as'])
def test_of_an_output_that_is_not_there(check: Check, key: str) -> None:
    missing = f'6:5: warning: node `a`: `{key}: x` names no output of the node; add it to `outputs`'
    assert missing in check(f'{NODE}    {key}: x\n')


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('debug: {enable_debug_inspection: true}', '6:1: warning: `debug` has no effect here; every output is a ROS topic, see `ros2 topic echo`'),
        ('deploy: {working_dir: /x}', '6:10: warning: `working_dir` has no effect here; only `machine` has'),
    ],
)  # fmt: skip
def test_of_the_top_level(check: Check, line: str, expected: str) -> None:
    assert check(f'{NODE}{line}\n') == [expected]


@pytest.mark.parametrize(
    'lines',
    [
        'strict_types: false',
        'type_rules: []',
        'debug: {enable_debug_inspection: false}',
        'deploy: {machine: A, labels: {}, distribute: local}',
    ],
)
def test_saying_the_default_is_no_warning(check: Check, lines: str) -> None:
    assert check(NODE + lines + '\n') == []


def test_restart_keys_without_a_policy_have_no_effect(check: Check) -> None:
    text = (
        'nodes:\n  - {id: a, path: a.py, max_restarts: 3, restart_delay: 1, restart_window: 9, max_restart_delay: 2}\n'
    )
    assert check(text) == [
        f'2:{column}: warning: node `a`: `{key}` has no effect: `restart_policy` is `never`'
        for column, key in (
            (25, 'max_restarts'),
            (42, 'restart_delay'),
            (60, 'restart_window'),
            (79, 'max_restart_delay'),
        )
    ]


@pytest.mark.parametrize('lines', ['', '\n    restart_delay: 0'])
def test_always_without_a_delay(check: Check, lines: str) -> None:
    assert check(f'nodes:\n  - id: a\n    path: a.py\n    restart_policy: always{lines}\n') == [
        (
            '4:5: warning: node `a`: `restart_policy: always` without `restart_delay` starts the node again at once '
            'whenever it ends'
        )
    ]


def test_always_with_a_delay(check: Check) -> None:
    assert check('nodes: [{id: a, path: a.py, restart_policy: always, restart_delay: 0.1}]') == []


def test_a85_a_limit_that_the_backoff_keeps_from_firing(check: Check) -> None:
    lines = '    restart_delay: 30\n    max_restarts: 20\n    restart_window: 300\n'
    assert check(NODE + lines) == [
        (
            '7:5: warning: node `a`: `max_restarts: 20` can never be reached: the delays alone take 9830340 s, '
            'but `restart_window` starts anew after 300 s, so the node is restarted for ever; '
            'lower `max_restarts` or `restart_delay`, or raise `restart_window`'
        )
    ]


@pytest.mark.parametrize(
    ('delay', 'cap', 'limit', 'window', 'warned'),
    [
        (30, 30, 20, 300, True),
        (30, 30, 11, 300, False),
        (30, 30, 12, 300, True),
        (1, None, 3, 60, False),
        (1, None, 5, 30, False),
        (1, None, 5, 29, True),
        (30, None, 1, 1, False),
        (30, None, 0, 300, None),
    ],
)
def test_when_a_limit_can_be_reached(
    check: Check,
    delay: float,
    cap: float | None,
    limit: int,
    window: float,
    warned: bool | None,  # noqa: FBT001
) -> None:
    lines = f'    restart_delay: {delay}\n    max_restarts: {limit}\n    restart_window: {window}\n'
    lines += f'    max_restart_delay: {cap}\n' if cap is not None else ''
    expected = {True: 'can never be reached', None: '`restart_window` has no effect without `max_restarts`'}
    problems = check(NODE + lines)
    assert len(problems) == (warned is not False)
    assert all(expected[warned] in problem for problem in problems)


@given(
    delay=st.floats(0.001, 100),
    cap=st.none() | st.floats(0.001, 1000),
    limit=st.integers(1, 60),
)
def test_shortest_giving_up_is_the_sum_of_the_delays(delay: float, cap: float | None, limit: int) -> None:
    delays = [min(float('inf') if cap is None else cap, delay * 2.0 ** min(n - 1, 16)) for n in range(2, limit + 1)]
    assert shortest_giving_up(delay=delay, max_delay=cap, max_restarts=limit) == pytest.approx(sum(delays))


@pytest.mark.parametrize(
    ('server', 'client', 'warned'),
    [
        ('pattern: service-server, outputs: [answer]', 's/answer', True),
        ('pattern: action-server, outputs: {status: {}}', 's/status', True),
        ('output_metadata: {answer: [request_id]}, outputs: [answer]', 's/answer', True),
        ('output_metadata: {other: [request_id]}, outputs: [answer, other]', 's/answer', False),
        ('outputs: [response], inputs: {request: c/request-1}', 's/response', True),
        ('outputs: [response]', 's/response', False),
        ('outputs: [image], inputs: {request: c/request-1}', 's/image', False),
    ],
)
def test_a_timeout_on_an_input_of_replies(check: Check, server: str, client: str, warned: bool) -> None:  # noqa: FBT001
    text = (
        f'nodes:\n  - {{id: s, path: a.py, {server}}}\n'
        '  - id: c\n    path: b.py\n    outputs: [request-1]\n    inputs:\n'
        f'      x: {{source: {client}, input_timeout: 1}}\n'
    )
    warnings = [line for line in check(text) if 'input_timeout' in line]
    column = text.split('\n')[6].index('input_timeout') + 1
    assert warnings == [
        (
            f'7:{column}: warning: node `c`: input `x`: `input_timeout` on an input of requests or replies: it closes '
            'whenever nobody asks for a while; put the timeout on the call'
        )
    ] * int(warned)


def test_inline_says_nothing_new_of_an_output_with_a_type(check: Check) -> None:
    text = 'nodes:\n  - id: a\n    path: a.py\n    outputs: {o: {type: std_msgs/msg/String, inline: always}}\n'
    assert check(text) == [
        '4:46: warning: node `a`: output `o`: `inline` has no effect on an output with a `type`; it always is'
    ]
