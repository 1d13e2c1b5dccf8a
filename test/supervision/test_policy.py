"""Every cell of the table: cause x policy x what was asked x whether all inputs were closed; and what counts."""

from __future__ import annotations

import itertools

import pytest

from adora_ros.dataflow.model import RestartPolicy, RestartSpec
from adora_ros.supervision import (
    Asked,
    Exit,
    ExitCause,
    NodeEnded,
    NodeState,
    NodeSupervisor,
    RestartAnnounced,
    RestartCancelReason,
    Verdict,
    decide,
)
from supervision.build import ALWAYS, CLEAN, CRASH, KILLED_AFTER_GRACE, NEVER, NO_SPAWN, ON_FAILURE, SEGV, only

POLICIES = (RestartPolicy.NEVER, RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)
DETACHED = Exit(cause=ExitCause.DETACHED)
SPECS = (NEVER, ON_FAILURE, ALWAYS)
FAILURES = (
    CRASH,
    SEGV,
    Exit(cause=ExitCause.SIGNAL, signal='SIGKILL'),
    Exit(cause=ExitCause.HEALTH_CHECK, signal='SIGKILL', detail='silent for 2.0 s'),
    Exit(cause=ExitCause.STARTUP_TIMEOUT, signal='SIGKILL', detail='not connected after 5.0 s'),
    Exit(cause=ExitCause.TRANSITION, code=1, detail='configure failed'),
    NO_SPAWN,
)
EXITS = (CLEAN, DETACHED, *FAILURES)
ROWS = [(end, ('finished', 'finished', 'restart')) for end in (CLEAN, DETACHED)] + [
    (end, ('failed', 'restart', 'restart')) for end in FAILURES
]
CELLS = [(end, policy, cell) for end, cells in ROWS for policy, cell in zip(POLICIES, cells, strict=True)]
SPEC_CELLS = [(end, spec, cell) for end, cells in ROWS for spec, cell in zip(SPECS, cells, strict=True)]


def _name(value: object) -> str | None:
    if isinstance(value, Exit):
        return value.reason
    return value.policy.value if isinstance(value, RestartSpec) else None


def test_the_table_knows_every_cause() -> None:
    assert {end.cause for end in EXITS} == set(ExitCause)


@pytest.mark.parametrize(('end', 'policy', 'cell'), CELLS, ids=_name)
def test_an_exit_that_nobody_asked_for(end: Exit, policy: RestartPolicy, cell: str) -> None:
    assert decide(policy, end, asked=Asked.NOTHING, inputs_closed=False) is Verdict(cell)


@pytest.mark.parametrize('end', EXITS, ids=_name)
@pytest.mark.parametrize('policy', POLICIES)
def test_after_all_inputs_closed_the_policy_restarts_nothing(end: Exit, policy: RestartPolicy) -> None:
    expected = Verdict.FINISHED if end in (CLEAN, DETACHED) else Verdict.FAILED
    assert decide(policy, end, asked=Asked.NOTHING, inputs_closed=True) is expected


@pytest.mark.parametrize(('end', 'policy', 'inputs_closed'), list(itertools.product(EXITS, POLICIES, [False, True])))
def test_our_stop_whatever_the_exit(*, end: Exit, policy: RestartPolicy, inputs_closed: bool) -> None:
    assert decide(policy, end, asked=Asked.STOP, inputs_closed=inputs_closed) is Verdict.STOPPED


@pytest.mark.parametrize(('policy', 'inputs_closed'), list(itertools.product(POLICIES, [False, True])))
def test_our_stop_that_needed_sigkill_is_a_failure(*, policy: RestartPolicy, inputs_closed: bool) -> None:
    assert decide(policy, KILLED_AFTER_GRACE, asked=Asked.STOP, inputs_closed=inputs_closed) is Verdict.FAILED


@pytest.mark.parametrize(
    ('end', 'policy', 'inputs_closed'), list(itertools.product((*EXITS, KILLED_AFTER_GRACE), POLICIES, [False, True]))
)
def test_a_restart_that_was_asked_for(*, end: Exit, policy: RestartPolicy, inputs_closed: bool) -> None:
    assert decide(policy, end, asked=Asked.RESTART, inputs_closed=inputs_closed) is Verdict.RESTART


def _supervisor(spec: RestartSpec) -> NodeSupervisor:
    supervisor = NodeSupervisor('n', spec)
    supervisor.start(0.0)
    return supervisor


@pytest.mark.parametrize(('end', 'spec', 'cell'), SPEC_CELLS, ids=_name)
def test_a_restart_by_the_policy_counts_and_anything_else_is_final(end: Exit, spec: RestartSpec, cell: str) -> None:
    supervisor = _supervisor(spec)
    effects = supervisor.exited(0, end, 5.0)
    if cell == 'restart':
        assert [announced.number for announced in only(effects, RestartAnnounced)] == [1]
        assert only(effects, NodeEnded) == []
        assert supervisor.state is NodeState.BACKOFF
    else:
        assert only(effects, RestartAnnounced) == []
        assert only(effects, NodeEnded) == [NodeEnded('n', NodeState(cell), end.reason)]
        assert supervisor.state is NodeState(cell)


@pytest.mark.parametrize(('end', 'spec'), list(itertools.product(EXITS, SPECS)), ids=_name)
def test_a_restart_that_was_asked_for_does_not_count(end: Exit, spec: RestartSpec) -> None:
    supervisor = _supervisor(spec)
    supervisor.restart(1.0, 'restart requested')
    effects = supervisor.exited(0, end, 5.0)
    assert only(effects, RestartAnnounced) == [RestartAnnounced('n', 0, 0.0, 'restart requested')]


@pytest.mark.parametrize(('end', 'spec'), list(itertools.product(EXITS, SPECS)), ids=_name)
def test_a_stop_does_not_count(end: Exit, spec: RestartSpec) -> None:
    supervisor = _supervisor(spec)
    supervisor.stop(RestartCancelReason.NODE_STOPPED)
    effects = supervisor.exited(0, end, 5.0)
    assert only(effects, RestartAnnounced) == []
    assert supervisor.state is NodeState.STOPPED


@pytest.mark.parametrize(
    ('end', 'reason'),
    [
        (CLEAN, 'exit code 0'),
        (Exit(cause=ExitCause.ERROR, code=137), 'exit code 137'),
        (SEGV, 'signal:SIGSEGV'),
        (Exit(cause=ExitCause.SIGNAL, signal='SIGKILL'), 'signal:SIGKILL'),
        (KILLED_AFTER_GRACE, 'killed: did not stop within its grace period'),
        (
            Exit(cause=ExitCause.HEALTH_CHECK, signal='SIGKILL', detail='silent for 2.0 s'),
            'health check: silent for 2.0 s',
        ),
        (Exit(cause=ExitCause.HEALTH_CHECK), 'health check'),
        (
            Exit(cause=ExitCause.STARTUP_TIMEOUT, detail='not connected after 5 s'),
            'startup timeout: not connected after 5 s',
        ),
        (
            Exit(cause=ExitCause.TRANSITION, detail='configure failed: ValueError: 3'),
            'lifecycle: configure failed: ValueError: 3',
        ),
        (NO_SPAWN, 'could not start: No such file: /robot/camera'),
        (DETACHED, 'detached'),
    ],
)
def test_the_reason_of_an_exit_says_what_happened(end: Exit, reason: str) -> None:
    assert end.reason == reason
