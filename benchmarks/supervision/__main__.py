"""Makes ``python -m benchmarks.supervision`` work."""

import sys

from benchmarks.supervision.cli import main

if __name__ == '__main__':
    sys.exit(main())
