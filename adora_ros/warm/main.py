"""Program of a warm process; a node that was forked from it goes on from here.

Usage: ``python main.py FD``, where the argument is the socket to the manager.
"""

from __future__ import annotations

import sys

if not getattr(sys.flags, 'safe_path', False):
    del sys.path[0]

from adora_ros.warm.server import serve

serve(int(sys.argv[1])).run()
