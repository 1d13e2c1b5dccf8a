"""A neural network that leaks: it keeps the memory of every picture and so runs out of it.

It may use ``HEADROOM_MB`` MiB more than it has at the start, and leaks ``LEAK_MB`` MiB with each picture.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pyarrow as pa

from adora_ros import Node

MIB = 1024 * 1024


def limit_memory(headroom: int) -> None:
    """Let this process have at most ``headroom`` bytes of address space more than now."""
    pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + headroom, hard))


def main() -> None:
    """Infer until there is no memory left."""
    node = Node()
    leak_size = int(os.environ['LEAK_MB']) * MIB
    leak = []
    limit_memory(int(os.environ['HEADROOM_MB']) * MIB)
    for event in node:
        if event['type'] == 'INPUT':
            leak.append(bytearray(leak_size))
            node.send_output('objects', pa.array([len(leak)]))


if __name__ == '__main__':
    main()
