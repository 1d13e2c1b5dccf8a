"""The commands that look at what runs: ``list``, ``ps``, ``node info`` and ``events``."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from enum import Enum
from typing import TYPE_CHECKING, Any

from diagnostic_msgs.msg import DiagnosticArray

from adora_ros.cli.control import find_node
from adora_ros.cli.fleet import LATCHED
from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.presence import joined, look_around, say_silent
from adora_ros.cli.render import Renderer
from adora_ros.cli.tables import span, write_json, write_table
from adora_ros.cli.values import ColorMode
from adora_ros.inputs import InputState
from adora_ros.manager.diagnostics import read_event

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from adora_ros.cli.fleet import Flow, Manager
    from adora_ros.cli.session import Session
    from adora_ros.manager.events import InputStatus, NodeStatus

QUIET = 0.5
"""Seconds without a further event after which all that were kept have come."""
LOOK = 0.5
"""Seconds between two looks at what runs."""
COORDINATOR_EVENTS = '/adora/events'


def ps(arguments: argparse.Namespace) -> int:
    """Show the nodes of one dataflow or of all.

    Raises:
        NotRunningError: there is no such dataflow.
        NoAnswerError: a manager does not answer; what the others say is shown first.

    """
    if arguments.dataflow is not None:
        with joined(arguments.dataflow) as (_, fleet):
            flows: tuple[Flow, ...] = (fleet.find(arguments.dataflow, arguments.timeout),)
    else:
        flows = look_around(arguments.timeout)
    if arguments.json:
        write_json([_facts(flow, manager, node) for flow in flows for manager, node in flow.nodes])
    else:
        heads = ('DATAFLOW', 'NODE', 'STATE', 'PID', 'CPU', 'MEMORY', 'RESTARTS', 'UP', 'INPUTS AND ERRORS')
        rows = (row for flow in flows for manager, node in flow.nodes for row in _rows(flow, manager, node))
        write_table(heads, rows, right=('PID', 'CPU', 'MEMORY', 'RESTARTS', 'UP'))
    say_silent(flows, arguments.timeout)
    return 0


def node_info(arguments: argparse.Namespace) -> int:
    """Show all that is known of one node.

    Raises:
        NotRunningError: there is no such node.
        NoAnswerError: its manager does not answer.

    """
    with joined(arguments.dataflow) as (_, fleet):
        flow, manager, node = find_node(fleet, arguments.node, arguments.dataflow, arguments.timeout)
    facts = _facts(flow, manager, node)
    if arguments.json:
        write_json(facts)
        return 0
    lines = {**facts, 'inputs': '', 'up_s': span(node.up_s), 'last_activity_age_s': span(node.last_activity_age_s)}
    width = max(map(len, lines))
    for name, value in lines.items():
        if value not in {'', None, ()}:
            sys.stdout.write(f'{name.removesuffix("_s"):<{width}}  {_plain(value)}\n')
    for port in node.inputs:
        sys.stdout.write(f'{"input":<{width}}  {input_text(port)}\n')
    return 0


def _plain(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return ', '.join(map(str, value)) if isinstance(value, tuple) else str(value)


def events(arguments: argparse.Namespace) -> int:
    """Show the last events of dataflows and of the coordinator, and with ``--follow`` those that come.

    Raises:
        NotRunningError: there is no such dataflow.
        NoAnswerError: its manager does not answer.

    """
    waits = arguments.follow and arguments.dataflow is None
    with joined(arguments.dataflow, anyway=waits) as (session, fleet):
        listener = _Listener(session, _shower(as_json=arguments.json))
        if arguments.dataflow is not None:
            flow = fleet.find(arguments.dataflow, arguments.timeout)
            listener.listen_to_all([flow])
            while arguments.follow and fleet.again(flow) is not None:
                session.wait(lambda: False, LOOK)
        else:
            listener.listen(COORDINATOR_EVENTS, 'coordinator')
            listener.listen_to_all(fleet.find_all(arguments.timeout))
            while arguments.follow:
                session.wait(lambda: False, LOOK)
                listener.listen_to_all(fleet.flows())
        session.wait(listener.is_quiet, arguments.timeout)
    return 0


class _Listener:
    """Shows events from topics."""

    def __init__(self, session: Session, show: Callable[[str, Any], None]) -> None:
        self._session = session
        self._show = show
        self._topics: set[str] = set()
        self._awaited: set[str] = set()
        self._last = time.monotonic()

    def listen_to_all(self, flows: Iterable[Flow]) -> None:
        """Show the events of dataflows; one that has been started has at least that one."""
        for flow in flows:
            self.listen(f'{flow.namespace}/events', flow.name, awaited=bool(flow.run))

    def listen(self, topic: str, name: str, *, awaited: bool = False) -> None:
        """Show what comes from a topic, if that is not done yet.

        Args:
            topic: Its full name.
            name: Who speaks on it.
            awaited: Whether something is sure to come.

        """
        if topic in self._topics:
            return
        self._topics.add(topic)
        if awaited:
            self._awaited.add(topic)
        self._last = time.monotonic()

        def take(message: Any) -> None:
            self._awaited.discard(topic)
            self._last = time.monotonic()
            self._show(name, message)

        self._session.subscribe(DiagnosticArray, topic, take, LATCHED)

    def is_quiet(self) -> bool:
        """Return whether what was sure to come has come, and nothing more for a moment."""
        return not self._awaited and time.monotonic() - self._last > QUIET


def _shower(*, as_json: bool) -> Callable[[str, Any], None]:
    """Return what writes one event, a line each."""
    is_terminal = sys.stdout.isatty()
    ink = Ink(color=wants_color(ColorMode.AUTO, is_terminal=is_terminal))
    renderer = Renderer(ink)

    def show(dataflow: str, message: Any) -> None:
        try:
            event = read_event(message)
        except (KeyError, ValueError, IndexError):
            for status in message.status:
                values = {pair.key: pair.value for pair in status.values}
                text = json.dumps({**values, 'source': dataflow, 'text': status.message})
                sys.stdout.write((text if as_json else f'{dataflow}  {ink.clean(status.message)}') + '\n')
        else:
            text = json.dumps({'dataflow': dataflow, **dataclasses.asdict(event)})
            sys.stdout.write((text if as_json else f'{dataflow}  {renderer.event(event)}') + '\n')
        sys.stdout.flush()

    return show


def _facts(flow: Flow, manager: Manager, node: NodeStatus) -> dict[str, Any]:
    return {'dataflow': flow.name, 'run': flow.run, 'machine': manager.machine, **dataclasses.asdict(node)}


def _rows(flow: Flow, manager: Manager, node: NodeStatus) -> Iterator[tuple[str, ...]]:
    """Yield the row of a node, and one for each further thing that is to be said of it."""
    notes = [input_text(port) for port in node.inputs]
    notes += [f'{port} CLOSED' for port in node.closed_inputs if port not in {known.id for known in node.inputs}]
    if node.state.value in {'failed', 'backoff'} and node.last_exit:
        notes.append(node.last_exit)
    if node.error and node.error not in node.last_exit:
        notes.append(node.error)
    yield (
        flow.name,
        f'{node.node} @{manager.machine}' if manager.machine else node.node,
        node.state.value,
        '' if node.pid is None else str(node.pid),
        '' if node.cpu_percent is None else f'{node.cpu_percent:.1f} %',
        '' if node.rss_mb is None else f'{node.rss_mb:.0f} MiB',
        str(node.restarts),
        span(node.up_s),
        notes[0] if notes else '',
    )
    for note in notes[1:]:
        yield (*(8 * (' ',)), note)


def input_text(port: InputStatus) -> str:
    """Return ``<input> WAITING for <source> since 12.0 s``, or CLOSED."""
    word = 'for' if port.state is InputState.WAITING else 'from'
    age = '' if port.age_s is None else f', {span(port.age_s)}'
    return f'{port.id} {port.state.value} {word} {port.source}{age}'
