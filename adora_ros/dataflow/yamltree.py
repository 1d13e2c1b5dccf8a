"""YAML text as plain values, with the place of each of them.

Scalars follow the core schema of YAML 1.2, as dora reads them: ``no``, ``on`` and ``010`` are not booleans or octal
numbers, ``1e3`` is a number. A key that occurs twice, or is not text, is a problem.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from adora_ros.dataflow.problems import ERROR, DataflowErrors, Problem

if TYPE_CHECKING:
    from pathlib import Path

Place = tuple[int, int]
"""Line and column, both from 1."""
Loc = tuple[Any, ...]
"""Path of keys and indices from the root to a value."""

_NODE = 2
"""Length of the path of a node: ``nodes`` and its index."""
VALUE_LIMIT = 200_000
"""Most values that one file may expand to; only aliases of aliases get there."""

_STR = 'tag:yaml.org,2002:str'
_NULL = 'tag:yaml.org,2002:null'
_BOOL = 'tag:yaml.org,2002:bool'
_INT = 'tag:yaml.org,2002:int'
_FLOAT = 'tag:yaml.org,2002:float'
_MERGE = 'tag:yaml.org,2002:merge'
_UNFIT = re.compile('[\0\ud800-\udfff]')
"""What no argument, environment variable or file name can have in it."""
_COLLECTIONS = ('tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq')


class _CoreLoader(yaml.SafeLoader):
    """Composes nodes whose plain scalars are tagged by the core schema of YAML 1.2 (section 10.3.2)."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - declared so by the base class


for _tag, _pattern, _first in (
    (_NULL, r'null|Null|NULL|~|', ['n', 'N', '~', '']),
    (_BOOL, r'true|True|TRUE|false|False|FALSE', list('tTfF')),
    (_INT, r'[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+', list('-+0123456789')),
    (
        _FLOAT,
        r'[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)',
        list('-+0123456789.'),
    ),
    (_MERGE, r'<<', ['<']),
):
    _CoreLoader.add_implicit_resolver(_tag, re.compile(rf'^(?:{_pattern})$'), _first)


@dataclass
class Tree:
    """A YAML document."""

    file: Path
    data: Any = None
    problems: list[Problem] = field(default_factory=list)
    values: dict[Loc, Place] = field(default_factory=dict)
    keys: dict[Loc, Place] = field(default_factory=dict)
    files: dict[Loc, Path] = field(default_factory=dict)
    """By path of a value that is in another file, with all below it, that file."""
    _by_node: dict[Loc, list[Loc]] = field(default_factory=dict)

    def place(self, loc: Loc, *, key: bool = False) -> Place:
        """Return where a value begins (or, with ``key``, its key); what is missing is where its nearest parent is."""
        if key and loc in self.keys:
            return self.keys[loc]
        while loc and loc not in self.values:
            loc = loc[:-1]
        return self.values.get(loc, (1, 1))

    def file_of(self, loc: Loc) -> Path:
        """Return the file that a value is in."""
        while loc and (loc not in self.files):
            loc = loc[:-1]
        return self.files.get(loc, self.file)

    def adopt(self, loc: Loc, other: Tree, original: Loc) -> None:
        """Have ``loc`` and what is below it be where ``original`` is in another tree."""
        self._copy(loc, other, original)
        self.files[loc] = other.file

    def alias(self, loc: Loc, original: Loc) -> None:
        """Have ``loc`` and what is below it be where ``original`` is."""
        self._copy(loc, self, original)

    def _copy(self, loc: Loc, other: Tree, original: Loc) -> None:
        depth = len(original)
        for at in other._parts(original):
            if at[:depth] == original:
                copied = (*loc, *at[depth:])
                if at in other.values:
                    self.values[copied] = other.values[at]
                if at in other.keys:
                    self.keys[copied] = other.keys[at]

    def _parts(self, loc: Loc) -> tuple[Loc, ...]:
        """Return the places in the same node of the text as ``loc``, those that were copied there later aside."""
        if not self._by_node:
            for at in dict.fromkeys((*self.values, *self.keys)):
                self._by_node.setdefault(at[:_NODE], []).append(at)
        return tuple(self._by_node.get(loc[:_NODE], ()))

    def problem(self, loc: Loc, message: str, *, severity: str = ERROR, key: bool = False) -> Problem:
        """Return a problem about the value (or key) at ``loc``."""
        line, column = self.place(loc, key=key)
        return Problem(file=self.file_of(loc), line=line, column=column, severity=severity, message=message)


def parse(text: str, file: Path) -> Tree:
    """Return the tree of one YAML document.

    Raises:
        DataflowErrors: ``text`` is not one YAML document.

    """
    tree = Tree(file=file)
    lines = _Lines(text)
    try:
        root = _compose(text)
        if root is not None:
            _Builder(tree, lines).build(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ' '.join(filter(None, [error.context, error.problem]))
        raise _syntax(file, lines.place(mark.index if mark else 0), what) from error
    except yaml.reader.ReaderError as error:
        what = f'{text[error.position]!r} is not allowed in YAML'
        raise _syntax(file, lines.place(error.position), what) from error
    except RecursionError as error:
        raise _syntax(file, (1, 1), 'nested too deeply') from error
    return tree


class _Lines:
    """Lines as editors count them; the marks of PyYAML also count the line breaks that YAML 1.1 had beyond those."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(index + 1 for index, character in enumerate(text) if character == '\n')]

    def place(self, index: int) -> Place:
        line = bisect.bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


def _compose(text: str) -> Node | None:
    loader = _CoreLoader(text)
    try:
        node: Node | None = loader.get_single_node()
        return node
    finally:
        loader.dispose()


def _syntax(file: Path, place: Place, what: str) -> DataflowErrors:
    line, column = place
    return DataflowErrors(
        [Problem(file=file, line=line, column=column, severity=ERROR, message=f'not valid YAML: {what}')]
    )


class _Builder:
    def __init__(self, tree: Tree, lines: _Lines) -> None:
        self._tree = tree
        self._lines = lines
        self._open: set[int] = set()
        self._count = 0

    def build(self, root: Node) -> None:
        self._tree.data = self._value(root, ())

    def _value(self, node: Node, loc: Loc) -> Any:
        self._count += 1
        if self._count > VALUE_LIMIT:
            raise yaml.MarkedYAMLError(problem='aliases expand to too many values', problem_mark=node.start_mark)
        if id(node) in self._open:
            raise yaml.MarkedYAMLError(problem='an alias is inside of its own anchor', problem_mark=node.start_mark)
        self._tree.values[loc] = self._place(node)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag not in _COLLECTIONS:
            raise yaml.MarkedYAMLError(problem=f'the tag {node.tag} is not supported', problem_mark=node.start_mark)
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, loc)
            return [self._value(item, (*loc, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: MappingNode, loc: Loc) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                values.update(self._merged(value_node, loc))
        own: set[str] = set()
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self._key(key_node)
            if key is None:
                continue
            place = (*loc, key)
            if key in own:
                self._complain(key_node, f'`{key}` is given twice; the first is on line {self._tree.keys[place][0]}')
                continue
            own.add(key)
            self._tree.keys[place] = self._place(key_node)
            values[key] = self._value(value_node, place)
        return values

    def _merged(self, node: Node, loc: Loc) -> dict[str, Any]:
        sources = node.value if isinstance(node, SequenceNode) else [node]
        values: dict[str, Any] = {}
        for source in reversed(sources):
            if not isinstance(source, MappingNode):
                raise yaml.MarkedYAMLError(problem='`<<` takes a mapping', problem_mark=source.start_mark)
            if id(source) in self._open:
                raise yaml.MarkedYAMLError(
                    problem='an alias is inside of its own anchor', problem_mark=source.start_mark
                )
            self._open.add(id(source))
            values.update(self._mapping(source, loc))
            self._open.discard(id(source))
        return values

    def _key(self, node: Node) -> str | None:
        if not isinstance(node, ScalarNode):
            raise yaml.MarkedYAMLError(problem='a key must be text', problem_mark=node.start_mark)
        if node.tag != _STR:
            self._complain(node, f"a key must be text; write '{node.value}' in quotes")
            return None
        return str(node.value)

    def _place(self, node: Node) -> Place:
        return self._lines.place(node.start_mark.index)

    def _complain(self, node: Node, message: str) -> None:
        line, column = self._place(node)
        self._tree.problems.append(
            Problem(file=self._tree.file, line=line, column=column, severity=ERROR, message=message)
        )

    def _scalar(self, node: ScalarNode) -> Any:
        text = str(node.value)
        if node.tag == _NULL:
            return None
        if node.tag == _BOOL:
            return text.lower() == 'true'
        try:
            if node.tag == _INT:
                return int(text, 0) if text[:2] in {'0o', '0x'} else int(text)
            if node.tag == _FLOAT:
                return float(text.lower().replace('.inf', 'inf').replace('.nan', 'nan'))
        except ValueError as error:
            raise yaml.MarkedYAMLError(
                problem=f'`{text[:40]}` is not a number', problem_mark=node.start_mark
            ) from error
        if node.tag in {_STR, _MERGE}:
            if _UNFIT.search(text):
                self._complain(node, 'a text must not have a NUL or half of a surrogate pair in it')
            return text
        raise yaml.MarkedYAMLError(problem=f'the tag {node.tag} is not supported', problem_mark=node.start_mark)
