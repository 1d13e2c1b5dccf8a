"""A program of somebody's own that runs a manager and stops it from another thread.

Usage as that of ``manager/program.py``. The thread stops the manager when somebody opens the FIFO ``stop`` in the
dataflow's folder for writing. The program's own clean-up is a file ``cleaned`` there.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import threading
from pathlib import Path

from adora_ros.manager.app import Manager
from adora_ros.manager.options import Options
from manager.program import JsonLines


def main() -> int:
    """Run the manager and return its exit code."""
    given = {name: json.loads(value) for name, _, value in (text.partition('=') for text in sys.argv[2:])}
    file = Path(sys.argv[1])
    lines = JsonLines('')
    manager = Manager(Options(file=file, **given), lines)

    def stop() -> None:
        (file.parent / 'stop').open('rb').close()
        manager.stop()

    threading.Thread(target=stop, daemon=True).start()
    try:
        outcome = asyncio.run(manager.main())
    finally:
        (file.parent / 'cleaned').touch()
    lines.write('outcome', dataclasses.asdict(outcome))
    return outcome.exit_code


if __name__ == '__main__':
    sys.exit(main())
