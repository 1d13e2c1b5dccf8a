"""Names of Arrow types, as dora has them in ``input_types`` and ``output_types``: ``std/core/v1/Float32`` and the like.

A name may have parameters, ``std/media/v1/AudioFrame[sample_type=f32]``; one that is not given agrees with any value.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow.problems import DataflowErrors, nearest
from adora_ros.dataflow.yamltree import Tree, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from adora_ros.dataflow.problems import Problem

TYPES_FOLDER = 'types'
"""Below the folder of the dataflow, where its own types are: ``types/robot/v1.yml`` has those of ``robot/v1/``."""
BYTES = 'std/core/v1/Bytes'
"""What takes any value."""
TICK = 'std/core/v1/UInt64'
"""What dora takes a tick of a timer for."""
STEPS = 3
"""Rules that may follow one another."""

_STANDARD = {
    'std/core/v1': 'Bool Bytes Float32 Float64 Int8 Int16 Int32 Int64 String UInt8 UInt16 UInt32 UInt64',
    'std/math/v1': 'Pose Quaternion Transform Vector3',
    'std/control/v1': 'JointState Odometry Twist',
    'std/media/v1': 'AudioFrame CompressedImage Image PointCloud',
    'std/vision/v1': 'BoundingBox Detection Segmentation',
}
STANDARD = frozenset(f'{prefix}/{name}' for prefix, names in _STANDARD.items() for name in names.split())
"""The types that every dataflow has."""
_WIDER = (('UInt8', 'UInt32'), ('UInt32', 'UInt64'), ('Int32', 'Int64'), ('Float32', 'Float64'))
_URN = re.compile(r'([^\[\]]+)(?:\[([^\[\]]+)\])?')


@dataclass(frozen=True)
class Urn:
    """A type name in its parts."""

    base: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    def agrees(self, other: Urn) -> bool:
        """Return whether no parameter that both have differs."""
        shared = self.parameters.keys() & other.parameters.keys()
        return all(self.parameters[name] == other.parameters[name] for name in shared)


def parse_urn(text: str) -> Urn | None:
    """Return a type name in its parts, None if it is not one."""
    match = _URN.fullmatch(text)
    if match is None:
        return None
    parameters = {}
    for part in match[2].split(',') if match[2] else ():
        name, equals, value = (word.strip() for word in part.partition('='))
        if not (name and equals and value):
            return None
        parameters[name] = value
    return Urn(match[1], parameters)


class Types:
    """The types of a dataflow and the rules by which one may feed another.

    Args:
        own: names of types beside :data:`STANDARD`.
        rules: pairs of a type and one that it may feed.

    """

    def __init__(self, own: Iterable[str] = (), rules: Iterable[tuple[str, str]] = ()) -> None:
        self._names = STANDARD.union(own)
        self._wider: dict[str, list[str]] = {}
        for source, target in (*((f'std/core/v1/{a}', f'std/core/v1/{b}') for a, b in _WIDER), *rules):
            self._wider.setdefault(source, []).append(target)

    def unknown(self, text: str) -> str | None:
        """Return what is wrong with a type name, None if nothing is."""
        urn = parse_urn(text)
        if urn is None:
            return f'`{text}` is not the name of a type; write it as std/core/v1/Float32 or name[parameter=value]'
        if urn.base in self._names:
            return None
        return f'there is no type `{urn.base}`{nearest(urn.base, self._names)}'

    def compatible(self, source: str, target: str) -> bool:
        """Return whether an output of one type may feed an input of another, both known."""
        if target == BYTES:
            return True
        start, end = parse_urn(source), parse_urn(target)
        if start is None or end is None:
            return source == target
        if start.base == end.base:
            return start.agrees(end)
        todo, seen = deque([(start.base, 0)]), {start.base}
        while todo:
            name, steps = todo.popleft()
            for wider in self._wider.get(name, ()) if steps < STEPS else ():
                if wider == end.base:
                    return True
                if wider not in seen:
                    seen.add(wider)
                    todo.append((wider, steps + 1))
        return False


def own_types(folder: Path) -> tuple[set[str], list[Problem]]:
    """Return the names of the types in a folder, and what is wrong with its files."""
    names: set[str] = set()
    problems: list[Problem] = []
    for file in sorted(folder.rglob('*.yml')):
        prefix = file.relative_to(folder).with_suffix('').as_posix()
        try:
            tree = parse(file.read_text(encoding='utf-8-sig'), file)
        except DataflowErrors as errors:
            problems += errors.problems
            continue
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Tree(file=file).problem((), f'cannot be read: {error}'))
            continue
        problems += tree.problems
        if prefix == 'std' or prefix.startswith('std/'):
            problems.append(tree.problem((), 'the types below `std` are those of every dataflow; rename the file'))
        names |= {f'{prefix}/{name}' for name in _definitions(tree, problems)}
    return names, problems


def _definitions(tree: Tree, problems: list[Problem]) -> dict[str, Any]:
    types = tree.data.get('types') if isinstance(tree.data, dict) else None
    if not isinstance(types, dict):
        problems.append(tree.problem((), 'it needs `types`, a mapping from names to types'))
        return {}
    for name, definition in types.items():
        if not isinstance(definition, dict) or not isinstance(definition.get('arrow'), str):
            problems.append(tree.problem(('types', name), f'type `{name}` needs `arrow`, the name of its Arrow type'))
    return types
