"""What an exit means under a restart policy: one table, after the model of ``systemd.service(5)``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from adora_ros.dataflow import RestartPolicy


class ExitCause(str, Enum):
    """Why the process of a node ended."""

    CLEAN = 'clean'
    """It exited with 0."""
    ERROR = 'error'
    """It exited with another code."""
    SIGNAL = 'signal'
    """A signal that the manager did not send ended it: a crash, the kernel out of memory, an operator's kill."""
    HEALTH_CHECK = 'health_check'
    """The manager killed it because it was silent for ``health_check_timeout``."""
    STARTUP_TIMEOUT = 'startup_timeout'
    """The manager killed it because it did not connect within ``startup_timeout``."""
    TRANSITION = 'transition'
    """A lifecycle transition failed or did not end before its deadline."""
    SPAWN = 'spawn'
    """The process could not be started."""
    DETACHED = 'detached'
    """A process that the manager had not started has left the dataflow, or ended; how is for its parent to know."""


class Asked(str, Enum):
    """What the manager had asked of a process before it ended."""

    NOTHING = 'nothing'
    STOP = 'stop'
    RESTART = 'restart'


class Verdict(str, Enum):
    """What an exit leads to."""

    FINISHED = 'finished'
    FAILED = 'failed'
    STOPPED = 'stopped'
    RESTART = 'restart'


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How one incarnation ended.

    Attributes:
        cause: Why it ended.
        code: Exit code, or None when a signal ended it or it never started.
        signal: Name of the signal that ended it, such as ``SIGKILL``.
        detail: What the manager or the node says about it, for causes where code and signal do not.
        after_grace: Whether the manager had to send SIGKILL because a stop was not obeyed within its grace.

    """

    cause: ExitCause
    code: int | None = None
    signal: str | None = None
    detail: str = ''
    after_grace: bool = False

    @property
    def reason(self) -> str:
        """One short phrase for logs, status and results, such as ``exit code 1`` or ``signal:SIGKILL``."""
        if self.after_grace:
            return 'killed: did not stop within its grace period'
        if self.cause in {ExitCause.CLEAN, ExitCause.ERROR}:
            return f'exit code {self.code}'
        if self.cause is ExitCause.SIGNAL:
            return f'signal:{self.signal}'
        return f'{_PREFIX[self.cause]}: {self.detail}' if self.detail else _PREFIX[self.cause]


_PREFIX = {
    ExitCause.HEALTH_CHECK: 'health check',
    ExitCause.STARTUP_TIMEOUT: 'startup timeout',
    ExitCause.TRANSITION: 'lifecycle',
    ExitCause.SPAWN: 'could not start',
    ExitCause.DETACHED: 'detached',
}


def decide(policy: RestartPolicy, end: Exit, *, asked: Asked, inputs_closed: bool) -> Verdict:
    """Return what ``end`` leads to.

    Args:
        policy: The node's ``restart_policy``.
        end: How the incarnation ended.
        asked: What had been asked of it.
        inputs_closed: Whether all of its inputs had been closed for good.

    """
    if asked is Asked.STOP:
        return Verdict.FAILED if end.after_grace else Verdict.STOPPED
    if asked is Asked.RESTART:
        return Verdict.RESTART
    clean = end.cause in {ExitCause.CLEAN, ExitCause.DETACHED}
    restarts = policy is RestartPolicy.ALWAYS or (policy is RestartPolicy.ON_FAILURE and not clean)
    if restarts and not inputs_closed:
        return Verdict.RESTART
    return Verdict.FINISHED if clean else Verdict.FAILED
