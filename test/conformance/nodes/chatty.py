"""Prints lines and logs at all levels."""

from __future__ import annotations

import sys
import time

from dora import Node


def main() -> None:
    """Print, then end."""
    node = Node()
    time.sleep(0.2)
    for number in range(3):
        print(f'line {number}')  # noqa: T201
        time.sleep(0.05)
    print('to stderr', file=sys.stderr)  # noqa: T201
    time.sleep(0.05)
    for level in ('error', 'warn', 'info', 'debug', 'trace'):
        node.log(level, f'text at {level}', 'target', {'key': 'value'})
        time.sleep(0.05)
    time.sleep(0.5)


if __name__ == '__main__':
    main()
