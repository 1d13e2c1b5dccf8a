"""A process that uses nothing but sd_notify: it says that it is ready, and lives."""

from __future__ import annotations

import os
import signal
import socket
import sys

period = int(os.environ['WATCHDOG_USEC']) / 4e6
signal.signal(signal.SIGINT, lambda *_: sys.exit())
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.connect('\0' + os.environ['NOTIFY_SOCKET'].removeprefix('@'))
    manager.send(b'READY=1')
    while True:
        signal.sigtimedwait([], period)
        manager.send(b'WATCHDOG=1')
