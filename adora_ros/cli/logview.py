"""``logs``: what the nodes of a run printed, and what its manager noted, from the log files."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from adora_ros.cli.arguments import LEVELS
from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.loglines import Logs
from adora_ros.cli.render import Renderer
from adora_ros.cli.runs import find_run
from adora_ros.cli.values import ColorMode
from adora_ros.dataflow.names import ros_name
from adora_ros.errors import NotRunningError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from adora_ros.cli.loglines import LogLine

POLL = 0.1
"""Seconds between two looks for new lines."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which lines to show.

    Attributes:
        level: The lowest level.
        grep: Text that they contain, in small or capital letters; empty for all.
        since: The earliest stamp; empty for all.

    """

    level: str = LEVELS[0]
    grep: str = ''
    since: str = ''

    def __call__(self, line: LogLine) -> bool:
        """Return whether to show a line."""
        return (
            LEVELS.index(line.level) >= LEVELS.index(self.level)
            and self.grep.casefold() in line.text.casefold()
            and line.stamp >= self.since
        )


class View:
    """Writes lines to the standard output.

    Args:
        width: Characters of the longest name.
        as_json: Whether to write each as an object of JSON.

    """

    def __init__(self, *, width: int = 0, as_json: bool = False) -> None:
        self._ink = Ink(color=wants_color(ColorMode.AUTO, is_terminal=sys.stdout.isatty()))
        self._renderer = Renderer(self._ink, width=width)
        self._as_json = as_json

    def show(self, lines: Iterable[LogLine]) -> None:
        """Write some lines."""
        for line in lines:
            sys.stdout.write(f'{self._text(line)}\n')
        sys.stdout.flush()

    def _text(self, line: LogLine) -> str:
        if self._as_json:
            return json.dumps(dataclasses.asdict(line), ensure_ascii=False)
        body = self._renderer.output(line.node, line.stream, line.text.encode())
        return f'{self._ink.paint(_local(line.stamp), "dim")}  {body}'


def logs(arguments: argparse.Namespace) -> int:
    """Show the logs of a run.

    Raises:
        NotRunningError: there is no such run or node.
        AmbiguousNameError: several runs are meant.

    """
    run = find_run(arguments.dataflow)
    wanted = [ros_name(node) for node in arguments.node]
    source = Logs(run.folder, wanted)
    if wanted and not set(wanted) <= set(source.known) and not run.is_live:
        missing = next(node for node in wanted if node not in source.known)
        msg = f'no log of a node `{missing}` in {run.folder}; there is {", ".join(source.known)}'
        raise NotRunningError(msg)
    view = View(width=max(map(len, wanted or source.known), default=0), as_json=arguments.json)
    if arguments.dataflow is None:
        sys.stderr.write(f'logs of {run.facts.dataflow} ({run.facts.uuid}), the last run\n')
    keep = Filter(level=arguments.level, grep=arguments.grep or '', since=_since(arguments.since))
    past = (line for line in source.past() if keep(line))
    view.show(past if arguments.tail is None else deque(past, maxlen=arguments.tail))
    if arguments.follow:
        follow(source, view, keep, goes_on=lambda: run.is_live)
    source.close()
    return 0


def follow(source: Logs, view: View, keep: Callable[[LogLine], bool], *, goes_on: Callable[[], bool]) -> None:
    """Show what is added, until the run has ended and all of it is shown."""
    live = True
    while live:
        live = goes_on()
        view.show(line for line in source.new() if keep(line))
        if live:
            time.sleep(POLL)


def show_run(folder: Path, *, goes_on: Callable[[], bool]) -> None:
    """Show all that a run logs, until it has ended."""
    source = Logs(folder)
    view = View(width=max(map(len, source.known), default=0))
    keep = Filter()
    view.show(source.past())
    follow(source, view, keep, goes_on=goes_on)
    source.close()


def _since(seconds: float | None) -> str:
    if seconds is None:
        return ''
    return (datetime.now(timezone.utc) - timedelta(seconds=seconds)).isoformat(timespec='milliseconds')


def _local(stamp: str) -> str:
    try:
        local = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return '--:--:--.---'
    return f'{local:%H:%M:%S}.{local.microsecond // 1000:03d}'
