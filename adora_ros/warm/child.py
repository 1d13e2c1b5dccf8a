"""What a forked process does to be like one that was started."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.warm import block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adora_ros.warm.request import Request

_PYTHON_HANDLERS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGPIPE: signal.SIG_IGN,
    signal.SIGXFSZ: signal.SIG_IGN,
}
"""What an interpreter that starts sets; all other signals have their defaults."""


def become(request: Request, descriptors: Sequence[int]) -> None:
    """Make this process the one that is asked for, up to its first own statement.

    Args:
        request: What is asked for.
        descriptors: Standard output, standard error and those of the request, all under other numbers than they are to
            have.

    Raises:
        OSError: the working directory is not there.

    """
    os.setsid()
    for fd, target in zip(descriptors, (1, 2, *request.descriptors), strict=True):
        os.dup2(fd, target, inheritable=True)
        os.close(fd)
    _use_default_signals()
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    block.show(request.argv, request.env)
    _limit(request.limits)
    os.chdir(request.cwd)
    _renew()
    gc.enable()


def move_up(descriptors: Sequence[int], above: int) -> tuple[int, ...]:
    """Move descriptors to numbers that nothing else is to have."""
    moved = []
    for fd in descriptors:
        moved.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above + 1))
        os.close(fd)
    return tuple(moved)


def _use_default_signals() -> None:
    for number in signal.valid_signals():
        handler = _PYTHON_HANDLERS.get(number, signal.SIG_DFL)
        if signal.getsignal(number) not in {handler, None}:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _limit(limits: Mapping[str, tuple[int, int]]) -> None:
    for name, wanted in limits.items():
        number = getattr(resource, name)
        if resource.getrlimit(number) != wanted:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(number, wanted)


def _renew() -> None:
    """Make what modules draw or look up when they are loaded, and keep, that of this process."""
    numpy_random = sys.modules.get('numpy.random')
    if numpy_random is not None:
        numpy_random.seed()
    processes = sys.modules.get('multiprocessing.process')
    if processes is not None:
        processes.ORIGINAL_DIR = str(Path.cwd())  # type: ignore[attr-defined]
        processes.current_process().authkey = os.urandom(32)
