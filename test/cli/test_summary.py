"""What is said at the end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from adora_ros.cli.ink import Ink
from adora_ros.cli.summary import summary
from adora_ros.cli.tables import span
from adora_ros.manager.options import Outcome
from adora_ros.supervision import NodeResult, NodeState, Result
from cli.harness import status

PLAIN = Ink(color=False)
FOLDER = Path('/var/log/flow/1')


def outcome(code: int, *failures: NodeResult) -> Outcome:
    statuses = (
        status('camera', NodeState.FAILED, restarts=3, last_exit='exit code 3'),
        status('base', NodeState.STOPPED),
    )
    return Outcome(exit_code=code, result=Result((), failures), statuses=statuses, folder=FOLDER)


def failure(node: str, reason: str, *, consequence: bool = False) -> NodeResult:
    return NodeResult(node=node, state=NodeState.FAILED, reason=reason, consequence=consequence)


def test_the_table_has_a_row_for_each_node_and_the_failure_comes_last() -> None:
    end = outcome(1, failure('camera', 'exit code 3'), failure('base', 'exit code 1', consequence=True))
    assert summary(end, {'camera': 12.34}, PLAIN) == (
        '\n'
        'node    state    restarts  last exit    up time\n'
        'camera  failed          3  exit code 3   12.3 s\n'
        'base    stopped         0  -                  -\n'
        'logs: /var/log/flow/1\n'
        'failed: camera: exit code 3'
    )


def test_a_narrow_terminal_folds_what_is_long_and_nothing_else() -> None:
    long = Outcome(
        exit_code=1,
        result=Result((), ()),
        statuses=(status('camera', NodeState.FAILED, last_exit='lifecycle: on_configure failed: no such device'),),
        folder=None,
    )
    assert summary(long, {}, PLAIN, columns=60).splitlines()[1:-1] == [
        'node    state   restarts  last exit                  up time',
        'camera  failed         0  lifecycle: on_configure          -',
        '                          failed: no such device',
    ]
    assert len(summary(long, {}, PLAIN, columns=30).splitlines()) == 4


@pytest.mark.parametrize(('code', 'last'), [(0, 'ok'), (130, 'interrupted: SIGINT'), (143, 'interrupted: SIGTERM')])
def test_the_last_line_says_how_it_went(code: int, last: str) -> None:
    assert summary(outcome(code), {}, PLAIN).splitlines()[-1] == last


def test_a_failure_counts_more_than_what_interrupted_the_run() -> None:
    assert summary(outcome(1, failure('a', 'signal:SIGSEGV')), {}, PLAIN).endswith('\nfailed: a: signal:SIGSEGV')


def test_a_reason_of_several_lines_does_not_take_the_last_line_away() -> None:
    last = summary(outcome(1, failure('a', 'lifecycle: one\ntwo\n')), {}, PLAIN).splitlines()[-1]
    assert last == 'failed: a: lifecycle: one two'


def test_without_a_run_there_is_only_the_last_line() -> None:
    assert summary(Outcome(exit_code=0, result=None, statuses=(), folder=None), {}, PLAIN) == 'ok'


def test_a_pipe_gets_long_texts_whole_and_a_terminal_gets_them_folded() -> None:
    reason = 'could not start: ' + 'x' * 300
    end = Outcome(
        exit_code=1,
        result=None,
        statuses=(status('camera', NodeState.FAILED, last_exit=reason),),
        folder=None,
    )
    assert reason in summary(end, {}, PLAIN)
    assert max(map(len, summary(end, {}, PLAIN, columns=80).splitlines())) <= 80


def test_markup_in_a_text_is_text() -> None:
    end = Outcome(
        exit_code=0, result=None, statuses=(status('a', NodeState.FAILED, last_exit='[red]:smile:[/red]'),), folder=None
    )
    assert '[red]:smile:[/red]' in summary(end, {}, PLAIN)


def test_a_terminal_gets_colours() -> None:
    text = summary(outcome(1, failure('camera', 'exit code 3')), {}, Ink(color=True), columns=80)
    assert '\x1b[1;31mfailed' in text
    assert text.endswith('\x1b[1;31mfailed: camera: exit code 3\x1b[0m')


@pytest.mark.parametrize(
    ('seconds', 'text'),
    [
        (0.04, '0.0 s'),
        (59.94, '59.9 s'),
        (59.97, '0 min 59 s'),
        (60, '1 min 00 s'),
        (3599.9, '59 min 59 s'),
        (7380, '2 h 03 min'),
    ],
)
def test_spans_are_written_for_people(seconds: float, text: str) -> None:
    assert span(seconds) == text
