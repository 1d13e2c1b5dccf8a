"""How a node's end becomes known while the kernel is still taking its process apart.

A process counts as ended when all of its memory has been given back, which takes the kernel some 6 ms for one that has
loaded ROS and Arrow. Its threads, though, end as soon as it is killed or exits, each with the files that it has for
itself. One thread here has files of its own, a single pipe to the manager, and does nothing but wait for the end.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading

_CLOSE_RANGE = 436
"""Number of the system call, the same on all processors; Linux 5.9 has it, the C library not everywhere."""
_UNSHARE = 2
"""Give the calling thread a table of open files of its own first."""
_LAST = 0xFFFFFFFF


def hold(fd: int) -> None:
    """Have the write end of a pipe closed by nothing but the end of this process.

    Where the kernel cannot do that it is closed at once.

    Args:
        fd: The pipe, which is not to be used any more.

    """
    held = threading.Event()
    threading.Thread(target=_hold, args=(fd, held), name='adora-end', daemon=True).start()
    held.wait()
    os.close(fd)


def _hold(fd: int, held: threading.Event) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    library = ctypes.CDLL(None)
    alone = _close(library, fd + 1, _LAST, _UNSHARE) and _close(library, 0, fd - 1, 0)
    held.set()
    while alone:
        library.poll(None, 0, -1)


def _close(library: ctypes.CDLL, first: int, last: int, flags: int) -> bool:
    arguments = (ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(flags))
    return bool(library.syscall(_CLOSE_RANGE, *arguments) == 0)
