"""Starts situations and ends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from situations.harness import Situation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Situation]]:
    """Return what starts a dataflow of ``config/``, with the arguments of :class:`Situation` but for the folder."""
    situations: list[Situation] = []

    def begin(name: str, **options: Any) -> Situation:
        situations.append(Situation(name, tmp_path, **options))
        return situations[-1]

    yield begin
    for situation in situations:
        situation.close()
        print(situation.output())  # noqa: T201 - shown if the test failed
