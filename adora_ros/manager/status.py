"""Collects the state of a dataflow and of every node, with what the operating system knows of its process."""

from __future__ import annotations

import dataclasses
import os
import socket
from typing import TYPE_CHECKING

from adora_ros.inputs import InputState
from adora_ros.manager.events import DataflowStatus, InputStatus, NodeStatus, health_of
from adora_ros.manager.usage import Usage, UsageMeter
from adora_ros.supervision import NodeSnapshot, NodeState

if TYPE_CHECKING:
    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.options import Options
    from adora_ros.manager.run import Run
    from adora_ros.supervision import Counters


def dataflow_state(
    options: Options,
    context: RunContext | None,
    run: Run | None,
    *,
    phase: str,
    error: str,
    up_s: float | None,
    counters: Counters,
) -> DataflowStatus:
    """Return the state of a dataflow.

    Args:
        options: What its manager runs.
        context: Of the current or last run; None before the first.
        run: The run that goes on, if any.
        phase: See :attr:`DataflowStatus.state`.
        error: See :class:`DataflowStatus`, like the rest.
        up_s: Seconds.
        counters: Of all runs.

    """
    return DataflowStatus(
        dataflow=options.namespace.lstrip('/'),
        state=phase,
        error=error,
        run='' if context is None else context.run_id,
        pid=os.getpid(),
        hostname=socket.gethostname(),
        file=str(options.file.absolute()),
        folder='' if context is None else str(context.folder),
        stays=not options.autostart,
        up_s=up_s,
        other_machines=() if run is None else run.other_machines(),
        counters=dataclasses.asdict(counters),
    )


class StatusCollector:
    """Remembers the processes that it measured, since a CPU share is one between two looks."""

    def __init__(self) -> None:
        self._meters: dict[int, UsageMeter] = {}
        self._usage: dict[int, Usage] = {}

    def measure(self, run: Run) -> None:
        """Read CPU and memory of every process; :meth:`collect` shows what was read last."""
        pids = {incarnation.child.pid for incarnation in run.live.values()}
        for pid in self._meters.keys() - pids:
            self._meters.pop(pid).close()
        self._usage = {pid: usage for pid in pids if (usage := self._read(pid)) is not None}

    def close(self) -> None:
        """Give back what measuring takes."""
        while self._meters:
            self._meters.popitem()[1].close()

    def collect(self, run: Run, now: float) -> tuple[NodeStatus, ...]:
        """Return the state of every node, in the order of the dataflow.

        Args:
            run: The run.
            now: Steady time in seconds, as of the run's event loop.

        """
        return tuple(self._status(run, shot, now) for shot in run.supervisor.snapshots().values())

    def _status(self, run: Run, shot: NodeSnapshot, now: float) -> NodeStatus:
        incarnation = run.live.get(shot.node)
        pid = None if incarnation is None else incarnation.child.pid
        activity = None if incarnation is None else incarnation.last_activity
        closed = tuple(dict.fromkeys((*run.inputs.silent[shot.node], *run.supervisor.closed_inputs(shot.node))))
        usage = None if pid is None else self._usage.get(pid)
        return NodeStatus(
            node=shot.node,
            state=shot.state,
            health=health_of(shot.state, degraded=shot.state is NodeState.RUNNING and bool(closed)),
            incarnation=shot.incarnation,
            pid=pid,
            restarts=shot.restarts,
            last_exit=shot.last_exit.reason if shot.last_exit is not None else '',
            error=run.errors.get(shot.node, ''),
            next_restart_s=None if shot.due is None else max(0.0, shot.due - now),
            closed_inputs=closed,
            last_activity_age_s=None if activity is None else now - activity,
            cpu_percent=None if usage is None else usage.cpu_percent,
            rss_mb=None if usage is None else usage.rss_mb,
            up_s=None if shot.up_since is None else now - shot.up_since,
            inputs=_inputs(run, shot.node, closed, now),
            payload_fallbacks=0 if incarnation is None else incarnation.payload_fallbacks,
            payload_drops=0 if incarnation is None else incarnation.payload_drops,
        )

    def _read(self, pid: int) -> Usage | None:
        try:
            if pid not in self._meters:
                self._meters[pid] = UsageMeter(pid)
            return self._meters[pid].read()
        except OSError:
            meter = self._meters.pop(pid, None)
            if meter is not None:
                meter.close()
            return None


def _inputs(run: Run, node: str, closed: tuple[str, ...], now: float) -> tuple[InputStatus, ...]:
    """Return the inputs of a node that are closed or still wait for a message."""
    found = []
    for port in run.context.dataflow.node(node).inputs:
        since = run.inputs.quiet.get((node, port.id))
        if port.id in closed or since is not None:
            state = InputState.CLOSED if port.id in closed else InputState.WAITING
            age = None if since is None else now - since
            found.append(InputStatus(id=port.id, source=str(port.source), state=state, age_s=age))
    return tuple(found)
