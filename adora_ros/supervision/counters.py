"""Counters of what fault tolerance had to do, cumulative for the life of a manager."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Counters:
    """How often each thing happened.

    Attributes:
        restarts: Incarnations after the first, of any node.
        health_kills: Nodes killed because they were silent for ``health_check_timeout``.
        startup_kills: Nodes killed because they did not connect within ``startup_timeout``.
        input_timeouts: Inputs closed by silence.
        cb_recoveries: Inputs recovered from that (the name is dora's, for circuit breaker).

    """

    restarts: int = 0
    health_kills: int = 0
    startup_kills: int = 0
    input_timeouts: int = 0
    cb_recoveries: int = 0

    def plus(self, **by: int) -> Counters:
        """Return these counters with the named ones raised."""
        return dataclasses.replace(self, **{name: getattr(self, name) + count for name, count in by.items()})

    def __str__(self) -> str:
        """Return the log line's form, ``restarts=3 health_kills=0 ...``."""
        return ' '.join(f'{field.name}={getattr(self, field.name)}' for field in dataclasses.fields(self))
