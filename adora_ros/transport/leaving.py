"""How a process that used ROS ends without waiting for nothing, and ends at all.

At the end of a process Fast DDS destroys its factory of participants, which sleeps for 0.1 s in case one has just been
removed. A factory that somebody still refers to is left alone, and so its last reference is taken and never given back
once there is no participant.

Fast DDS can also lock up while it destroys an entity: a thread that has just heard of a writer which is gone holds the
lock of the discovery and waits for the event thread, which waits for that lock to announce the participant. rclpy keeps
the interpreter's lock meanwhile, so that nothing in Python can help, and the process would stay for ever.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 10.0
"""Seconds that leaving ROS may take; it takes some milliseconds."""
LOCKED_UP = signal.SIGALRM
"""What ends a process that is locked up in leaving ROS: the kernel's timer does not need the interpreter."""
_LIBRARY = 'librmw_fastrtps_cpp.so'
"""What is looked up is in a library that this one, which rmw loads by this name, depends on."""
_REFERENCE = '_ZN8eprosima7fastdds3dds24DomainParticipantFactory19get_shared_instanceEv'
"""``DomainParticipantFactory::get_shared_instance()``, of Fast DDS 2 and 3 alike."""
_PARTICIPANT = 'dds.ev.'
"""How Fast DDS names the one thread that every participant has."""


class _SharedPointer(ctypes.Structure):
    """Large enough to be returned by reference on every platform, as a C++ object with a destructor always is."""

    _fields_ = (('words', ctypes.c_void_p * 4),)


@contextlib.contextmanager
def within_patience() -> Iterator[None]:
    """End this process by :data:`LOCKED_UP` if the block takes longer than :data:`PATIENCE`.

    Nothing is done where the process uses that signal itself, or outside the main thread.
    """
    usable = threading.current_thread() is threading.main_thread() and signal.getsignal(LOCKED_UP) is signal.SIG_DFL
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def keep_factory() -> bool:
    """Have Fast DDS do nothing at the end of this process.

    Returns:
        Whether that is so; not with another middleware, and not while there is a participant, for which it still has
        to say goodbye.

    """
    if _has_participant():
        return False
    try:
        library = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        reference = library[_REFERENCE]
    except (OSError, AttributeError):
        return False
    reference.restype = _SharedPointer
    reference()
    return True


def _has_participant() -> bool:
    names = (file.read_text(encoding='utf-8') for file in Path('/proc/self/task').glob('*/comm'))
    try:
        return any(name.startswith(_PARTICIPANT) for name in names)
    except OSError:  # a thread has just ended
        return True
