"""Modules: files with nodes that a dataflow uses as one."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adora_ros.dataflow import Dataflow, DataflowErrors, InputSpec, loads

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dataflow.conftest import Check

Files = dict[str, str]

INNER = """\
module: {name: inner, inputs: [raw], inputs_optional: [more], outputs: [clean]}
nodes:
  - id: first
    path: first.py
    args: --scale ${_param.scale} $PARAM_UNIT ${_param.other}
    env: {OWN: 1}
    inputs: {a: {source: _mod/raw, queue_size: 3}, b: _mod/more}
    outputs: [half]
  - id: second
    path: sub/second.py
    inputs: {half: first/half, tick: dora/timer/secs/1}
    outputs: [clean]
"""
OUTER = """\
module: {name: outer, inputs: [in], outputs: [clean, done]}
build: make outer
nodes:
  - id: stage
    module: deep/inner.yml
    params: {scale: '2', unit: mm}
    inputs: {raw: _mod/in}
  - id: last
    operator: {python: last.py, inputs: {x: stage/clean}, outputs: [done], build: make last}
"""
FLOW = """\
nodes:
  - {id: src, path: a.py, outputs: [o]}
  - id: m
    module: modules/outer.yml
    env: {OWN: 2, MORE: 3}
    deploy: {machine: A}
    inputs: {in: {source: src/o, queue_size: 7, input_timeout: 2}}
  - {id: sink, path: a.py, inputs: {clean: m/clean, done: m/done, level: dora/logs/info/m.last}}
"""


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding='utf-8')


@pytest.fixture
def tree(folder: Path) -> Callable[[Files], Dataflow]:
    """Return what loads a dataflow that is written with its modules."""

    def load(files: Files) -> Dataflow:
        scripts = ('modules/deep/first.py', 'modules/deep/sub/second.py', 'modules/last.py')
        write(
            folder, {**dict.fromkeys(scripts, ''), 'modules/outer.yml': OUTER, 'modules/deep/inner.yml': INNER, **files}
        )
        return loads(files.get('robot.yml', FLOW), path=folder / 'robot.yml')

    return load


def _input(dataflow: Dataflow, node: str, port: str) -> InputSpec:
    return dataflow.node(node).input(port)


def test_nested_modules_become_nodes(tree: Callable[[Files], Dataflow]) -> None:
    dataflow = tree({})
    assert [node.id for node in dataflow.nodes] == ['src', 'm.stage.first', 'm.stage.second', 'm.last', 'sink']
    assert [node.full_name for node in dataflow.nodes][1:4] == [
        '/robot/m_stage_first',
        '/robot/m_stage_second',
        '/robot/m_last',
    ]
    first, second = dataflow.node('m.stage.first'), dataflow.node('m.stage.second')
    assert (first.path, second.path) == ('modules/deep/first.py', 'modules/deep/sub/second.py')
    assert dataflow.node('m.last').operators[0].source == dataflow.directory / 'modules' / 'last.py'
    assert first.args == ('--scale', '2', 'mm', '${_param.other}')
    assert dict(first.env) == {'OWN': '1', 'MORE': '3', 'PARAM_SCALE': '2', 'PARAM_UNIT': 'mm'}
    assert {node.machine for node in dataflow.nodes} == {None, 'A'}
    (only,) = first.inputs
    assert (only.id, str(only.source), only.queue_size, only.input_timeout) == ('a', 'src/o', 3, 2.0)
    assert str(_input(dataflow, 'm.stage.second', 'half').source) == 'm.stage.first/half'
    assert str(_input(dataflow, 'm.last', 'op/x').source) == 'm.stage.second/clean'
    assert str(_input(dataflow, 'sink', 'clean').source) == 'm.stage.second/clean'
    assert str(_input(dataflow, 'sink', 'done').source) == 'm.last/op/done'
    assert [node['id'] for node in dataflow.descriptor['nodes']] == [node.id for node in dataflow.nodes]


@pytest.mark.parametrize(
    ('file', 'old', 'new', 'expected'),
    [
        ('robot.yml', 'modules/outer.yml', 'modules/other.yml', 'robot.yml:4:13: error: node `m`: there is no module file `<folder>/modules/other.yml`'),
        ('robot.yml', 'modules/outer.yml', '/x.yml', 'robot.yml:4:13: error: node `m`: the module path `/x.yml` must be relative'),
        ('robot.yml', 'm/clean', 'm/claen', 'robot.yml:8:44: error: node `sink`: input `clean`: the module `m` has no output `claen`; did you mean `clean`?'),
        ('robot.yml', '{in: {', '{inn: {', 'robot.yml:3:5: error: node `m`: the module `outer` needs the input `in`; give it a source\nrobot.yml:7:14: error: node `m`: the module `outer` has no input `inn`; did you mean `in`?'),
        ('robot.yml', 'src/o,', 'src/x,', 'robot.yml:7:27: error: node `m.stage.first`: input `a`: node `src` has no output `x`; it has `o`'),
        ('robot.yml', '    env:', '    restart_policy: always\n    env:', 'robot.yml:5:5: error: node `m`: `restart_policy` has no place beside `module`; give it to the nodes of the module'),
        ('robot.yml', '    env:', '    pat: always\n    env:', 'robot.yml:5:5: error: node `m`: unknown key `pat`; did you mean `path`?'),
        ('modules/outer.yml', 'deep/inner.yml', '../modules/outer.yml', 'modules/outer.yml:5:13: error: node `m.stage`: the modules include each other in a circle: outer.yml -> outer.yml'),
        ('modules/outer.yml', 'raw: _mod/in', 'raw: _mod/on', 'modules/outer.yml:7:19: error: node `m.stage`: input `raw`: the module has no input `on`'),
        ('modules/outer.yml', 'clean, done]', 'clean, none]', 'modules/outer.yml:1:54: error: output `none`: no node of the module has it'),
        ('modules/outer.yml', 'name: outer', 'nam: outer', 'modules/outer.yml:1:10: error: unknown key `nam`; did you mean `name`?\nmodules/outer.yml:1:9: error: `name` is missing'),
        ('modules/outer.yml', 'scale:', 's-c:', 'modules/outer.yml:6:14: error: node `m.stage`: `s-c` is not the name of a parameter; use letters, digits and _'),
        ('modules/deep/inner.yml', 'outputs: [half]', 'outputs: [clean]', 'modules/deep/inner.yml:1:73: error: output `clean`: several nodes of the module have it: m.stage.first/clean, m.stage.second/clean'),
        ('modules/deep/inner.yml', 'queue_size: 3', 'queue_size: x', 'modules/deep/inner.yml:7:48: error: node `m.stage.first`: input `a`: `queue_size` must be a whole number, got the text "x"'),
        ('modules/deep/inner.yml', 'nodes:', 'nodes: [', 'modules/deep/inner.yml:3:3: error: not valid YAML: while parsing a flow node'),
    ],
)  # fmt: skip
def test_errors_are_where_they_are_written(
    tree: Callable[[Files], Dataflow], folder: Path, file: str, old: str, new: str, expected: str
) -> None:
    texts = {'robot.yml': FLOW, 'modules/outer.yml': OUTER, 'modules/deep/inner.yml': INNER}
    assert old in texts[file]
    with pytest.raises(DataflowErrors) as caught:
        tree({file: texts[file].replace(old, new)})
    lines = [line.removeprefix(f'{folder}/').replace(str(folder), '<folder>') for line in str(caught.value).split('\n')]
    assert sorted(lines) == sorted(expected.split('\n')) or (len(lines) == 1 and lines[0].startswith(expected))


def test_a_module_is_not_a_dataflow(check: Check) -> None:
    words = 'this file is a module; name it in the `module` of a node, and check the dataflow that has the node'
    assert check(INNER) == [f'1:1: error: {words}']


def test_a_circle_through_two_files(folder: Path) -> None:
    module = 'module: {{name: x, inputs: [], outputs: []}}\nnodes: [{{id: n, module: {0}}}]\n'
    write(folder, {'a.yml': module.format('b.yml'), 'b.yml': module.format('a.yml')})
    with pytest.raises(DataflowErrors) as caught:
        loads('nodes: [{id: m, module: a.yml}]', path=folder / 'robot.yml')
    words = 'node `m.n.n`: the modules include each other in a circle: a.yml -> b.yml -> a.yml'
    assert str(caught.value) == f'{folder}/b.yml:2:25: error: {words}'


@given(depths=st.lists(st.integers(0, 4), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_chain_is_the_same_chain_however_deep_its_stages_are(folder: Path, depths: list[int]) -> None:
    def stage(source: str) -> dict[str, Any]:
        return {'id': 'n', 'path': str(folder / 'a.py'), 'inputs': {'i': source}, 'outputs': ['o']}

    nodes: list[dict[str, Any]] = [{'id': 's', 'path': 'a.py', 'outputs': ['o']}]
    for number, depth in enumerate(depths):
        node, source = stage('_mod/i'), f'{nodes[-1]["id"]}/o'
        for level in range(depth):
            content = {'module': {'name': 'x', 'inputs': ['i'], 'outputs': ['o']}, 'nodes': [node]}
            write(folder, {f'{number}-{level}.yml': yaml.safe_dump(content)})
            node = {'id': 'n', 'module': f'{number}-{level}.yml', 'inputs': {'i': '_mod/i'}}
        nodes.append({**node, 'id': f'n{number}', 'inputs': {'i': source}})
    dataflow = loads(yaml.safe_dump({'nodes': nodes}), path=folder / 'robot.yml')
    ids = ['s', *('.'.join([f'n{number}', *['n'] * depth]) for number, depth in enumerate(depths))]
    assert [node.id for node in dataflow.nodes] == ids
    assert [str(node.input('i').source) for node in dataflow.nodes[1:]] == [f'{node}/o' for node in ids[:-1]]
