"""Reads what the nodes of a run wrote down: what happened to them, and when."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

NANOSECONDS = 1e9


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """One thing that happened in a node.

    Attributes:
        event: What.
        pid: The process.
        ns: When, in nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
        details: What else the node wrote down.

    """

    event: str
    pid: int
    ns: int
    details: Mapping[str, Any] = field(default_factory=dict)


def parse(text: str) -> list[Stamp]:
    """Return the stamps of a file's text, in order; a last line that is not complete yet does not count."""
    complete = text[: text.rfind('\n') + 1]
    return [_stamp(json.loads(line)) for line in complete.splitlines()]


def read(folder: Path, node: str) -> list[Stamp]:
    """Return the stamps that a node has written so far."""
    try:
        return parse((folder / f'{node}.jsonl').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return []


def of(stamps: Iterable[Stamp], event: str, **details: object) -> list[Stamp]:
    """Return the stamps of one kind, with these details."""
    return [
        stamp
        for stamp in stamps
        if stamp.event == event and all(stamp.details.get(name) == value for name, value in details.items())
    ]


def seconds_to_next(starts: Sequence[int], ends: Sequence[int]) -> list[float]:
    """Return for each start the seconds to the first end after it; a start with none before the next start has none.

    Args:
        starts: Times in nanoseconds, ascending.
        ends: Times in nanoseconds, ascending.

    """
    found = []
    for place, start in enumerate(starts):
        limit = starts[place + 1] if place + 1 < len(starts) else None
        after = [end for end in ends if end >= start and (limit is None or end < limit)]
        if after:
            found.append((after[0] - start) / NANOSECONDS)
    return found


def _stamp(record: dict[str, Any]) -> Stamp:
    return Stamp(event=record.pop('event'), pid=record.pop('pid'), ns=record.pop('ns'), details=record)
