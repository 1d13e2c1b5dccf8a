"""The runs: each gives samples of one or more metrics."""

from __future__ import annotations

import functools
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.supervision import flows, stamps
from benchmarks.supervision.session import Death, MissingError, Session
from benchmarks.supervision.systems import COLD
from benchmarks.supervision.usage import measure, supervisor_processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.supervision.systems import System

Samples = dict[str, list[float]]
"""Samples by the id of their metric, in its unit."""

CRASHES = 8
CRASH_AFTER = 20
"""Messages that a source sends between being heard by the consumer and its death."""
SETTLED, SETTLED_EACH = 10.0, 0.5
"""Seconds from the first work of the last idle node to the measurement: at least, and at least for each node."""
WINDOW = 6.0
"""Seconds over which CPU time is measured."""
START_LIMIT = 90.0
MILLI = 1000.0


@dataclass(frozen=True, kw_only=True)
class Lab:
    """Where runs take place.

    Attributes:
        system: The supervisor.
        domain: ROS domain.

    """

    system: System
    domain: int

    def run(self, flow: flows.Flow, observe: Callable[[Session], Samples]) -> Samples:
        """Run a dataflow and return what ``observe`` finds in the meantime.

        Raises:
            MissingError: something that was waited for did not happen.

        """
        with (
            tempfile.TemporaryDirectory(prefix='bench_', ignore_cleanup_errors=True) as folder,
            Session(self.system, flow, Path(folder), self.domain) as session,
        ):
            return observe(session)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A run.

    Attributes:
        name: What ``--only`` calls it.
        run: Does it once.
        watches_inputs: Only for supervisors that watch inputs and hangs.
        is_about_starts: Whether it makes a difference that nodes are started cold.

    """

    name: str
    run: Callable[[Lab], Samples]
    watches_inputs: bool = False
    is_about_starts: bool = False

    def is_for(self, system: System) -> bool:
        """Return whether it tells something about a supervisor."""
        if system.name == COLD and not self.is_about_starts:
            return False
        return system.watches_inputs or not self.watches_inputs


def crash(lab: Lab) -> Samples:
    """Let a source die, again and again."""

    def observe(session: Session) -> Samples:
        deaths: dict[int, Death] = {}

        def came() -> list[stamps.Stamp]:
            for stamp in stamps.of(session.stamps('crasher'), 'start'):
                if stamp.pid not in deaths:
                    deaths[stamp.pid] = Death(stamp.pid)
            return stamps.of(session.stamps('consumer'), 'first')

        limit = START_LIMIT + 5 * CRASHES
        session.wait(lambda: len(came()) > CRASHES, limit, f'a message of each of {CRASHES + 1} processes')
        own = session.stamps('crasher')
        exits = [stamp.ns for stamp in stamps.of(own, 'exit')][:CRASHES]
        starts = [stamp.ns for stamp in stamps.of(own, 'start')]
        return {
            'exit_to_detected': _milliseconds(exits, session.exit_lines('crasher')),
            'exit_to_gone': _milliseconds(exits, [death.ns for death in deaths.values() if death.ns is not None]),
            'exit_to_new_process': _milliseconds(exits, starts),
            'exit_to_first_message': _milliseconds(exits, [stamp.ns for stamp in came()]),
        }

    return lab.run(flows.crash(CRASH_AFTER), observe)


def silence(lab: Lab, *, health_check_interval: float | None, sources: int, pause: float, rounds: int) -> Samples:
    """Let sources fall silent and come back."""
    input_timeout = 0.3
    flow = flows.silence(
        sources, input_timeout=input_timeout, talk=0.5, pause=pause, health_check_interval=health_check_interval
    )

    def observe(session: Session) -> Samples:
        names = [node.id for node in flow.nodes[:-1]]

        def rounds_done() -> bool:
            return all(len(stamps.of(session.stamps(name), 'back')) >= rounds for name in names)

        session.wait(rounds_done, START_LIMIT + (pause + 0.5) * (rounds + 2), f'{rounds} silences of each source')
        time.sleep(0.2)
        closed: list[float] = []
        recovered: list[float] = []
        for name in names:
            own, seen = session.stamps(name), session.stamps('consumer')
            lasts = [stamp.ns for stamp in stamps.of(own, 'last')][:rounds]
            backs = [stamp.ns for stamp in stamps.of(own, 'back')][:rounds]
            closed += _milliseconds(lasts, _times(seen, 'input_closed', name))
            recovered += _milliseconds(backs, _times(seen, 'input_recovered', name))
        beyond = [value - input_timeout * MILLI for value in closed]
        if health_check_interval is None:
            return {'silence_to_closed_default': beyond}
        return {'silence_to_closed': beyond, 'back_to_recovered': recovered}

    return lab.run(flow, observe)


def hang(lab: Lab, *, health_check_interval: float | None, count: int, apart: float, shape: str) -> Samples:
    """Let sources hang, one after the other."""
    health_check_timeout = 1.0
    flow = flows.hang(
        count,
        health_check_timeout=health_check_timeout,
        first=2.0,
        apart=apart,
        shape=shape,
        health_check_interval=health_check_interval,
    )

    def observe(session: Session) -> Samples:
        names = [node.id for node in flow.nodes]
        deaths = {}
        for name in names:
            started = session.wait(functools.partial(session.stamps, name), START_LIMIT, f'the start of {name}')
            deaths[name] = Death(started[0].pid)
        overdue = []
        for name in names:
            limit = 2.0 + count * apart + health_check_timeout + 30.0
            died = deaths[name].wait(limit)
            hung = stamps.of(session.stamps(name), 'hang')
            if died is None or not hung:
                msg = f'the kill of {name}: not within {limit:g} s' if hung else f'the hang of {name}: killed before'
                raise MissingError(msg)
            overdue.append((died - hung[0].ns) / stamps.NANOSECONDS - health_check_timeout)
        return {'hang_to_kill' + ('_default' if health_check_interval is None else ''): [s * MILLI for s in overdue]}

    return lab.run(flow, observe)


def chain(lab: Lab, *, length: int) -> Samples:
    """Start a chain of nodes, wait for a message at its end, and stop it."""

    def observe(session: Session) -> Samples:
        first = session.wait(
            lambda: stamps.of(session.stamps('consumer'), 'first'), START_LIMIT, f'a message through {length} nodes'
        )
        samples = {f'start_{length}': [(first[0].ns - session.started_ns) / stamps.NANOSECONDS]}
        if length == STOPPED:
            time.sleep(1.0)
            samples['stop_10'] = [session.stop() * MILLI]
        return samples

    return lab.run(flows.chain(length), observe)


STOPPED = 10
"""Length of the chain whose stop is measured."""


def idle(lab: Lab, *, count: int) -> Samples:
    """Let nodes do next to nothing."""
    flow = flows.idle(count)

    def observe(session: Session) -> Samples:
        def works() -> bool:
            return all(stamps.of(session.stamps(node.id), 'first') for node in flow.nodes)

        session.wait(works, START_LIMIT, f'a tick in each of {count} nodes')
        time.sleep(max(SETTLED, count * SETTLED_EACH))
        pids = session.node_pids()
        supervisor = supervisor_processes(session.pid, pids)
        own, nodes = measure((supervisor, [psutil.Process(pid) for pid in pids]), WINDOW)
        return {
            f'idle_cpu_{count}': [own.cpu],
            f'idle_pss_{count}': [own.pss],
            f'idle_rss_{count}': [own.rss],
            f'all_cpu_{count}': [own.cpu + nodes.cpu],
            f'all_pss_{count}': [own.pss + nodes.pss],
            f'node_pss_{count}': [nodes.pss / count],
        }

    return lab.run(flow, observe)


SCENARIOS = (
    Scenario(name='crash', run=crash, is_about_starts=True),
    Scenario(
        name='silence',
        run=functools.partial(silence, health_check_interval=0.1, sources=4, pause=0.8, rounds=15),
        watches_inputs=True,
    ),
    Scenario(
        name='silence_default',
        run=functools.partial(silence, health_check_interval=None, sources=6, pause=6.0, rounds=1),
        watches_inputs=True,
    ),
    Scenario(
        name='hang',
        run=functools.partial(hang, health_check_interval=0.1, count=6, apart=1.5, shape='loop'),
        watches_inputs=True,
    ),
    Scenario(
        name='hang_default',
        run=functools.partial(hang, health_check_interval=None, count=5, apart=1.3, shape='sleep'),
        watches_inputs=True,
    ),
    Scenario(name='chain_2', run=functools.partial(chain, length=2), is_about_starts=True),
    Scenario(name='chain_10', run=functools.partial(chain, length=10), is_about_starts=True),
    Scenario(name='chain_20', run=functools.partial(chain, length=20), is_about_starts=True),
    Scenario(name='chain_50', run=functools.partial(chain, length=50), is_about_starts=True),
    Scenario(name='idle_20', run=functools.partial(idle, count=20), is_about_starts=True),
    Scenario(name='idle_50', run=functools.partial(idle, count=50), is_about_starts=True),
)


def _times(found: list[stamps.Stamp], event: str, name: str) -> list[int]:
    return [stamp.ns for stamp in stamps.of(found, event, input=name)]


def _milliseconds(starts: list[int], ends: list[int]) -> list[float]:
    return [seconds * MILLI for seconds in stamps.seconds_to_next(starts, ends)]
