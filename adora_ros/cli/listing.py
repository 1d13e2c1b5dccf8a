"""``list``: the dataflows that run, and with a coordinator those that ran."""

from __future__ import annotations

import dataclasses
import fnmatch
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.cli.presence import NO_ANSWER, anything_runs, joined, say_silent
from adora_ros.cli.records import ask_overview, may_be_there
from adora_ros.cli.tables import write_json, write_table
from adora_ros.errors import NoAnswerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from adora_ros.cli.fleet import Flow
    from adora_ros.coordinator.overview import DataflowInfo, Overview

FILTERS = {
    'running': frozenset({'Waiting', 'Pending', 'Running', 'Stopping', 'Recovering', NO_ANSWER}),
    'finished': frozenset({'Succeeded'}),
    'failed': frozenset({'Failed'}),
}
"""The states that ``--status`` stands for."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the list; numbers are None where nobody says."""

    uuid: str
    name: str
    status: str
    machines: tuple[str, ...]
    nodes: int | None = None
    cpu_percent: float | None = None
    rss_mb: float | None = None
    error: str = ''
    created_at: str = ''


def list_dataflows(arguments: argparse.Namespace) -> int:
    """Show dataflows.

    Raises:
        NoAnswerError: a manager or the coordinator does not answer; what the others say is shown first.

    """
    flows: tuple[Flow, ...] = ()
    past: Overview | None = None
    complaint: NoAnswerError | None = None
    if anything_runs() or may_be_there():
        with joined(anyway=True) as (session, fleet):
            flows = fleet.find_all(arguments.timeout)
            try:
                past = ask_overview(session, arguments.timeout) if may_be_there() else None
            except NoAnswerError as error:
                complaint = error
    running = [_entry(flow) for flow in flows]
    there = {entry.uuid for entry in running}
    found = [*running, *(_past_entry(info) for info in _newest_first(past) if info.uuid not in there)]
    shown = [
        entry
        for entry in found
        if (arguments.status is None or entry.status in FILTERS[arguments.status])
        and fnmatch.fnmatchcase(entry.name, arguments.name or '*')
    ]
    if arguments.json:
        write_json([dataclasses.asdict(entry) for entry in shown])
    elif arguments.quiet:
        sys.stdout.write(''.join(f'{entry.uuid}\n' for entry in shown if entry.uuid))
    else:
        heads = ('UUID', 'NAME', 'STATUS', 'NODES', 'CPU', 'MEMORY', 'MACHINES', 'ERROR')
        write_table(heads, map(_row, shown), right=('NODES', 'CPU', 'MEMORY'))
    say_silent(flows, arguments.timeout)
    if complaint is not None:
        raise complaint
    return 0


def _newest_first(past: Overview | None) -> Iterator[DataflowInfo]:
    return iter(()) if past is None else reversed(past.dataflows)


def _past_entry(info: DataflowInfo) -> Entry:
    return Entry(
        uuid=info.uuid,
        name=info.name,
        status=info.status.value,
        machines=info.machines,
        error=info.error,
        created_at=info.created_at,
    )


def _entry(flow: Flow) -> Entry:
    status = flow.status
    nodes = [node for _, node in flow.nodes]
    cpu = [node.cpu_percent for node in nodes if node.cpu_percent is not None]
    rss = [node.rss_mb for node in nodes if node.rss_mb is not None]
    errors = [manager.status.error for manager in flow.managers if manager.status is not None and manager.status.error]
    return Entry(
        uuid=flow.run,
        name=flow.name,
        status=NO_ANSWER if status is None else status.state,
        machines=tuple(manager.machine for manager in flow.managers if manager.machine),
        nodes=len(nodes) if nodes else None,
        cpu_percent=sum(cpu) if cpu else None,
        rss_mb=sum(rss) if rss else None,
        error='; '.join(errors),
    )


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        entry.uuid,
        entry.name,
        entry.status,
        '' if entry.nodes is None else str(entry.nodes),
        '' if entry.cpu_percent is None else f'{entry.cpu_percent:.1f} %',
        '' if entry.rss_mb is None else f'{entry.rss_mb:.0f} MiB',
        ' '.join(entry.machines),
        entry.error,
    )
