"""Tables for people, and the same as JSON for programs."""

from __future__ import annotations

import io
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.values import ColorMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNLIMITED = 10_000
"""Columns of a text that is not for a terminal: nothing is wrapped."""
NOTHING = '-'
MINUTE = 60.0
HOUR = 3600.0
DAY = 86400.0
STYLES = {
    'Running': 'green',
    'running': 'green',
    'Connected': 'green',
    'finished': 'green',
    'Succeeded': 'green',
    'Failed': 'bold red',
    'failed': 'bold red',
    'Disconnected': 'bold red',
    'no answer': 'bold red',
    'Recovering': 'yellow',
    'Stopping': 'yellow',
    'stopping': 'yellow',
    'Pending': 'yellow',
    'pending': 'yellow',
    'starting': 'yellow',
    'backoff': 'yellow',
}
"""How words for states are shown."""


def write_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """Write a table to the standard output: in colour and as wide as the terminal, or plain into a pipe.

    Args:
        heads: The heads of the columns.
        rows: The cells of each row.
        right: Heads of the columns whose cells end at the right, such as numbers.

    """
    is_terminal = sys.stdout.isatty()
    ink = Ink(color=wants_color(ColorMode.AUTO, is_terminal=is_terminal))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style='bold')
    for head in heads:
        table.add_column(head, justify='right' if head in set(right) else 'left', overflow='fold')
    for row in rows:
        table.add_row(*(Text(ink.clean(cell) or NOTHING, STYLES.get(cell, '')) for cell in row))
    columns = shutil.get_terminal_size().columns if is_terminal else UNLIMITED
    sys.stdout.write(rendered(table, ink, columns=columns) + '\n')


def rendered(table: Table, ink: Ink, *, columns: int = UNLIMITED) -> str:
    """Return a table as text without blanks at the ends of its lines."""
    page = io.StringIO()
    console = Console(
        file=page,
        width=columns,
        force_terminal=ink.color,
        no_color=not ink.color,
        color_system='standard' if ink.color else None,
        legacy_windows=False,
    )
    console.print(table)
    return '\n'.join(line.rstrip() for line in page.getvalue().rstrip('\n').split('\n'))


def write_json(value: Any) -> None:
    """Write a value to the standard output as JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + '\n')


def span(seconds: float | None) -> str:
    """Return a time span in the form in which people read it."""
    if seconds is None:
        return ''
    if round(seconds, 1) < MINUTE:
        return f'{seconds:.1f} s'
    if seconds < HOUR:
        return f'{int(seconds // MINUTE)} min {int(seconds % MINUTE):02d} s'
    if seconds < DAY:
        return f'{int(seconds // HOUR)} h {int(seconds % HOUR // MINUTE):02d} min'
    return f'{int(seconds // DAY)} d {int(seconds % DAY // HOUR):02d} h'
