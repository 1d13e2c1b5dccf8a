"""What is said at the end of a run."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from rich.text import Text

from adora_ros.cli.tables import UNLIMITED, new_table, rendered, span
from adora_ros.supervision import NodeState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from adora_ros.cli.ink import Ink
    from adora_ros.manager.events import NodeStatus
    from adora_ros.manager.options import Outcome

SIGNAL_BASE = 128
"""Exit codes above it name a signal, by the convention of shells."""
_STATE_STYLES = {
    NodeState.FAILED: 'bold red',
    NodeState.FINISHED: 'green',
    NodeState.STOPPED: 'green',
}


def summary(outcome: Outcome, up_times: Mapping[str, float], ink: Ink, *, columns: int = UNLIMITED) -> str:
    """Return the table of nodes, the folder of the logs and, on the last line, how it went.

    Args:
        outcome: How the manager ended.
        up_times: Seconds for which the last incarnation of each node worked.
        ink: How to colour.
        columns: Width of the terminal.

    """
    parts = []
    if outcome.statuses:
        parts += ['', _table(outcome.statuses, up_times, ink, columns)]
    if outcome.folder is not None:
        parts.append(f'logs: {outcome.folder}')
    return '\n'.join([*parts, last_line(outcome, ink)])


def last_line(outcome: Outcome, ink: Ink) -> str:
    """Return ``ok``, the first real failure, or what interrupted the run."""
    result = outcome.result
    if result is not None and result.failures:
        first = result.failures[0]
        text = ' '.join(f'failed: {first.node}: {first.reason}'.split())
        return ink.paint(ink.clean(text), 'bold red')
    if outcome.exit_code > SIGNAL_BASE:
        return ink.paint(f'interrupted: {signal.Signals(outcome.exit_code - SIGNAL_BASE).name}', 'yellow')
    return ink.paint('ok', 'green')


def _table(statuses: Iterable[NodeStatus], up_times: Mapping[str, float], ink: Ink, columns: int) -> str:
    heads = ('node', 'state', 'restarts', 'last exit', 'up time')
    table = new_table(heads, right=('restarts', 'up time'), folded='last exit')
    for status in statuses:
        up = up_times.get(status.node)
        table.add_row(
            Text(status.node),
            Text(status.state.value, _STATE_STYLES.get(status.state, '')),
            str(status.restarts),
            Text(' '.join(ink.clean(status.last_exit).split()) or '-'),
            '-' if up is None else span(up),
        )
    return rendered(table, ink, columns=columns)
