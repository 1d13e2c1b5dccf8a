"""The text of an input's source."""

from __future__ import annotations

import math
import re
from typing import Union

from adora_ros.dataflow.model import LogSource, NodeSource, TimerSource
from adora_ros.dataflow.problems import nearest

BUILTIN = ('dora', 'adora')
"""First words of the sources that are not nodes."""
LOG_LEVELS = ('error', 'warn', 'info', 'debug', 'trace', 'stdout')

_UNITS = {'secs': 1.0, 'millis': 1e-3, 'micros': 1e-6, 'nanos': 1e-9}
_NANO = 1e-9
_PERIOD_LIMIT = 1e9
_COUNT = re.compile(r'\+?[0-9]+')
_NODE_CHARACTER = re.compile(r'[A-Za-z0-9_.-]')
_DATA_CHARACTER = re.compile(r'[A-Za-z0-9_./-]')


def parse_source(text: str) -> Union[NodeSource, TimerSource, LogSource]:  # noqa: UP007 - evaluated on Python 3.10
    """Return what an input's source means.

    Raises:
        ValueError: it means nothing; the text says what to write.

    """
    head, slash, tail = text.partition('/')
    if not slash:
        msg = f'`{text}` is not a source; write node/output, or dora/timer/millis/100 for a timer'
        raise ValueError(msg)
    if head not in BUILTIN:
        check_node_id(head)
        check_data_id(tail)
        return NodeSource(node=head, output=tail)
    kind, _, rest = tail.partition('/')
    if kind == 'timer':
        return TimerSource(period=_period(rest), text=text)
    if kind == 'logs':
        return _logs(rest, text)
    msg = f'`{text}` is not a source: after `{head}/` comes `timer` or `logs`{nearest(kind, ["timer", "logs"])}'
    raise ValueError(msg)


def check_node_id(text: str) -> None:
    """Check the id of a node by the rules of dora.

    Raises:
        ValueError: it is not one; the text says why.

    """
    if not text:
        msg = 'the id of a node must not be empty'
        raise ValueError(msg)
    if text in BUILTIN:
        msg = f'`{text}` cannot be the id of a node: sources such as {text}/timer/millis/100 begin with it'
        raise ValueError(msg)
    if text.startswith('.'):
        msg = f'the node id `{text}` must not begin with a dot'
        raise ValueError(msg)
    _check_characters(text, _NODE_CHARACTER, 'node id', 'letters, digits, _, - and .')


def check_data_id(text: str) -> None:
    """Check the id of an input or output by the rules of dora.

    Raises:
        ValueError: it is not one; the text says why.

    """
    if not text:
        msg = 'the id of an input or output must not be empty'
        raise ValueError(msg)
    _check_characters(text, _DATA_CHARACTER, 'id', 'letters, digits, _, -, . and /')
    if text.startswith('/') or text.endswith('/') or '//' in text:
        msg = f'the id `{text}` must not begin or end with a slash, nor have two in a row'
        raise ValueError(msg)


def _check_characters(text: str, allowed: re.Pattern[str], what: str, words: str) -> None:
    for character in text:
        if not allowed.fullmatch(character):
            msg = f'the {what} `{text}` has the character {character!r} in it; use {words}'
            raise ValueError(msg)


def _period(text: str) -> float:
    unit, slash, count = text.partition('/')
    units = [*_UNITS, 'hz']
    if unit not in units or not slash:
        near = '' if unit in units else nearest(unit, units)
        msg = f'`{text}` is not a timer; write secs/N, millis/N, micros/N, nanos/N or hz/F{near}'
        raise ValueError(msg)
    period = _hertz(count) if unit == 'hz' else _whole(count, unit) * _UNITS[unit]
    if not _NANO * 0.999 <= period <= _PERIOD_LIMIT:
        msg = f'the period of the timer `{text}` is {period:g} s; it must be from 1 ns to {_PERIOD_LIMIT:g} s'
        raise ValueError(msg)
    return period


def _hertz(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not math.isfinite(rate) or rate <= 0 or '_' in text:
        msg = f'hz takes a number above 0, got `{text}`'
        raise ValueError(msg)
    return 1.0 / rate


def _whole(text: str, unit: str) -> int:
    if not _COUNT.fullmatch(text):
        msg = f'{unit} takes a whole number, got `{text}`'
        raise ValueError(msg)
    return int(text[:30])


def _logs(rest: str, text: str) -> LogSource:
    level, _, node = rest.partition('/')
    if level and level.lower() not in LOG_LEVELS:
        msg = f'`{level}` is not a log level; use {", ".join(LOG_LEVELS)}{nearest(level.lower(), LOG_LEVELS)}'
        raise ValueError(msg)
    if node:
        check_node_id(node)
    return LogSource(level=level.lower() or None, node=node or None, text=text)
