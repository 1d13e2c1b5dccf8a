"""What a valid file means."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import (
    Dataflow,
    DataflowError,
    NodeKind,
    NodeSource,
    OnGiveUp,
    QosSpec,
    QueuePolicy,
    RestartPolicy,
    RestartSpec,
    RestartStrategy,
    TimerSource,
    TopicSource,
    load,
    loads,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dataflow.conftest import Check, Make


def test_defaults(make: Make, folder: Path) -> None:
    dataflow = make('nodes:\n  - id: a\n    path: a.py\n    inputs: {t: dora/timer/secs/1}\n    outputs: [o]\n')
    assert (dataflow.name, dataflow.namespace) == ('robot', '/robot')
    assert (dataflow.file, dataflow.directory) == (folder / 'robot.yml', folder)
    assert dataflow.health_check_interval == 5.0
    assert dataflow.restart_strategy is RestartStrategy.ONE_FOR_ONE
    assert dataflow.exit_when_nodes_finish is False
    assert dict(dataflow.env) == {}
    assert dataflow.warnings == ()
    node = dataflow.node('a')
    assert (node.name, node.full_name, node.kind) == ('a', '/robot/a', NodeKind.PATH)
    assert (node.path, node.program, node.args, node.ros) == ('a.py', folder / 'a.py', (), None)
    assert node.restart == RestartSpec(
        policy=RestartPolicy.NEVER, max_restarts=0, delay=None, max_delay=None, window=None
    )
    assert (node.health_check_timeout, node.startup_timeout, node.finish_grace) == (None, None, None)
    assert (node.stop_grace, node.on_give_up) == (10.0, OnGiveUp.IGNORE)
    assert (node.max_log_size, node.max_rotated_files, node.min_log_level) == (None, 5, None)
    assert (node.cpu_affinity, node.machine) == ((), None)
    port = node.input('t')
    assert (port.queue_size, port.queue_policy) == (10, QueuePolicy.DROP_OLDEST)
    assert (port.input_timeout, port.first_message_timeout) == (None, None)
    assert (port.topic, port.type, port.qos) == (None, None, None)
    output = node.output('o')
    assert (output.topic, output.type, output.qos) == ('/robot/a/o', None, None)


def test_every_key_of_a_node(make: Make) -> None:
    dataflow = make(
        'restart_strategy: rest_for_one\n'
        'health_check_interval: 0.5\n'
        'stop_grace: 3\n'
        'warm: false\n'
        'exit_when_nodes_finish: true\n'
        'nodes:\n'
        '  - id: a-1\n'
        '    name: The camera\n'
        '    description: |\n'
        '      sees\n'
        '    path: run\n'
        '    args: --rate 3 "two words"\n'
        '    restart_policy: on-failure\n'
        '    max_restarts: 3\n'
        '    restart_delay: 1\n'
        '    max_restart_delay: 8.5\n'
        '    restart_window: 6e1\n'
        '    health_check_timeout: 2\n'
        '    startup_timeout: 20\n'
        '    finish_grace_secs: 5\n'
        '    stop_grace: 1.5\n'
        '    on_give_up: stop_dataflow\n'
        '    outputs: [out, log]\n'
        '    send_stdout_as: out\n'
        '    send_logs_as: log\n'
        '    min_log_level: WARN\n'
        '    max_log_size: 1.5 KB\n'
        '    max_rotated_files: 2\n'
        '    cpu_affinity: [1, 0, 1]\n'
        '    warm: auto\n'
        '    deploy: {machine: B}\n'
        '  - {id: b, path: b.py}\n'
    )
    assert dataflow.restart_strategy is RestartStrategy.REST_FOR_ONE
    assert (dataflow.health_check_interval, dataflow.exit_when_nodes_finish) == (0.5, True)
    node = dataflow.node('a-1')
    assert (node.name, node.label, node.description) == ('a_1', 'The camera', 'sees\n')
    assert node.args == ('--rate', '3', 'two words')
    assert node.restart == RestartSpec(
        policy=RestartPolicy.ON_FAILURE, max_restarts=3, delay=1.0, max_delay=8.5, window=60.0
    )
    assert (node.health_check_timeout, node.startup_timeout, node.finish_grace) == (2.0, 20.0, 5.0)
    assert (node.stop_grace, node.on_give_up) == (1.5, OnGiveUp.STOP_DATAFLOW)
    assert (node.send_stdout_as, node.send_logs_as, node.min_log_level) == ('out', 'log', 'warn')
    assert (node.max_log_size, node.max_rotated_files) == (1536, 2)
    assert (node.cpu_affinity, node.machine) == ((1, 0), 'B')
    assert dataflow.node('b').stop_grace == 3.0
    assert (node.warm, dataflow.node('b').warm) == (None, False)
    assert dataflow.warnings == ()


@pytest.mark.parametrize(
    ('stem', 'name', 'expected'),
    [('robot', None, 'robot'), ('my-robot.v2', None, 'my_robot_v2'), ('2d', None, '_2d'), ('x', 'a b', 'a_b')],
)
def test_name_of_the_dataflow(folder: Path, stem: str, name: str | None, expected: str) -> None:
    dataflow = loads('nodes: [{id: a, path: a.py}]', path=folder / f'{stem}.yml', name=name)
    assert (dataflow.name, dataflow.namespace) == (expected, f'/{expected}')


def test_load_reads_relative_files_and_keeps_the_descriptor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / 'f.yaml').write_text('\ufeffnodes:\n  - {id: a, path: a.py, outputs: [o]}\n', encoding='utf-8')
    monkeypatch.chdir(folder)
    dataflow = load('f.yaml')
    assert dataflow.file == folder / 'f.yaml'
    assert dataflow.descriptor == {'nodes': [{'id': 'a', 'path': 'a.py', 'outputs': ['o']}]}
    assert dataflow == load(folder / 'f.yaml')


def test_everything_is_frozen(make: Make) -> None:
    dataflow = make('nodes: [{id: a, path: a.py}]')
    for value in (dataflow, dataflow.nodes[0], dataflow.nodes[0].restart):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, None)


def test_unknown_ids_name_the_nearest(make: Make) -> None:
    dataflow = make('nodes: [{id: camera, path: a.py, outputs: [image], inputs: {tick: dora/timer/hz/1}}]')
    with pytest.raises(DataflowError, match=r'^dataflow `robot` has no node `camra`; did you mean `camera`\?$'):
        dataflow.node('camra')
    with pytest.raises(DataflowError, match=r'^dataflow `robot` has no node `zzz`; known: camera$'):
        dataflow.node('zzz')
    with pytest.raises(DataflowError, match=r'^node `camera` has no output `imag`; did you mean `image`\?$'):
        dataflow.node('camera').output('imag')
    with pytest.raises(DataflowError, match=r'^node `camera` has no input `x`; known: tick$'):
        dataflow.node('camera').input('x')


def _inputs(make: Make, lines: str, outputs: str = '[image]') -> Dataflow:
    return make(
        f'nodes:\n  - id: cam\n    path: a.py\n    outputs: {outputs}\n'
        f'  - id: sink\n    path: b.py\n    inputs:\n      x: {lines}\n'
    )


def test_long_form_of_an_input(make: Make) -> None:
    text = (
        '{source: cam/image, queue_size: 1, queue_policy: backpressure, input_timeout: 0.2, first_message_timeout: 5}'
    )
    port = _inputs(make, text).node('sink').input('x')
    assert port.source == NodeSource(node='cam', output='image')
    assert str(port.source) == 'cam/image'
    assert port.topic == '/robot/cam/image'
    assert (port.queue_size, port.queue_policy) == (1, QueuePolicy.BACKPRESSURE)
    assert (port.input_timeout, port.first_message_timeout) == (0.2, 5.0)


@pytest.mark.parametrize('prefix', ['dora', 'adora'])
def test_timers_keep_their_text(make: Make, prefix: str) -> None:
    port = _inputs(make, f'{prefix}/timer/millis/100').node('sink').input('x')
    assert port.source == TimerSource(period=0.1, text=f'{prefix}/timer/millis/100')
    assert str(port.source) == f'{prefix}/timer/millis/100'
    assert port.topic is None


@pytest.mark.parametrize(
    ('text', 'topic'),
    [('/scan', '/scan'), ('scan', '/robot/scan'), ('front/scan', '/robot/front/scan'), ('~/scan', '/robot/sink/scan')],
)
def test_an_input_from_an_external_topic(make: Make, text: str, topic: str) -> None:
    flat = f'topic: {text}, type: sensor_msgs/LaserScan, qos: sensor_data'
    for form in (f'{{{flat}, queue_size: 2}}', f'{{source: {{{flat}}}, queue_size: 2}}'):
        port = _inputs(make, form).node('sink').input('x')
        qos = QosSpec(reliability='best_effort', durability='volatile', history='keep_last', depth=5)
        assert port.source == TopicSource(topic=topic, type='sensor_msgs/msg/LaserScan', qos=qos)
        assert (str(port.source), port.topic, port.queue_size) == (topic, topic, 2)
        assert (port.type, port.qos) == ('sensor_msgs/msg/LaserScan', qos)


def test_an_input_bound_to_the_topic_of_an_output_is_an_edge(make: Make) -> None:
    port = (
        _inputs(make, '{topic: /front}', outputs='{image: {topic: /front, type: sensor_msgs/Image}}')
        .node('sink')
        .input('x')
    )
    assert port.source == NodeSource(node='cam', output='image')
    assert (port.topic, port.type) == ('/front', 'sensor_msgs/msg/Image')


def test_a_topic_of_several_outputs_stays_a_topic(make: Make) -> None:
    dataflow = make(
        'nodes:\n'
        '  - {id: a, path: a.py, outputs: [{id: o, topic: /tf, type: tf2_msgs/TFMessage}]}\n'
        '  - {id: b, path: a.py, outputs: {o: {topic: /tf, type: tf2_msgs/TFMessage}}}\n'
        '  - {id: c, path: a.py, inputs: {x: {topic: /tf}, y: b/o}}\n'
    )
    node = dataflow.node('c')
    assert node.input('x').source == TopicSource(topic='/tf', type='tf2_msgs/msg/TFMessage')
    assert node.input('y').source == NodeSource(node='b', output='o')


def test_an_input_takes_type_and_qos_of_its_output(make: Make) -> None:
    output = '{image: {type: sensor_msgs/Image, qos: {reliability: best_effort, depth: 2}}}'
    port = _inputs(make, 'cam/image', outputs=output).node('sink').input('x')
    assert port.type == 'sensor_msgs/msg/Image'
    assert port.qos == QosSpec(reliability='best_effort')
    assert port.qos.as_dict() == {'reliability': 'best_effort'}
    port = _inputs(make, '{source: cam/image, qos: {depth: 7}}', outputs=output).node('sink').input('x')
    assert port.qos == QosSpec(reliability='best_effort', depth=7)


def test_a_qos_starts_from_its_profile(make: Make) -> None:
    port = _inputs(make, '{topic: /map, qos: {profile: latched, depth: 3}}').node('sink').input('x')
    assert port.qos == QosSpec(reliability='reliable', durability='transient_local', history='keep_last', depth=3)


def test_outputs_of_operators_keep_their_slash(make: Make) -> None:
    dataflow = _inputs(make, 'cam/op/sta-tus', outputs='[op/sta-tus]')
    assert dataflow.node('sink').input('x').topic == '/robot/cam/op/sta_tus'


def test_environment(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ADORA_PORT', '8080')
    monkeypatch.setenv('ADORA_EMPTY', '')
    dataflow = make(
        'env: {A: root, B: root, C: root, PORT: $ADORA_PORT, EXTRA: "${GIVEN}"}\n'
        'nodes:\n'
        '  - id: a\n'
        '    path: a.py\n'
        '    env:\n'
        '      B: node\n'
        '      C: node\n'
        '      INT: 7\n'
        '      FLOAT: 1.0\n'
        '      BIG: 1e21\n'
        '      SMALL: 1.5e-7\n'
        '      BOOL: true\n'
        '      WORD: no\n'
        '      TEXT: "007"\n'
        '      URL: "http://h:${ADORA_PORT}/x"\n'
        '      DEFAULT: "${ADORA_NOT_SET:-a b}"\n'
        '      EMPTY: "${ADORA_EMPTY:-x}"\n'
        '      DOLLAR: "a$$b $ c"\n'
        '  - {id: b, path: b.py}\n',
        env={'A': 'given', 'C': 'given', 'GIVEN': 'yes'},
    )
    root = {'A': 'given', 'B': 'root', 'C': 'given', 'PORT': '8080', 'EXTRA': 'yes', 'GIVEN': 'yes'}
    assert dict(dataflow.env) == root
    assert dict(dataflow.node('b').env) == root
    assert dict(dataflow.node('a').env) == {
        **root,
        'B': 'node',
        'C': 'node',
        'INT': '7',
        'FLOAT': '1',
        'BIG': '1000000000000000000000',
        'SMALL': '0.00000015',
        'BOOL': 'true',
        'WORD': 'no',
        'TEXT': '007',
        'URL': 'http://h:8080/x',
        'DEFAULT': 'a b',
        'EMPTY': '',
        'DOLLAR': 'a$b $ c',
    }


def test_programs(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = folder / 'tools'
    tools.mkdir()
    for name in ('tool', 'run'):
        (tools / name).touch(mode=0o755)
    monkeypatch.setenv('PATH', str(tools))
    monkeypatch.setenv('ADORA_TOOLS', str(tools))
    dataflow = make(
        'nodes:\n'
        '  - {id: bare, path: tool}\n'
        '  - {id: near, path: run}\n'
        '  - {id: dotted, path: ./tools/../run}\n'
        f'  - {{id: absolute, path: {tools}/tool}}\n'
        '  - {id: variable, path: $ADORA_TOOLS/tool}\n'
        '  - {id: script, path: ./a.py}\n'
    )
    assert {node.id: node.program for node in dataflow.nodes} == {
        'bare': tools / 'tool',
        'near': folder / 'run',
        'dotted': folder / 'run',
        'absolute': tools / 'tool',
        'variable': tools / 'tool',
        'script': folder / 'a.py',
    }
    assert dataflow.node('variable').path == f'{tools}/tool'


def test_deploy(make: Make, check: Check) -> None:
    text = (
        'deploy: {machine: A}\n'
        'nodes:\n'
        '  - {id: a, path: a.py}\n'
        '  - {id: b, path: gone, _unstable_deploy: {machine: B}}\n'
    )
    assert [node.machine for node in make(text).nodes] == ['A', 'B']
    assert make(text).node('b').program == make(text).directory / 'gone'
    assert check(text) == [
        (
            '4:19: warning: node `b`: there is no file `<folder>/gone`, nor a program of that name on PATH '
            'on this machine; `B` must have it'
        )
    ]


def test_merge_keys(make: Make, check: Check) -> None:
    text = (
        'nodes:\n'
        '  - &first\n'
        '    id: a\n'
        '    path: a.py\n'
        '    restart_policy: on-failure\n'
        '    max_restarts: 3\n'
        '  - <<: *first\n'
        '    id: b\n'
        '    max_restarts: 4\n'
    )
    assert [(node.id, node.restart.max_restarts) for node in make(text).nodes] == [('a', 3), ('b', 4)]
    assert check(text.replace('max_restarts: 3', 'max_restarts: x')) == [
        '6:19: error: node `a`: `max_restarts` must be a whole number, got the text "x"'
    ]
    assert check(text.replace('on-failure', 'x'))[1].startswith('5:21: error: node `b`: `restart_policy` must be ')


def test_how_large_values_travel(make: Make) -> None:
    node = 'nodes:\n  - id: a\n    path: a.py\n    outputs: {o: {inline: always}, p: {inline: auto}, q: null}\n'
    limits = [make(f'{root}{node}').shared_memory_limit for root in ('', 'shared_memory_limit: 2KB\n')]
    assert limits == [None, 2048]
    dataflow = make(f'shared_memory_limit: 0\n{node}')
    assert dataflow.shared_memory_limit == 0
    assert [output.inline for output in dataflow.node('a').outputs] == [True, False, False]
