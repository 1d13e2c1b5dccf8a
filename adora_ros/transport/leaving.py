"""How a process that used ROS ends without waiting for nothing, and ends at all.

At the end of a process Fast DDS destroys its factory of participants, which sleeps for 0.1 s in case one has just been
removed. A factory that somebody still refers to is left alone, and so its last reference is taken and never given back
once there is no participant.

Fast DDS can also lock up while it destroys an entity: a thread that has just heard of a writer which is gone holds the
lock of the discovery and waits for the event thread, which waits for that lock to announce the participant. rclpy keeps
the interpreter's lock meanwhile, so that nothing in Python can help, and the process would stay for ever. So it is the
kernel that ends such a process: one that runs a command of ours leaves ROS last, when all has been said and its exit
code is known, and ends with that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 5.0
"""Seconds that leaving ROS may take; it takes some milliseconds."""
LOCKED_UP = signal.SIGALRM
"""What ends a node that is locked up in leaving ROS, where its exit code is not known yet."""
_UNLINKING = 0.1
"""Seconds that are enough to remove some files in memory."""
_SIGEV_THREAD = 2
_LIBRARY = 'librmw_fastrtps_cpp.so'
"""What is looked up is in a library that this one, which rmw loads by this name, depends on."""
_REFERENCE = '_ZN8eprosima7fastdds3dds24DomainParticipantFactory19get_shared_instanceEv'
"""``DomainParticipantFactory::get_shared_instance()``, of Fast DDS 2 and 3 alike."""
_PARTICIPANT = 'dds.ev.'
"""How Fast DDS names the one thread that every participant has."""


class _SharedPointer(ctypes.Structure):
    """Large enough to be returned by reference on every platform, as a C++ object with a destructor always is."""

    _fields_ = (('words', ctypes.c_void_p * 4),)


class _SignalEvent(ctypes.Structure):
    """``struct sigevent`` of https://man7.org/linux/man-pages/man3/sigevent.3type.html, with a function to call."""

    _fields_ = (
        ('value', ctypes.c_void_p),
        ('signal', ctypes.c_int),
        ('notify', ctypes.c_int),
        ('function', ctypes.c_void_p),
        ('attributes', ctypes.c_void_p),
        ('rest', ctypes.c_char * 48),
    )


class _TimerValue(ctypes.Structure):
    """``struct itimerspec``: the period and the first time, each in seconds and nanoseconds."""

    _fields_ = (('period', ctypes.c_long * 2), ('first', ctypes.c_long * 2))


_postponed: list[Callable[[], object]] | None = None
"""What takes this process out of ROS at its end; None where that is done at once."""


def leave(step: Callable[[], object]) -> None:
    """Take a step out of ROS: destroy nodes, shut a context down. Inside :func:`leaving_last` that is put off."""
    if _postponed is None:
        step()
        keep_factory()
    else:
        _postponed.append(step)


def leaving_last(work: Callable[[], int]) -> int:
    """Do all that this process is for, then leave ROS, and return the exit code of the work.

    If ROS cannot be left within :data:`PATIENCE`, the process ends here with that code.
    """
    global _postponed  # noqa: PLW0603 - there is one process
    code = 1
    steps: list[Callable[[], object]] = []
    _postponed = steps
    try:
        code = work()
    finally:
        _postponed = None
        if steps:
            with _exiting_after_patience(code), _uninterrupted():
                for step in steps:
                    step()
            keep_factory()
    return code


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C, since there is nothing left to interrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _exiting_after_patience(code: int) -> Iterator[None]:
    """End this process with an exit code, and its shared memory, if the block takes longer than :data:`PATIENCE`."""
    from adora_ros.transport import dds  # noqa: PLC0415 - nodes import this module without it

    library = ctypes.CDLL(None)
    paths = [ctypes.create_string_buffer(os.fsencode(path)) for path in dds.own_segments()]
    with contextlib.ExitStack() as calls:
        for path in paths:
            calls.enter_context(_called_after(PATIENCE, library['unlink'], ctypes.addressof(path)))
        calls.enter_context(_called_after(PATIENCE + _UNLINKING, library['_exit'], code))
        yield


@contextlib.contextmanager
def _called_after(seconds: float, function: Any, argument: int) -> Iterator[None]:
    """Have a thread of the C library, which does not need the interpreter, call one of its functions at a time.

    Nothing is done where there is no timer to be had, nor before glibc 2.34, which has them in another library.
    """
    address = ctypes.cast(function, ctypes.c_void_p).value
    event = _SignalEvent(value=argument, notify=_SIGEV_THREAD, function=address)
    value = _TimerValue(first=(int(seconds), int(seconds % 1 * 1e9)))
    timer = ctypes.c_void_p()
    library = ctypes.CDLL(None)
    create = getattr(library, 'timer_create', None)
    if create is None or create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)):
        yield
        return
    library.timer_settime(timer, 0, ctypes.byref(value), None)
    try:
        yield
    finally:
        library.timer_delete(timer)


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
