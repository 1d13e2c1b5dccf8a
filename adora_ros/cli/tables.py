"""Tables for people, and the same as JSON for programs."""

from __future__ import annotations

import io
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.values import ColorMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import JustifyMethod

UNLIMITED = 10_000
"""Columns of a text that is not for a terminal: nothing is wrapped."""
GAP = 2
"""Blanks between two columns."""
FOLDED = 12
"""Characters that a column needs to be read although it is folded."""
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
    table = new_table(heads, right=right, folded=heads[-1])
    for row in rows:
        table.add_row(*(Text(ink.clean(cell) or NOTHING, STYLES.get(cell, '')) for cell in row))
    columns = shutil.get_terminal_size().columns if is_terminal else UNLIMITED
    sys.stdout.write(rendered(table, ink, columns=columns) + '\n')


def new_table(heads: Sequence[str], *, right: Iterable[str] = (), folded: str) -> Table:
    """Return a table without rows.

    Args:
        heads: The heads of the columns.
        right: Heads of the columns whose cells end at the right.
        folded: Head of the column whose cells take several lines where a terminal is too narrow.

    """
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style='bold')
    for head in heads:
        justify: JustifyMethod = 'right' if head in set(right) else 'left'
        table.add_column(head, justify=justify, overflow='fold', no_wrap=head != folded)
    return table


def rendered(table: Table, ink: Ink, *, columns: int = UNLIMITED) -> str:
    """Return a table as text without blanks at the ends of its lines.

    Where not even the columns that cannot be folded have room, the lines are left to the terminal to break.
    """
    page = io.StringIO()
    console = Console(
        file=page,
        width=columns if _fixed_width(table) + FOLDED <= columns else UNLIMITED,
        force_terminal=ink.color,
        no_color=not ink.color,
        color_system='standard' if ink.color else None,
        legacy_windows=False,
    )
    console.print(table)
    return '\n'.join(line.rstrip() for line in page.getvalue().rstrip('\n').split('\n'))


def _fixed_width(table: Table) -> int:
    """Return the characters that the columns of a table take which are not folded, with the gaps behind them."""
    fixed = [column for column in table.columns if column.no_wrap]
    return sum(max(cell_len(str(cell)) for cell in (column.header, *column.cells)) + GAP for column in fixed)


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
