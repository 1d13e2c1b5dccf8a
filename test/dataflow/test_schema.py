"""The JSON Schema, and that no text whatever gets past validation in any other way than an error with a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.dataflow import Dataflow, DataflowErrors, Problem, json_schema, loads
from adora_ros.dataflow.portschema import InputYaml
from adora_ros.dataflow.schema import NodeYaml, RootYaml, keys_of

DORA_ROOT = [
    'nodes',
    'deploy',
    'debug',
    'health_check_interval',
    'strict_types',
    'exit_when_nodes_finish',
    'type_rules',
    'env',
]
DORA_NODE = [
    'id',
    'name',
    'description',
    'path',
    'path_sha256',
    'args',
    'env',
    'operators',
    'operator',
    'ros2',
    'outputs',
    'output_types',
    'output_framing',
    'inputs',
    'input_types',
    'output_metadata',
    'pattern',
    'send_stdout_as',
    'send_logs_as',
    'min_log_level',
    'max_log_size',
    'max_rotated_files',
    'build',
    'git',
    'hub',
    'branch',
    'tag',
    'rev',
    'restart_policy',
    'shared_memory_pool_size',
    'max_restarts',
    'restart_delay',
    'max_restart_delay',
    'restart_window',
    'health_check_timeout',
    'startup_timeout',
    'finish_grace_secs',
    'module',
    'params',
    'cpu_affinity',
    'deploy',
]
DORA_INPUT = ['source', 'queue_size', 'input_timeout', 'queue_policy']


def test_every_key_of_dora_is_known() -> None:
    assert set(DORA_ROOT) <= set(keys_of(RootYaml))
    assert set(DORA_NODE) <= set(keys_of(NodeYaml))
    assert set(DORA_INPUT) <= set(keys_of(InputYaml))


def test_our_additions() -> None:
    assert set(keys_of(RootYaml)) - set(DORA_ROOT) == {
        'restart_strategy',
        'shared_memory_limit',
        'stop_grace',
        'warm',
        '_unstable_deploy',
    }
    assert set(keys_of(NodeYaml)) - set(DORA_NODE) == {'ros', 'on_give_up', 'stop_grace', 'warm', '_unstable_deploy'}
    assert set(keys_of(InputYaml)) - set(DORA_INPUT) == {'topic', 'type', 'qos', 'first_message_timeout'}


def test_json_schema() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert schema['$schema'] == 'https://json-schema.org/draft/2020-12/schema'
    assert schema['title'] == 'adora_ros dataflow'
    assert schema['additionalProperties'] is False
    assert schema['required'] == ['nodes']
    assert set(schema['properties']) == set(keys_of(RootYaml))
    node = schema['$defs']['NodeYaml']
    assert set(node['properties']) == set(keys_of(NodeYaml))
    assert node['required'] == ['id']
    assert {'minimum': 0, 'maximum': 2**32 - 1, 'type': 'integer'} in node['properties']['max_restarts']['anyOf']
    assert {'enum': ['never', 'on-failure', 'always'], 'type': 'string'} in node['properties']['restart_policy'][
        'anyOf'
    ]
    assert (
        node['properties']['restart_policy']['description'] == 'When the node is started again after its process ended.'
    )


WORDS = st.sampled_from(
    [
        '',
        *[
            'a',
            'b',
            'a/o',
            'b/o',
            'o',
            'dora/timer/millis/10',
            'dora/logs',
            'a.py',
            'always',
            'never',
            '~',
            '$X',
            '{}',
            '1',
            '/t',
        ],
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            WORDS | st.sampled_from([*DORA_INPUT, 'topic', 'type', 'qos', 'id', 'executable']), inner, max_size=4
        )
    ),
    max_leaves=8,
)
NODES = st.dictionaries(st.sampled_from([*keys_of(NodeYaml), 'x']), VALUES, max_size=8)
GRAPHS = st.fixed_dictionaries(
    {'id': st.sampled_from('ab') | WORDS, 'path': st.just('sh')},
    optional={
        'outputs': st.lists(WORDS, max_size=3) | st.dictionaries(WORDS, VALUES, max_size=2) | VALUES,
        'inputs': st.dictionaries(WORDS, WORDS | VALUES, max_size=3),
        'ros': VALUES,
        'restart_policy': WORDS,
    },
)
FILES = st.fixed_dictionaries(
    {'nodes': st.lists(NODES | GRAPHS | VALUES, max_size=4)},
    optional={key: VALUES for key in [*keys_of(RootYaml), 'y'] if key != 'nodes'},
)


def _outcome(text: str) -> Dataflow | tuple[Problem, ...]:
    try:
        return loads(text, path=Path('/nowhere/f.yml'))
    except DataflowErrors as errors:
        return errors.problems


def _assert_places(problems: tuple[Problem, ...], text: str) -> None:
    lines = text.split('\n')
    for problem in problems:
        assert 1 <= problem.line <= max(len(lines), 1)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert '\n' not in str(problem)


@given(data=FILES | VALUES, block=st.booleans())
def test_any_file_is_valid_or_has_errors_with_a_place(data: Any, block: bool) -> None:  # noqa: FBT001
    text = yaml.safe_dump(data, default_flow_style=not block, allow_unicode=True, sort_keys=False)
    outcome = _outcome(text)
    assert _outcome(text) == outcome
    if isinstance(outcome, Dataflow):
        _assert_places(outcome.warnings, text)
        assert [node.id for node in outcome.nodes] == [node['id'] for node in data['nodes']]
    else:
        _assert_places(outcome, text)
        assert any(problem.severity == 'error' for problem in outcome)


IDS = st.lists(st.from_regex(r'[a-c][a-z0-9_]{0,3}', fullmatch=True), unique=True, max_size=4)


@st.composite
def valid_files(draw: st.DrawFn) -> dict[str, Any]:
    outputs = {f'n_{name}': draw(IDS) for name in draw(IDS.filter(bool))}
    sources = [f'{node}/{output}' for node, ports in outputs.items() for output in ports] + ['adora/timer/hz/5']
    inputs = st.dictionaries(st.sampled_from('xyz'), st.sampled_from(sources), max_size=3)
    as_list = draw(st.booleans())
    return {
        'nodes': [
            {'id': node, 'path': 'sh', 'outputs': ports if as_list else dict.fromkeys(ports), 'inputs': draw(inputs)}
            for node, ports in outputs.items()
        ]
    }


@given(valid_files())
def test_a_valid_file_is_what_it_says(data: dict[str, Any]) -> None:
    dataflow = loads(yaml.safe_dump(data, sort_keys=False), path=Path('/nowhere/f.yml'))
    assert dataflow.warnings == ()
    assert dataflow.descriptor == data
    for written, node in zip(data['nodes'], dataflow.nodes, strict=True):
        assert node.id == written['id']
        assert [port.id for port in node.outputs] == list(written['outputs'])
        assert {port.id: str(port.source) for port in node.inputs} == written['inputs']
    topics = [port.topic for node in dataflow.nodes for port in node.outputs]
    assert len(set(topics)) == len(topics)


@given(st.text(alphabet='abc:-[]{}&*!|>\'"%@`#,?<~ \n\t\x00é0.', max_size=60))
def test_any_text_is_valid_or_has_errors_with_a_place(text: str) -> None:
    with pytest.raises(DataflowErrors) as caught:
        loads(text, path=Path('f.yml'))
    assert caught.value.problems
