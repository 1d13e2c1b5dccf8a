"""What is wrong with a dataflow file, and where."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.errors import DataflowError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ERROR = 'error'
WARNING = 'warning'


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One complaint about one place; its text is one line."""

    file: Path
    line: int
    """From 1."""
    column: int
    """From 1."""
    severity: str
    """``error`` or ``warning``."""
    message: str

    def __str__(self) -> str:
        """Return ``file:line:column: severity: message``."""
        text = ' '.join(self.message.splitlines())
        return f'{self.file}:{self.line}:{self.column}: {self.severity}: {text}'


class DataflowErrors(DataflowError):  # noqa: N818 - it is several
    """Everything that is wrong with one dataflow file; its text has one line an error, sorted by place."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep ``problems``, warnings among them; the text shows the errors only."""
        self.problems = tuple(sorted(problems, key=lambda p: (str(p.file), p.line, p.column, p.severity)))
        super().__init__('\n'.join(str(p) for p in self.problems if p.severity == ERROR))


def nearest(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return ``; did you mean `x`?`` for the word of ``known`` that is nearest to ``word``, else an empty text."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)
    return f'; did you mean `{near[0]}`?' if near else ''
