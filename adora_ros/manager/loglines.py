"""A line that a node prints as a log entry of dora: its level, its message and what else it says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN = 'stdout'
"""Level of a line that has none."""
_SEVERITY = {'ERROR': 0, 'WARN': 1, 'INFO': 2, 'DEBUG': 3, 'TRACE': 4}
_TEXTS = ('target', 'module_path', 'file', 'message')
_TIMESTAMP = re.compile(r'\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)')
_ROS_LINE = re.compile(r'\[(?P<level>[A-Z]+)\] \[(?P<seconds>\d+)\.(?P<nanos>\d{9})\] \[(?P<name>[^]]*)\]: ')
"""The beginning of a line in the default console format of ROS 2."""
_LINE_NUMBER = re.compile(r'[0-9]{1,9}')
_ROS_LEVELS = {'FATAL': 'ERROR', 'ERROR': 'ERROR', 'WARN': 'WARN', 'INFO': 'INFO', 'DEBUG': 'DEBUG'}


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One line."""

    level: str
    """``ERROR``, ``WARN``, ``INFO``, ``DEBUG``, ``TRACE`` or :data:`PLAIN`."""
    message: str
    timestamp: str
    """RFC 3339, in UTC."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """``target``, ``module_path``, ``file``, ``line`` and ``fields`` as far as the line has them."""

    def passes(self, minimum: str | None) -> bool:
        """Return whether the entry counts where only a level counts, or one that is more severe.

        Plain lines have no severity: they pass only where every line does, as in dora.

        Args:
            minimum: a level in lower case; None or :data:`PLAIN` for every line.

        """
        if minimum in {None, PLAIN}:
            return True
        return self.level != PLAIN and _SEVERITY[self.level] <= _SEVERITY[str(minimum).upper()]

    def to_json(self, *, dataflow_id: str, node_id: str, machine: str) -> str:
        """Return the entry as a node of dora gets it."""
        more = self.more
        return json.dumps(
            {
                'build_id': None,
                'dataflow_id': dataflow_id,
                'node_id': node_id,
                'daemon_id': {'machine_id': machine or None, 'uuid': dataflow_id},
                'level': self.level,
                'target': more.get('target'),
                'module_path': more.get('module_path'),
                'file': more.get('file'),
                'line': more.get('line'),
                'message': self.message,
                'timestamp': self.timestamp,
                'fields': more.get('fields'),
            },
            separators=(',', ':'),
            ensure_ascii=False,
        )


def parse_line(line: str, now: int) -> LogEntry:
    """Return a line as an entry.

    A line of ``Node.log`` or of Rust's tracing is a JSON object with ``level`` and ``timestamp``; one of a ROS logger
    has the default format of the ROS console. Any other line is a plain one.

    Args:
        line: without its end.
        now: nanoseconds since the Unix epoch, for a line that does not say when.

    """
    entry = _from_json(line) or _from_ros(line)
    return entry or LogEntry(level=PLAIN, message=line, timestamp=_utc(now))


def json_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object that a line is, None for any other line and for one that is nested too deeply.

    Halves of characters, which JSON can have and UTF-8 cannot, become question marks.
    """
    if not line.startswith('{'):
        return None
    try:
        found: dict[str, Any] = json.loads(line)
        if '\\u' in line:
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors='replace'))
    except (ValueError, RecursionError):
        return None
    return found


def _from_json(line: str) -> LogEntry | None:
    raw = json_object(line)
    if raw is None:
        return None
    level, timestamp = str(raw.get('level')).upper(), raw.get('timestamp')
    fields = raw.get('fields')
    texts = [raw.get(name) for name in _TEXTS]
    number = raw.get('line')
    if (
        level not in {*_SEVERITY, PLAIN.upper()}
        or not isinstance(timestamp, str)
        or not all(text is None or isinstance(text, str) for text in texts)
        or not (number is None or (isinstance(number, int) and not isinstance(number, bool) and number >= 0))
        or not (fields is None or _is_texts(fields))
    ):
        return None
    stamp = _normal(timestamp)
    if stamp is None:
        return None
    given = {**(fields or {}), **{name: raw[name] for name in _TEXTS if raw.get(name) is not None}}
    if number is None and _LINE_NUMBER.fullmatch(str(given.get('line', ''))):
        number = int(given['line'])
    return LogEntry(
        level=PLAIN if level == PLAIN.upper() else level,
        message=given.get('message', ''),
        timestamp=stamp,
        more={**{name: given.get(name) for name in _TEXTS[:-1]}, 'line': number, 'fields': fields},
    )


def _is_texts(fields: Any) -> bool:
    return isinstance(fields, dict) and all(isinstance(value, str) for value in fields.values())


def _normal(timestamp: str) -> str | None:
    """Return an RFC 3339 time in UTC to the precision in which it is given; None if it is not one."""
    match = _TIMESTAMP.fullmatch(timestamp)
    if match is None:
        return None
    whole = timestamp[:19].replace('t', 'T').replace(' ', 'T')
    offset = '+00:00' if match[2] in {'Z', 'z'} else match[2]
    try:
        moment = datetime.fromisoformat(whole + offset).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
    return f'{moment:%Y-%m-%dT%H:%M:%S}{match[1] or ""}Z'


def _from_ros(line: str) -> LogEntry | None:
    match = _ROS_LINE.match(line)
    if match is None or match['level'] not in _ROS_LEVELS:
        return None
    try:
        timestamp = _utc(int(match['seconds']) * 10**9 + int(match['nanos']))
    except (ValueError, OverflowError, OSError):  # a year that there is none of
        return None
    return LogEntry(
        level=_ROS_LEVELS[match['level']],
        message=line[match.end() :],
        timestamp=timestamp,
        more={'target': match['name']},
    )


def _utc(nanoseconds: int) -> str:
    """Return a time as RFC 3339.

    Raises:
        ValueError, OverflowError, OSError: it is beyond what a date can be.

    """
    moment = datetime.fromtimestamp(nanoseconds // 10**9, timezone.utc)
    return f'{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z'
