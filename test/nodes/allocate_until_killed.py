"""Takes memory until there is no more, and is killed for it as the kernel would do.

A limit of its own stands in for that of the machine, which goes on living.
"""

from __future__ import annotations

import os
import resource
import signal

from marks import mark

from adora_ros import Node

BLOCK = 16 * 1024 * 1024
BLOCKS = 8

mark('spawned')
Node()
with open('/proc/self/statm', encoding='ascii') as statm:  # noqa: PTH123 - no memory for more
    size = int(statm.read().split()[0]) * os.sysconf('SC_PAGE_SIZE')
resource.setrlimit(resource.RLIMIT_AS, (size + BLOCK * BLOCKS, resource.RLIM_INFINITY))
taken = []
try:
    while True:
        taken.append(bytearray(BLOCK))
except MemoryError:
    os.kill(os.getpid(), signal.SIGKILL)
