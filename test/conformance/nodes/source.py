"""Sends bursts of numbered messages on ``data`` and then ends as ``ENDINGS`` says.

``COUNT`` messages a burst, ``PERIOD`` seconds apart, ``BURSTS`` bursts with ``SILENCE`` seconds between them; the first
after ``DELAY`` and the end ``LINGER`` seconds after the last. ``ENDINGS`` has one word for each incarnation, the last
one for all that follow: an exit code, ``SIGKILL``, or ``exception``. The value is 100 times the restart count plus the
number of the message.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pyarrow as pa
from dora import Node


def number(name: str, default: float) -> float:
    """Return the environment variable ``name`` as a number."""
    return float(os.environ.get(name, default))


def send(node: Any) -> None:
    """Send all bursts."""
    count = int(number('COUNT', 5))
    first = 100 * node.restart_count()
    for burst in range(int(number('BURSTS', 1))):
        time.sleep(number('SILENCE', 1.0) if burst else number('DELAY', 0.0))
        for index in range(burst * count, (burst + 1) * count):
            node.send_output('data', pa.array([first + index]), {'number': index})
            time.sleep(number('PERIOD', 0.05))


def end(ending: str) -> None:
    """End the process as ``ending`` says; 0 is a normal end and left to the caller.

    Raises:
        RuntimeError: ``ending`` is ``exception``.

    """
    if ending == 'exception':
        raise RuntimeError(ending)
    if ending == 'SIGKILL':
        os.kill(os.getpid(), signal.SIGKILL)
    if ending != '0':
        os._exit(int(ending))


def main() -> None:
    """Send, wait, end."""
    node = Node()
    endings = os.environ.get('ENDINGS', '0').split()
    ending = endings[min(node.restart_count(), len(endings) - 1)]
    send(node)
    time.sleep(number('LINGER', 0.3))
    end(ending)


if __name__ == '__main__':
    main()
