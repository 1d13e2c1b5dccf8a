"""Lets a node's script leave marks that a test counts, and wait for one of the test."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

_CONFIG = json.loads(os.environ['ADORA_NODE_CONFIG'])
INCARNATION = int(_CONFIG['incarnation'])


def mark(*words: object) -> None:
    """Append ``<incarnation> <words>`` to ``<node>.marks`` in the dataflow's folder, in one piece."""
    line = ' '.join(str(word) for word in (INCARNATION, *words) if word != '') + '\n'
    with Path(f'{_CONFIG["node_id"]}.marks').open('ab', buffering=0) as file:
        file.write(line.encode())


def wait_for_file(name: str) -> None:
    """Wait until the test has made a file in the dataflow's folder."""
    while not Path(name).exists():
        time.sleep(0.05)
