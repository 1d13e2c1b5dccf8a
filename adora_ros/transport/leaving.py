"""How a process that used ROS ends without waiting for nothing.

At the end of a process Fast DDS destroys its factory of participants, which sleeps for 0.1 s in case one has just been
removed. A factory that somebody still refers to is left alone, and so its last reference is taken and never given back
once there is no participant.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_LIBRARY = 'librmw_fastrtps_cpp.so'
"""What is looked up is in a library that this one, which rmw loads by this name, depends on."""
_REFERENCE = '_ZN8eprosima7fastdds3dds24DomainParticipantFactory19get_shared_instanceEv'
"""``DomainParticipantFactory::get_shared_instance()``, of Fast DDS 2 and 3 alike."""
_PARTICIPANT = 'dds.ev.'
"""How Fast DDS names the one thread that every participant has."""


class _SharedPointer(ctypes.Structure):
    """Large enough to be returned by reference on every platform, as a C++ object with a destructor always is."""

    _fields_ = (('words', ctypes.c_void_p * 4),)


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
