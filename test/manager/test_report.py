"""What decisions look like in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import Dataflow, loads
from adora_ros.manager.events import EventKind, Level, ManagerEvent
from adora_ros.manager.journal import Journal
from adora_ros.manager.report import describe
from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    Effect,
    Exit,
    ExitCause,
    GaveUp,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    NodeUp,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
    Spawn,
    StopProcess,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

CLEAN = Exit(cause=ExitCause.CLEAN, code=0)
KILLED = Exit(cause=ExitCause.SIGNAL, signal='SIGKILL')
TEXT = """
nodes:
  - {id: a, path: n.py, outputs: [x, y], restart_policy: always, max_restarts: 3, restart_delay: 1}
  - {id: b, path: n.py, inputs: {in: a/x}, restart_policy: always, restart_delay: 1}
"""


@pytest.fixture
def dataflow(tmp_path: Path) -> Dataflow:
    (tmp_path / 'n.py').touch()
    return loads(TEXT, path=tmp_path / 'flow.yml')


@pytest.mark.parametrize(
    ('effect', 'kind', 'level', 'node', 'text'),
    [
        (ProcessEnded('a', 2, CLEAN), EventKind.NODE_EXITED, Level.INFO, 'a', 'exited: exit code 0'),
        (ProcessEnded('a', 2, KILLED), EventKind.NODE_EXITED, Level.WARN, 'a', 'exited: signal:SIGKILL'),
        (
            RestartAnnounced('a', 2, 0.5, 'exit code 1'),
            EventKind.RESTART_SCHEDULED, Level.WARN, 'a', 'restart 2 of 3 in 0.5 s (exit code 1)',
        ),
        (
            RestartAnnounced('b', 2, 0.5, 'exit code 1'),
            EventKind.RESTART_SCHEDULED, Level.WARN, 'b', 'restart 2 in 0.5 s (exit code 1)',
        ),
        (
            RestartAnnounced('a', 0, 0.0, 'restart requested'),
            EventKind.RESTART_SCHEDULED, Level.WARN, 'a', 'restart in 0 s (restart requested)',
        ),
        (
            RestartCancelled('a', 'inputs closed during backoff wait'),
            EventKind.RESTART_CANCELLED, Level.INFO, 'a', 'restart cancelled: inputs closed during backoff wait',
        ),
        (GaveUp('a', 3, 'exit code 1'), EventKind.GAVE_UP, Level.WARN, 'a', 'giving up after 3 restarts: exit code 1'),
        (GaveUp('a', 1, 'exit code 1'), EventKind.GAVE_UP, Level.WARN, 'a', 'giving up after 1 restart: exit code 1'),
        (NodeUp('a', 0, ()), EventKind.NODE_UP, Level.INFO, 'a', 'up'),
        (NodeUp('a', 1, ('b',)), EventKind.NODE_RESTARTED, Level.INFO, 'a', 'up again (incarnation 1)'),
        (
            NodeEnded('a', NodeState.FAILED, 'exit code 1'),
            EventKind.NODE_ENDED, Level.ERROR, 'a', 'failed: exit code 1',
        ),
        (
            NodeEnded('a', NodeState.FINISHED, 'exit code 0'),
            EventKind.NODE_ENDED, Level.INFO, 'a', 'finished: exit code 0',
        ),
        (NodeEnded('a', NodeState.STOPPED, ''), EventKind.NODE_ENDED, Level.INFO, 'a', 'stopped'),
        (
            NodeFailedNotice('b', 'a', 'exit code 1', ('in', 'in2')),
            EventKind.NODE_FAILED, Level.WARN, 'b', 'told that a failed, which feeds in, in2',
        ),
        (
            InputClosedNotice('b', 'in'),
            EventKind.INPUT_CLOSED, Level.INFO, 'b', 'input in (a/x) closed: its source has ended',
        ),
        (AllInputsClosedNotice('b'), EventKind.ALL_INPUTS_CLOSED, Level.INFO, 'b', 'all inputs closed'),
    ],
)  # fmt: skip
def test_an_effect_is_one_event(
    dataflow: Dataflow, effect: Effect, kind: EventKind, level: Level, node: str, text: str
) -> None:
    (entry,) = describe(effect, dataflow)
    assert (entry.kind, entry.level, entry.node, entry.text) == (kind, level, node, text)


@pytest.mark.parametrize('effect', [Spawn('a', 0), StopProcess('a', 0), DataflowEnded()])
def test_what_only_asks_for_something_is_no_event(dataflow: Dataflow, effect: Effect) -> None:
    assert list(describe(effect, dataflow)) == []


@pytest.mark.parametrize(
    ('effect', 'details'),
    [
        (ProcessEnded('a', 2, KILLED), {'cause': 'signal', 'reason': 'signal:SIGKILL'}),
        (RestartAnnounced('a', 2, 0.5, 'x'), {'number': 2, 'delay': 0.5, 'reason': 'x'}),
        (NodeUp('a', 1, ('b', 'c')), {'consumers': 'b c'}),
        (NodeFailedNotice('b', 'a', 'oops', ('in',)), {'source': 'a', 'error': 'oops', 'inputs': 'in'}),
    ],
)
def test_the_facts_are_in_the_details(dataflow: Dataflow, effect: Effect, details: Mapping[str, object]) -> None:
    (entry,) = describe(effect, dataflow)
    assert entry.details == details


def test_a_journal_numbers_its_events_and_tells_everybody_the_same() -> None:
    journal = Journal()
    first: list[ManagerEvent] = []
    second: list[ManagerEvent] = []
    journal.listen(first.append)
    journal.write(EventKind.NODE_UP, 'up', node='a', incarnation=3, delay=0.5, where=Path('/x'))
    journal.listen(second.append)
    journal.write(EventKind.STATS, 'stats', level=Level.DEBUG)
    assert [event.seq for event in first] == [1, 2]
    assert second == first[1:]
    assert (first[0].node, first[0].incarnation, first[0].level) == ('a', 3, Level.INFO)
    assert first[0].details == {'delay': '0.5', 'where': '/x'}
    assert (first[1].node, first[1].incarnation) == ('', -1)
    assert first[0].stamp <= first[1].stamp
