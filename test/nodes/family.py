"""Behaves well itself but starts a process that ignores SIGINT and SIGTERM: in its group (``fork``) or a daemon.

With ``daemonise`` the node turns itself into a daemon and ends well, as old drivers do; with ``abandon`` it ends well
and leaves the process in its group behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from marks import mark


def stay() -> None:
    """Ignore what is polite, for ever."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def daemon() -> None:
    """Start the process in a session of its own, without a parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            mark('child', os.getpid())
            stay()
        os._exit(0)
    os.wait()


kind = sys.argv[1]
mark('spawned')
mark('pid', os.getpid())
if kind in {'fork', 'abandon'}:
    if os.fork() == 0:
        mark('child', os.getpid())
        stay()
else:
    daemon()
if kind in {'daemonise', 'abandon'}:
    mark('leaving')
else:
    from adora_ros import Node

    node = Node()
    mark('running')
    for _ in node:
        pass
    mark('end')
