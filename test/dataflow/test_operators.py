"""Nodes with operators."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import NodeKind, NodeSource, loads

if TYPE_CHECKING:
    from pathlib import Path

    from dataflow.conftest import Check


def test_ports_are_named_after_their_operator(tmp_path: Path) -> None:
    (tmp_path / 'a.py').touch()
    (tmp_path / 'b.py').touch()
    dataflow = loads(
        'nodes:\n'
        '  - id: two\n    operators:\n'
        '      - {id: x, python: a.py, inputs: {in: one/out}, outputs: [o, {id: p, type: std_msgs/String}], send_stdout_as: o}\n'
        '      - {id: y, python: {source: b.py}, outputs: {o: {topic: /given}}}\n'
        '  - id: one\n    operator: {python: a.py, inputs: {i: two/x/o, t: dora/timer/secs/1}, outputs: [out]}\n'
        '  - id: sink\n    path: a.py\n    inputs: {a: one/out, b: one/op/out, c: two/y/o}\n',
        path=tmp_path / 'f.yml',
    )
    two, one, sink = dataflow.nodes
    assert [(o.id, o.source.name) for o in two.operators] == [('x', 'a.py'), ('y', 'b.py')]
    assert {two.kind, one.kind} == {NodeKind.OPERATORS}
    assert [port.id for port in two.inputs + one.inputs] == ['x/in', 'op/i', 'op/t']
    assert [port.topic for port in two.outputs] == ['/f/two/x/o', '/f/two/x/p', '/given']
    assert [port.type for port in two.outputs] == [None, 'std_msgs/msg/String', None]
    assert (two.send_stdout_as, two.output('x/o').by_manager) == ('x/o', True)
    assert two.input('x/in').source == NodeSource(node='one', output='op/out')
    assert {str(port.source) for port in sink.inputs} == {'one/op/out', 'two/y/o'}


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('operator: {python: a.py, inputs: {x: b/o}}', '3:42: error: node `n`: input `op/x`: there is no node `b`'),
        ('operator: {python: c.py}', '3:24: error: node `n`: there is no file `<folder>/c.py`'),
        ('operator: {inputs: {}}', '3:15: error: node `n`: the operator has nothing to run; give it `python: file.py`'),
        ('operator: {shared-library: x}', '3:16: error: node `n`: operators in shared libraries are not supported; make it a node with a `path`'),
        ('operator: {wasm: x}', '3:16: error: node `n`: operators in WebAssembly are not supported; make it a node with a `path`'),
        ('operator: {python: {source: a.py, conda_env: x}}', '3:39: error: node `n`: `conda_env` is not supported; run adora in that environment, or make it a node whose `path` is its python'),
        ('operator: {python: https://x.org/a.py}', '3:24: error: node `n`: a URL as the source of an operator is not supported; fetch the file yourself'),
        ('operator: {python: a.py, inptus: {}}', '3:30: error: node `n`: unknown key `inptus`; did you mean `inputs`?'),
        ('operators: [{python: a.py}]', '3:17: error: node `n`: `id` is missing'),
        ('operators: [{id: x/y, python: a.py}]', '3:22: error: node `n`: the operator id `x/y` must not have a slash in it'),
        ('operator: {python: a.py}\n    inputs: {x: dora/timer/secs/1}', '4:5: error: node `n`: `inputs` belongs to an operator of the node'),
        ('operator: {python: a.py}\n    path: a.py', '4:5: error: node `n`: `path` and operators exclude each other; remove one'),
    ],
)  # fmt: skip
def test_errors(check: Check, lines: str, expected: str) -> None:
    problems = [line for line in check(f'nodes:\n  - id: n\n    {lines}\n') if ': error: ' in line]
    assert problems == [expected]


def test_operators_of_one_node_that_feed_each_other(check: Check) -> None:
    text = (
        'nodes:\n  - id: n\n    operators:\n'
        '      - {id: x, python: a.py, outputs: [o]}\n      - {id: y, python: a.py, inputs: {i: n/x/o}}\n'
    )
    (problem,) = check(text)
    assert problem.startswith('5:40: warning: node `n`: input `y/i`: an operator of the same node feeds it')


def test_the_same_operator_twice(check: Check) -> None:
    twice = '{id: x, python: a.py}'
    words = 'error: node `n`: the operator id `x` is given twice'
    assert check(f'nodes:\n  - id: n\n    operators: [{twice}, {twice}]\n') == [f'3:22: {words}', f'3:45: {words}']
