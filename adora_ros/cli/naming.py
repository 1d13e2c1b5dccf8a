"""Names on the command line: in full, or the beginning of a uuid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from adora_ros.errors import AmbiguousNameError, NotRunningError

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar('T')
LISTED = 10
"""Candidates that an error lists."""


@dataclass(frozen=True)
class Named(Generic[T]):
    """A thing with a name and a uuid."""

    thing: T
    name: str
    uuid: str

    def __str__(self) -> str:
        return f'{self.name} ({self.uuid[:8]})' if self.uuid else self.name


def chosen(known: Sequence[Named[T]], text: str | None, *, what: str) -> T:
    """Return the one thing that a text means.

    Args:
        known: What there is.
        text: A name, or the beginning of a uuid; None for the only one that there is.
        what: What is looked for, in the singular.

    Raises:
        NotRunningError: it means nothing.
        AmbiguousNameError: it means several things.

    """
    wanted = '' if text is None else text.strip('/')
    found = [each for each in known if text is None or each.name == wanted]
    if not found and wanted:
        found = [each for each in known if each.uuid.startswith(wanted.lower())]
    if len(found) == 1:
        return found[0].thing
    if found:
        which = 'name one' if text is None else f'`{text}` is ambiguous; give more of the uuid'
        msg = f'there are {len(found)} of the kind {what}, {which}: {_listed(found)}'
        raise AmbiguousNameError(msg)
    others = f'; there is {_listed(known)}' if known else ''
    msg = f'no {what} `{wanted}`{others}' if text is not None else f'no {what}'
    raise NotRunningError(msg)


def _listed(candidates: Sequence[Named[T]]) -> str:
    shown = [str(each) for each in candidates[:LISTED]]
    more = len(candidates) - len(shown)
    return ', '.join([*shown, *([f'and {more} more'] if more else [])])
