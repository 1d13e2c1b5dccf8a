"""What a manager and its warm process say to each other.

On the socket that the warm process is started with, in packets:

* from the warm process, once: ``threads``, the names of its threads when everything is loaded, or ``error``;
* from the manager: :class:`Request`, with the file descriptors of :data:`REPORT` and following.

On the socket that comes with each request, which ends when nobody is there to report any more:

* from the warm process: ``cold`` with a reason, if it cannot do it; else ``pid``, when the new process is the manager's
  own child;
* from the new process: ``ready`` when it could begin with the script, or ``error``, a system error number;
* from the manager: :data:`GO`. Without it the new process ends without having run anything of the script.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKET_LIMIT = 128 * 1024
"""Largest packet in bytes; a start that needs more is a cold one."""
MAX_DESCRIPTORS = 64
"""File descriptors that may come with a request."""
REPORT, STDOUT, STDERR, PASSED = range(4)
"""Places of the descriptors that come with a request; from the last one on, those of :attr:`Request.descriptors`."""
GO = b'go'


@dataclass(frozen=True, kw_only=True)
class Request:
    """A process to fork.

    Attributes:
        argv: Interpreter, script and arguments.
        env: The complete environment.
        cwd: Working directory.
        descriptors: Numbers that the process is to have its further descriptors under.
        limits: Soft and hard limit by the name that :mod:`resource` has for it.

    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    descriptors: tuple[int, ...]
    limits: Mapping[str, tuple[int, int]]

    def to_packet(self) -> bytes:
        """Return the packet."""
        return json.dumps(asdict(self), separators=(',', ':')).encode()

    @classmethod
    def from_packet(cls, packet: bytes) -> Request:
        """Return what :meth:`to_packet` has written."""
        raw: dict[str, Any] = json.loads(packet)
        limits = {name: (soft, hard) for name, (soft, hard) in raw['limits'].items()}
        return cls(
            argv=tuple(raw['argv']),
            env=raw['env'],
            cwd=raw['cwd'],
            descriptors=tuple(raw['descriptors']),
            limits=limits,
        )
