"""The pieces: scalars, names, sources, sizes, environment variables."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.dataflow import LogSource, NodeSource, TimerSource, ros_name
from adora_ros.dataflow.names import message_type, resolve_topic
from adora_ros.dataflow.sources import parse_source
from adora_ros.dataflow.values import byte_size, env_text, expand
from adora_ros.dataflow.yamltree import parse


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('no', 'no'), ('on', 'on'), ('yes', 'yes'), ('y', 'y'), ('true', True), ('False', False), ('tRUE', 'tRUE'),
        ('~', None), ('null', None), ('', None), ('"null"', 'null'),
        ('010', 10), ('0o10', 8), ('0x1F', 31), ('-7', -7), ('+7', 7), ('1_000', '1_000'), ('0b1', '0b1'),
        ('1e3', 1000.0), ('.5', 0.5), ('5.', 5.0), ('-1.5E-2', -0.015), ('.inf', math.inf), ('-.INF', -math.inf),
        ('1:30', '1:30'), ('2024-01-01', '2024-01-01'), ("'5'", '5'), ('!!str 5', '5'), ('1.2.3', '1.2.3'),
        ('<<', '<<'), ('=', '='), ('inf', 'inf'), ('nan', 'nan'),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    data = parse(f'x: {text}\n', Path('f.yml')).data
    assert data == {'x': value}
    assert type(data['x']) is type(value)


def test_nan() -> None:
    assert math.isnan(parse('x: .nan\n', Path('f.yml')).data['x'])


def test_places() -> None:
    tree = parse('a:\n  - b: 1\n    c: {d: x}\n', Path('f.yml'))
    assert tree.place(('a',)) == (2, 3)
    assert tree.place(('a',), key=True) == (1, 1)
    assert tree.place(('a', 0, 'b')) == (2, 8)
    assert tree.place(('a', 0, 'c', 'd')) == (3, 12)
    assert tree.place(('a', 0, 'c', 'd'), key=True) == (3, 9)
    assert tree.place(('a', 0, 'missing')) == (2, 5)
    assert tree.place(('nothing', 'here')) == (1, 1)


@pytest.mark.parametrize(
    ('text', 'name'),
    [('camera', 'camera'), ('front-cam.2', 'front_cam_2'), ('2d', '_2d'), ('', '_'), ('ä b', '__b'), ('_x', '_x')],
)
def test_ros_names(text: str, name: str) -> None:
    assert ros_name(text) == name


@given(st.text(max_size=40))
def test_every_text_becomes_a_ros_name_that_stays_the_same(text: str) -> None:
    name = ros_name(text)
    assert re.fullmatch(r'[A-Za-z_][A-Za-z0-9_]*', name)
    assert ros_name(name) == name


@pytest.mark.parametrize(
    ('text', 'topic'),
    [('/a/b', '/a/b'), ('a/b', '/ns/a/b'), ('~/a', '/ns/node/a'), ('~', '/ns/node')],
)
def test_topics(text: str, topic: str) -> None:
    assert resolve_topic(text, '/ns', 'node') == topic


def test_topics_of_a_node_in_the_root_namespace() -> None:
    assert resolve_topic('a', '/', 'node') == '/a'
    assert resolve_topic('~/a', '/', 'node') == '/node/a'


@pytest.mark.parametrize('text', ['', '/', '/a/', 'a//b', '/1a', 'a b', '~x', '/a-b', 'a~', '/' + 'x' * 247])
def test_topics_that_ros_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r'is not a ROS name|is longer than'):
        resolve_topic(text, '/ns', 'node')


@pytest.mark.parametrize('text', ['sensor_msgs/msg/Image', 'sensor_msgs/Image'])
def test_message_types(text: str) -> None:
    assert message_type(text) == 'sensor_msgs/msg/Image'


@pytest.mark.parametrize('text', ['Image', 'sensor_msgs/srv/Image', 'sensor_msgs/image', 'a/b/c/D', '', 'a/msg/'])
def test_message_types_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match='is not a message type'):
        message_type(text)


@pytest.mark.parametrize('prefix', ['dora', 'adora'])
@pytest.mark.parametrize(
    ('text', 'period'),
    [
        ('secs/5', 5.0), ('millis/100', 0.1), ('micros/250', 250e-6), ('nanos/1', 1e-9), ('nanos/1000000', 1e-3),
        ('hz/30', 1 / 30), ('hz/0.5', 2.0), ('hz/1e3', 1e-3), ('millis/+5', 5e-3), ('secs/010', 10.0),
    ],
)  # fmt: skip
def test_timers(prefix: str, text: str, period: float) -> None:
    source = parse_source(f'{prefix}/timer/{text}')
    assert isinstance(source, TimerSource)
    assert source.period == pytest.approx(period, rel=1e-12)
    assert str(source) == f'{prefix}/timer/{text}'


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('dora/timer', '`` is not a timer; write secs/N, millis/N, micros/N, nanos/N or hz/F'),
        ('dora/timer/secs', '`secs` is not a timer; write secs/N, millis/N, micros/N, nanos/N or hz/F'),
        ('dora/timer/sec/1', '`sec/1` is not a timer; write secs/N, millis/N, micros/N, nanos/N or hz/F; did you mean `secs`?'),
        ('dora/timer/secs/', 'secs takes a whole number, got ``'),
        ('dora/timer/secs/1.5', 'secs takes a whole number, got `1.5`'),
        ('dora/timer/millis/-1', 'millis takes a whole number, got `-1`'),
        ('dora/timer/millis/1/2', 'millis takes a whole number, got `1/2`'),
        ('dora/timer/millis/0', 'the period of the timer `millis/0` is 0 s; it must be from 1 ns to 1e+09 s'),
        ('dora/timer/secs/10000000000', 'the period of the timer `secs/10000000000` is 1e+10 s; it must be from 1 ns to 1e+09 s'),
        ('dora/timer/hz/0', 'hz takes a number above 0, got `0`'),
        ('dora/timer/hz/-3', 'hz takes a number above 0, got `-3`'),
        ('dora/timer/hz/nan', 'hz takes a number above 0, got `nan`'),
        ('dora/timer/hz/inf', 'hz takes a number above 0, got `inf`'),
        ('dora/timer/hz/1_0', 'hz takes a number above 0, got `1_0`'),
        ('dora/timer/hz/x', 'hz takes a number above 0, got `x`'),
        ('dora/timer/hz/1e10', 'the period of the timer `hz/1e10` is 1e-10 s; it must be from 1 ns to 1e+09 s'),
        ('dora/time/secs/1', '`dora/time/secs/1` is not a source: after `dora/` comes `timer` or `logs`; did you mean `timer`?'),
        ('adora/x', '`adora/x` is not a source: after `adora/` comes `timer` or `logs`'),
        ('dora/logs/loud', '`loud` is not a log level; use error, warn, info, debug, trace, stdout'),
        ('dora/logs/info/a/b', "the node id `a/b` has the character '/' in it; use letters, digits, _, - and ."),
        ('a b/c', "the node id `a b` has the character ' ' in it; use letters, digits, _, - and ."),
        ('/c', 'the id of a node must not be empty'),
    ],
)  # fmt: skip
def test_sources_that_are_none(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=f'^{re.escape(words)}$'):
        parse_source(text)


def test_sources() -> None:
    assert parse_source('cam/image') == NodeSource(node='cam', output='image')
    assert parse_source('cam/op/image') == NodeSource(node='cam', output='op/image')
    assert parse_source('dora-x/o') == NodeSource(node='dora-x', output='o')
    assert parse_source('dora/logs') == LogSource(text='dora/logs')
    assert parse_source('dora/logs/') == LogSource(text='dora/logs/')
    assert parse_source('adora/logs/WARN/cam') == LogSource(level='warn', node='cam', text='adora/logs/WARN/cam')


@pytest.mark.parametrize(
    ('text', 'size'),
    [('7', 7), (7, 7), ('7B', 7), ('1KB', 1024), ('1 kb', 1024), ('2m', 2 << 20), ('1.5GB', 3 << 29), (' .5K ', 512)],
)
def test_sizes(text: int | str, size: int) -> None:
    assert byte_size(text) == size


@pytest.mark.parametrize('text', ['', 'MB', '-1', '1TB', '1 2', 'nan', 'inf', '1e3', '.'])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match='is not a size'):
        byte_size(text)


@given(st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_in_the_environment_keep_their_value(value: float) -> None:
    text = env_text(value)
    if isinstance(value, bool):
        assert text == str(value).lower()
    else:
        assert 'e' not in text
        assert float(text) == float(value) or type(value)(text) == value


@given(st.text())
def test_text_without_a_dollar_is_not_expanded(text: str) -> None:
    plain = text.replace('$', '')
    assert expand(plain, {}, strict=True) == plain


def test_variables_that_are_not_set() -> None:
    assert expand('$A/${B}/${C:-x}', {}, strict=False) == '$A/${B}/x'
    with pytest.raises(ValueError, match='the environment variable `B` is not set'):
        expand('$A ${B}', {'A': '1'}, strict=True)
