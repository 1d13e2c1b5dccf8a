"""``python -m adora_ros.cli``: the ``adora`` command where it is not on the path."""

from __future__ import annotations

import sys

from adora_ros.cli.main import main

if __name__ == '__main__':
    sys.exit(main())
