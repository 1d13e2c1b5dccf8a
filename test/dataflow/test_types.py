"""Types of inputs and outputs."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.dataflow import DataflowErrors, loads
from adora_ros.dataflow.arrowtypes import BYTES, STANDARD, STEPS, Types, parse_urn

if TYPE_CHECKING:
    from pathlib import Path

    from dataflow.conftest import Check

FLOW = """\
nodes:
  - id: a
    path: a.py
    outputs: [o, p]
    output_types: {{{out}}}
  - id: b
    path: b.py
    inputs: {{i: a/o, t: dora/timer/secs/1}}
    input_types: {{{into}}}
"""


@pytest.mark.parametrize(
    ('out', 'into', 'expected'),
    [
        ('o: std/core/v1/Float32', 'i: std/core/v1/Float32', []),
        ('o: std/core/v1/Float32', 'i: std/core/v1/Float64', []),
        ('o: std/core/v1/Float32', 'i: std/core/v1/Bytes', []),
        ('o: std/media/v1/Image', '', []),
        ('', 'i: std/media/v1/Image', []),
        ('', 't: std/core/v1/UInt64', []),
        ('o: "std/media/v1/AudioFrame[sample_type=f32]"', 'i: std/media/v1/AudioFrame', []),
        ('o: std/core/v1/Float64', 'i: std/core/v1/Float32', ['9:19: warning: node `b`: input `i` is of type std/core/v1/Float32, and `a/o` gives std/core/v1/Float64']),
        ('o: "std/media/v1/AudioFrame[sample_type=f32]"', 'i: "std/media/v1/AudioFrame[sample_type=i16]"', ['9:19: warning: node `b`: input `i` is of type std/media/v1/AudioFrame[sample_type=i16], and `a/o` gives std/media/v1/AudioFrame[sample_type=f32]']),
        ('', 't: std/core/v1/String', ['9:19: warning: node `b`: input `t` is of type std/core/v1/String, and `dora/timer/secs/1` gives std/core/v1/UInt64']),
        ('o: std/media/v1/Imag', 'i: std/media/v1/Image', ['5:20: warning: node `a`: there is no type `std/media/v1/Imag`; did you mean `std/media/v1/Image`?']),
        ('o: "x[y"', '', ['5:20: warning: node `a`: `x[y` is not the name of a type; write it as std/core/v1/Float32 or name[parameter=value]']),
        ('q: std/core/v1/Bool', '', ['5:20: warning: node `a`: `output_types` names `q`, which is no output of the node']),
        ('', 'x: std/core/v1/Bool', ['9:19: warning: node `b`: `input_types` names `x`, which is no input of the node']),
    ],
)  # fmt: skip
def test_types_of_an_edge(check: Check, out: str, into: str, expected: list[str]) -> None:
    assert check(FLOW.format(out=out, into=into)) == expected


def test_strict_types_makes_errors_of_them(check: Check) -> None:
    text = FLOW.format(out='o: std/core/v1/Float64', into='i: std/core/v1/Float32') + 'strict_types: true\n'
    (problem,) = check(text)
    assert problem.startswith('9:19: error: node `b`: input `i` is of type std/core/v1/Float32, and')
    text = FLOW.format(out='', into='i: std/core/v1/Float32') + 'strict_types: true\n'
    words = 'input `i` is of type std/core/v1/Float32, and `a/o` has no type; give it `output_types`'
    assert check(text) == [f'9:19: error: node `b`: {words}']


def test_what_is_said_elsewhere_counts_more_than_the_file(folder: Path) -> None:
    text = FLOW.format(out='o: std/core/v1/Float64', into='i: std/core/v1/Float32') + 'exit_when_nodes_finish: true\n'
    kept = loads(text, path=folder / 'robot.yml', overrides={'exit_when_nodes_finish': False})
    assert kept.exit_when_nodes_finish is False
    assert len(kept.warnings) == 1
    with pytest.raises(DataflowErrors):
        loads(text, path=folder / 'robot.yml', overrides={'strict_types': True})


def test_rules_and_types_of_the_dataflow(check: Check, folder: Path) -> None:
    (folder / 'types' / 'robot').mkdir(parents=True)
    (folder / 'types' / 'robot' / 'v1.yml').write_text('types: {Scan: {arrow: Struct}}', encoding='utf-8')
    text = FLOW.format(out='o: robot/v1/Scan', into='i: std/math/v1/Pose')
    assert len(check(text)) == 1
    assert check(f'{text}type_rules: [{{from: robot/v1/Scan, to: std/math/v1/Pose}}]\n') == []
    (folder / 'types' / 'bad.yml').write_text('types: {X: {}}', encoding='utf-8')
    bad = [problem for problem in check(text) if 'bad.yml' in problem]
    assert bad == ['<folder>/types/bad.yml:1:12: error: type `X` needs `arrow`, the name of its Arrow type']


def test_types_of_operators(check: Check) -> None:
    text = (
        'nodes:\n'
        '  - id: a\n    operator: {python: a.py, outputs: [o], output_types: {o: std/core/v1/String}}\n'
        '  - id: b\n    operator: {python: b.py, inputs: {i: a/o}, input_types: {i: std/core/v1/Bool}}\n'
    )
    words = 'input `op/i` is of type std/core/v1/Bool, and `a/op/o` gives std/core/v1/String'
    assert check(text) == [f'5:62: warning: node `b`: {words}']


def test_output_metadata_names_outputs(check: Check) -> None:
    node = 'nodes:\n  - {id: a, path: a.py, outputs: [o], output_metadata: {p: [request_id]}}\n'
    assert check(node) == ['2:57: warning: node `a`: `output_metadata` names `p`, which is no output of the node']


names = st.sampled_from(sorted(STANDARD)) | st.sampled_from([f't{number}' for number in range(6)])
rules = st.lists(st.tuples(names, names), max_size=8)


@given(rules=rules, name=names, other=names)
def test_every_type_feeds_itself_and_bytes(rules: list[tuple[str, str]], name: str, other: str) -> None:
    types = Types((), rules)
    assert types.compatible(name, name)
    assert types.compatible(name, BYTES)
    if (name, other) in rules:
        assert types.compatible(name, other)


@given(rules=rules, more=rules, source=names, target=names)
def test_a_further_rule_takes_nothing_away(
    rules: list[tuple[str, str]], more: list[tuple[str, str]], source: str, target: str
) -> None:
    if Types((), rules).compatible(source, target):
        assert Types((), [*rules, *more]).compatible(source, target)


@given(length=st.integers(1, 8))
def test_so_many_rules_follow_one_another(length: int) -> None:
    chain = [(f't{number}', f't{number + 1}') for number in range(length)]
    assert Types((), chain).compatible('t0', f't{length}') is (length <= STEPS)


@given(base=st.from_regex(r'[a-z/]{1,9}', fullmatch=True), parameters=st.dictionaries(st.from_regex(r'\w+', fullmatch=True), st.from_regex(r'\w+', fullmatch=True), min_size=1, max_size=3))  # fmt: skip
def test_names_are_read_as_they_are_written(base: str, parameters: dict[str, str]) -> None:
    urn = parse_urn(f'{base}[{", ".join(f"{name}={value}" for name, value in parameters.items())}]')
    assert urn is not None
    assert (urn.base, urn.parameters) == (base, parameters)
