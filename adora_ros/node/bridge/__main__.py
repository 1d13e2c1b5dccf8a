"""The bridge as a program, which a manager starts."""

import sys

from adora_ros.node.bridge.run import main

if __name__ == '__main__':
    sys.exit(main())
