"""What a run looks like: one line an event, and the lines that nodes print."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo
from typing import TYPE_CHECKING, Any

from adora_ros.manager.events import EventKind, Level, ManagerEvent
from adora_ros.manager.loglines import json_object
from adora_ros.manager.logs import Stream

if TYPE_CHECKING:
    from adora_ros.cli.ink import Ink

KIND_WIDTH = max(len(kind.value) for kind in EventKind)
_LEVEL_STYLES = {Level.DEBUG: 'dim', Level.INFO: '', Level.WARN: 'yellow', Level.ERROR: 'bold red'}
_GOOD_NEWS = {
    EventKind.DATAFLOW_RUNNING,
    EventKind.NODE_UP,
    EventKind.NODE_RESTARTED,
    EventKind.INPUT_RECOVERED,
}
_SEPARATORS = {Stream.STDOUT: ('|', 'dim'), Stream.STDERR: ('!', 'yellow')}
_LOG_STYLES = {'error': 'bold red', 'warn': 'yellow', 'info': 'green', 'debug': 'dim', 'trace': 'dim'}


class Renderer:
    """Turns facts into lines without their ends. The node column is as wide as the longest id so far."""

    def __init__(self, ink: Ink, *, width: int = 0, zone: tzinfo | None = None) -> None:
        """Prepare the columns.

        Args:
            ink: How to colour.
            width: Characters of the longest node id that is known already.
            zone: Time zone of the time column; None for the local one.

        """
        self.ink = ink
        self._width = width
        self._zone = zone

    def event(self, event: ManagerEvent) -> str:
        """Return ``HH:MM:SS.mmm  node  KIND  text``."""
        style = 'green' if event.kind in _GOOD_NEWS else _LEVEL_STYLES[event.level]
        stamp = datetime.fromtimestamp(event.stamp / 1e9, timezone.utc).astimezone(self._zone)
        cells = (
            self.ink.paint(f'{stamp:%H:%M:%S}.{stamp.microsecond // 1000:03d}', 'dim'),
            self.ink.paint(self._column(event.node), 'bold'),
            self.ink.paint(f'{event.kind.value:<{KIND_WIDTH}}', style or 'cyan'),
            self.ink.paint(self._one_line(event.text), style),
        )
        return '  '.join(cells)

    def output(self, node: str, stream: Stream, line: bytes) -> str:
        """Return ``node | line``, with ``!`` for what came from the standard error."""
        separator, style = _SEPARATORS[stream]
        text = line.decode('utf-8', 'replace')
        entry = _log_entry(text)
        shown = self.ink.clean(text) if entry is None else self._log(entry)
        return f'{self.ink.paint(self._column(node), "cyan")} {self.ink.paint(separator, style)} {shown}'

    def dropped(self, count: int) -> str:
        """Return the line that stands for output which could not be shown in time."""
        return self.ink.paint(f'... {count} lines of node output not shown; the log files have them', 'yellow')

    def _column(self, node: str) -> str:
        self._width = max(self._width, len(node))
        return f'{node:<{self._width}}'

    def _log(self, entry: dict[str, Any]) -> str:
        level = str(entry['level']).lower()
        name = self.ink.paint(f'{level.upper():<5}', _LOG_STYLES.get(level, ''))
        parts = [name, self._one_line(str(entry['message']))]
        if entry.get('target'):
            parts.append(self.ink.paint(f'({self._one_line(str(entry["target"]))})', 'dim'))
        fields = entry.get('fields')
        if isinstance(fields, dict):
            parts += (self._one_line(f'{key}={value}') for key, value in fields.items())
        return ' '.join(parts)

    def _one_line(self, text: str) -> str:
        return self.ink.clean(' '.join(text.splitlines()))


def _log_entry(text: str) -> dict[str, Any] | None:
    """Return what :meth:`adora_ros.node.Node.log` wrote, or None if the line is of another kind."""
    entry = json_object(text)
    return entry if entry is not None and {'level', 'message', 'node_id'} <= entry.keys() else None
