"""Prints lines of every kind and ends; its first argument is a number of further lines.

The lines are for tests of what becomes of them.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Print."""
    sys.stdout.write(
        '{"timestamp":"2026-01-01T00:00:00+00:00","level":"warn","message":"careful","fields":{"a":"b"}}\n'
    )
    sys.stdout.write('{"timestamp":"2026-01-01T00:00:00Z","level":"DEBUG","message":"detail"}\n')
    sys.stdout.write('[INFO] [1767225600.000000001] [driver]: ready\n')
    sys.stdout.write('plain\n')
    sys.stdout.flush()
    sys.stderr.write('trouble\n')
    for number in range(int(sys.argv[1])):
        sys.stdout.write(f'{number}\n')


main()
