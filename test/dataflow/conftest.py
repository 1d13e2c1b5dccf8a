"""A folder with one program, and short ways to validate a text in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from adora_ros.dataflow import Dataflow, DataflowErrors, loads

if TYPE_CHECKING:
    from pathlib import Path


class Check(Protocol):
    """Validates a text."""

    def __call__(self, text: str) -> list[str]:
        """Return one line a problem, ``line:column: severity: message``."""


class Make(Protocol):
    """Loads a valid text."""

    def __call__(self, text: str, **options: Any) -> Dataflow:
        """Return the dataflow of the file ``robot.yml``."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that holds the scripts ``a.py`` and ``b.py`` and the executable ``run``."""
    for name in ('a.py', 'b.py'):
        (tmp_path / name).touch()
    (tmp_path / 'run').touch(mode=0o755)
    return tmp_path


@pytest.fixture
def make(folder: Path) -> Make:
    def made(text: str, **options: Any) -> Dataflow:
        return loads(text, path=folder / 'robot.yml', **options)

    return made


@pytest.fixture
def check(folder: Path) -> Check:
    file = folder / 'robot.yml'

    def checked(text: str) -> list[str]:
        try:
            problems = loads(text, path=file).warnings
        except DataflowErrors as errors:
            problems = errors.problems
        return [str(problem).removeprefix(f'{file}:').replace(str(folder), '<folder>') for problem in problems]

    return checked
