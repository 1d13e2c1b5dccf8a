"""What a run looks like, line by line."""

from __future__ import annotations

import json
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.render import Renderer
from adora_ros.cli.values import ColorMode
from adora_ros.manager.events import EventKind, Level
from adora_ros.manager.logs import Stream
from adora_ros.node.log import log_line
from cli.harness import event

PLAIN = Ink(color=False)
COLOR = Ink(color=True)


def plain(width: int = 0) -> Renderer:
    return Renderer(PLAIN, width=width, zone=timezone.utc)


def test_an_event_is_one_line_of_aligned_columns() -> None:
    renderer = plain(8)
    closed = event(EventKind.INPUT_CLOSED, 'input image closed', node='detector', level=Level.WARN)
    up = event(EventKind.NODE_UP, 'up', node='camera')
    assert renderer.event(closed) == '07:08:09.123  detector  INPUT_CLOSED       input image closed'
    assert renderer.event(up) == '07:08:09.123  camera    NODE_UP            up'
    assert renderer.event(event(EventKind.DATAFLOW_RUNNING, 'all')) == (
        '07:08:09.123            DATAFLOW_RUNNING   all'
    )


def test_the_time_is_that_of_the_place() -> None:
    renderer = Renderer(PLAIN, zone=timezone(timedelta(hours=5, minutes=30)))
    assert renderer.event(event()).startswith('12:38:09.123  ')


def test_a_node_that_was_not_known_widens_the_column() -> None:
    renderer = plain()
    renderer.event(event(node='localizer'))
    assert renderer.output('imu', Stream.STDOUT, b'x') == 'imu       | x'


def test_a_text_of_several_lines_stays_one_line() -> None:
    assert plain().event(event(text='a\nb\r\nc')).endswith('  a b c')


def test_the_standard_error_of_a_node_can_be_told_from_its_output() -> None:
    assert plain(6).output('camera', Stream.STDOUT, b'one') == 'camera | one'
    assert plain(6).output('camera', Stream.STDERR, b'two') == 'camera ! two'


def test_a_log_line_of_the_node_api_is_shown_as_a_message() -> None:
    line = log_line('imu', 'warning', 'too late', 'driver', {'age': '3', 'bus': 'can0'}).encode()
    assert plain().output('imu', Stream.STDOUT, line) == 'imu | WARN  too late (driver) age=3 bus=can0'
    assert plain().output('imu', Stream.STDOUT, log_line('imu', 'info', 'hi').encode()) == 'imu | INFO  hi'


@pytest.mark.parametrize(
    'line', ['{"a": 1}', '{broken', '{"level": "info", "message": "m"}', '[1]', '{"level": 1, "node_id": 2}']
)
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert plain().output('n', Stream.STDOUT, line.encode()) == f'n | {line}'


def test_a_log_message_with_control_codes_cannot_upset_the_terminal() -> None:
    line = json.dumps({'level': 'info', 'node_id': 'n', 'message': 'a\x1b[2Jb\nc', 'target': '\x1b]0;t\x07'})
    assert plain().output('n', Stream.STDOUT, line.encode()) == 'n | INFO  ab c ()'


@pytest.mark.parametrize(
    ('line', 'shown'),
    [
        (b'\x1b[31mred\x1b[0m', 'red'),
        (b'a\x1b[2Kb\x1b[1;1Hc', 'abc'),
        (b'\x1b]8;;http://x\x1b\\link\x1b]8;;\x07', 'link'),
        (b'10 %\r50 %\r100 %\r', '100 %'),
        (b'windows\r', 'windows'),
        (b'tab\there', 'tab\there'),
        (b'bell\x07 back\x08 nul\x00', 'bell back nul'),
        (b'\xff\xfe', '\ufffd\ufffd'),
        ('Grüße 你好'.encode(), 'Grüße 你好'),
        (b'cut \x1b[', 'cut '),
        (b'', ''),
    ],
)
def test_a_pipe_gets_no_control_codes(line: bytes, shown: str) -> None:
    assert plain().output('n', Stream.STDOUT, line) == f'n | {shown}'


@given(st.text(), st.sampled_from(Stream))
def test_nothing_that_a_node_prints_gets_a_control_code_into_a_pipe(text: str, stream: Stream) -> None:
    line = plain().output('n', stream, text.replace('\n', ' ').encode(errors='replace'))
    assert not [
        character for character in line if (character < ' ' and character != '\t') or '\x7f' <= character < '\xa0'
    ]


def test_a_terminal_keeps_the_colours_of_a_node_and_nothing_else() -> None:
    assert COLOR.clean('\x1b[2J\x1b[31mred') == '\x1b[31mred\x1b[0m'
    assert COLOR.clean('\x1b[2Jplain') == 'plain'


def test_levels_have_colours_on_a_terminal() -> None:
    renderer = Renderer(COLOR, zone=timezone.utc)
    assert '\x1b[33mlate\x1b[0m' in renderer.event(event(EventKind.WARNING, 'late', level=Level.WARN))
    assert '\x1b[1;31mdead\x1b[0m' in renderer.event(event(EventKind.GAVE_UP, 'dead', level=Level.ERROR))
    assert '\x1b[32mup\x1b[0m' in renderer.event(event(text='up'))


@pytest.mark.parametrize(
    ('mode', 'is_terminal', 'env', 'expected'),
    [
        (ColorMode.AUTO, True, {'TERM': 'xterm'}, True),
        (ColorMode.AUTO, False, {'TERM': 'xterm'}, False),
        (ColorMode.AUTO, True, {'NO_COLOR': '1'}, False),
        (ColorMode.AUTO, True, {'NO_COLOR': ''}, True),
        (ColorMode.AUTO, True, {'TERM': 'dumb'}, False),
        (ColorMode.ALWAYS, False, {'NO_COLOR': '1'}, True),
        (ColorMode.NEVER, True, {'TERM': 'xterm'}, False),
    ],
)
def test_colour_is_for_terminals_unless_the_user_says_otherwise(
    mode: ColorMode, *, is_terminal: bool, env: dict[str, str], expected: bool
) -> None:
    assert wants_color(mode, is_terminal=is_terminal, env=env) is expected


def test_dropped_lines_are_counted() -> None:
    assert plain().dropped(1234) == '... 1234 lines of node output not shown; the log files have them'
