"""``python -m benchmarks.dataplane``."""

import sys

from benchmarks.dataplane.cli import main

if __name__ == '__main__':
    sys.exit(main())
