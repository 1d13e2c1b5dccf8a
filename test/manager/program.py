"""Runs a manager as ``adora run`` does, and tells what happens as JSON, one object a line.

Usage: ``program.py FILE OPTION=VALUE ...`` with the fields of :class:`adora_ros.manager.options.Options` as JSON, and
``stop_at``, the kind of event at which the manager is asked to stop, before the event loop does anything else, and
``warm``, whether nodes may be started warm (default: no).
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import load
from adora_ros.errors import AdoraError
from adora_ros.manager.app import Manager
from adora_ros.manager.options import Options
from adora_ros.manager.warm import WarmStarts
from adora_ros.warm.process import begin

if TYPE_CHECKING:
    from adora_ros.manager.events import ManagerEvent
    from adora_ros.manager.logs import Stream


class JsonLines:
    """A listener that writes to the standard output."""

    def __init__(self, stop_at: str) -> None:
        self.manager: Manager | None = None
        self._stop_at = stop_at
        self._lock = threading.Lock()

    def event(self, event: ManagerEvent) -> None:
        """Write an event."""
        self.write('event', dataclasses.asdict(event))
        if event.kind.value == self._stop_at and self.manager is not None:
            self.manager.stop()

    def output(self, node: str, stream: Stream, lines: list[bytes]) -> None:
        """Write lines of a node."""
        for line in lines:
            self.write('output', {'node': node, 'stream': stream.value, 'line': line.decode(errors='replace')})

    def write(self, kind: str, value: Any) -> None:
        """Write one line."""
        with self._lock:
            os.write(sys.stdout.fileno(), json.dumps({kind: value}, default=str).encode() + b'\n')


def main() -> int:
    """Run the manager and return its exit code."""
    given = {name: json.loads(value) for name, _, value in (text.partition('=') for text in sys.argv[2:])}
    lines = JsonLines(given.pop('stop_at', ''))
    warm = WarmStarts(begin()) if given.pop('warm', False) else None
    options = Options(file=Path(sys.argv[1]), **given)
    dataflow = load(options.file, name=options.name) if options.autostart else None
    lines.manager = Manager(options, lines, dataflow=dataflow, warm=warm)
    try:
        outcome = asyncio.run(lines.manager.main())
    except AdoraError as error:
        lines.write('error', str(error))
        return 2
    lines.write('outcome', dataclasses.asdict(outcome))
    return outcome.exit_code


if __name__ == '__main__':
    sys.exit(main())
