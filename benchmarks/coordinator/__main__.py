"""Makes ``python -m benchmarks.coordinator`` work."""

import sys

from benchmarks.coordinator.cli import main

if __name__ == '__main__':
    sys.exit(main())
