"""Collects what is wrong with one file, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adora_ros.dataflow.explain import whereabouts
from adora_ros.dataflow.problems import ERROR, WARNING, DataflowErrors, Problem

if TYPE_CHECKING:
    from adora_ros.dataflow.yamltree import Loc, Tree


class Report:
    """The problems of one file so far."""

    def __init__(self, tree: Tree) -> None:
        """Start with what the YAML itself has wrong."""
        self.tree = tree
        self._problems = list(tree.problems)

    @property
    def data(self) -> Any:
        """The parsed YAML as given."""
        return self.tree.data

    def add(self, problem: Problem) -> None:
        """Add a complete problem."""
        self._problems.append(problem)

    def error(self, loc: Loc, message: str, *, key: bool = False) -> None:
        """Add an error about the value, or with ``key`` the key, at ``loc``."""
        self.add(self.tree.problem(loc, whereabouts(loc, self.data) + message, key=key))

    def warning(self, loc: Loc, message: str, *, key: bool = True) -> None:
        """Add a warning about the key, or without ``key`` the value, at ``loc``."""
        text = whereabouts(loc, self.data) + message
        self.add(self.tree.problem(loc, text, severity=WARNING, key=key))

    def line(self, loc: Loc) -> int:
        """Return the line of a value."""
        return self.tree.place(loc)[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, each once, by place."""
        return tuple(sorted(dict.fromkeys(self._problems), key=lambda p: (str(p.file), p.line, p.column, p.severity)))

    def raise_errors(self) -> None:
        """Raise what was found, if any of it is an error.

        Raises:
            DataflowErrors: with all problems.

        """
        if any(problem.severity == ERROR for problem in self._problems):
            raise DataflowErrors(self.problems)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings."""
        return tuple(problem for problem in self.problems if problem.severity == WARNING)
