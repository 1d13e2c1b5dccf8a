"""What becomes of a line that a node prints."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.cli.ink import Ink
from adora_ros.cli.loglines import level_of
from adora_ros.cli.render import Renderer
from adora_ros.manager.loglines import LogEntry, parse_line
from adora_ros.manager.logs import Stream

NOW = 1_767_225_600_000_000_001
STAMP = '2026-01-01T00:00:00.000000001Z'


@pytest.mark.parametrize(
    ('line', 'level', 'message', 'timestamp'),
    [
        ('plain', 'stdout', 'plain', STAMP),
        ('{"level":"info","message":"no time"}', 'stdout', '{"level":"info","message":"no time"}', STAMP),
        ('{"level":"loud","timestamp":"2026-01-01T00:00:00Z"}', 'stdout', '{"level":"loud","timestamp":"2026-01-01T00:00:00Z"}', STAMP),
        ('{"level":"warn","timestamp":"2026-01-01T01:00:00.5+01:00","message":"m"}', 'WARN', 'm', '2026-01-01T00:00:00.5Z'),
        ('{"level":"INFO","timestamp":"2026-01-01T00:00:00Z","fields":{"message":"m"}}', 'INFO', 'm', '2026-01-01T00:00:00Z'),
        ('{"level":"INFO","timestamp":"2026-01-01T00:00:00Z","fields":{"n":1}}', 'stdout', '{"level":"INFO","timestamp":"2026-01-01T00:00:00Z","fields":{"n":1}}', STAMP),
        ('{"level":"stdout","timestamp":"2026-01-01T00:00:00Z","message":"m"}', 'stdout', 'm', '2026-01-01T00:00:00Z'),
        ('[FATAL] [1767225600.000000001] [driver]: gone', 'ERROR', 'gone', STAMP),
        ('[FATAL] not ROS', 'stdout', '[FATAL] not ROS', STAMP),
    ],
)  # fmt: skip
def test_a_line_as_an_entry(line: str, level: str, message: str, timestamp: str) -> None:
    entry = parse_line(line, NOW)
    assert (entry.level, entry.message, entry.timestamp) == (level, message, timestamp)


@pytest.mark.parametrize(
    'line',
    [
        '{"a":' * 20_000,
        '[INFO] [99999999999999999.000000000] [driver]: beyond the last year',
        f'[INFO] [{"9" * 5000}.000000000] [driver]: beyond all numbers',
    ],
    ids=['nested', 'year', 'digits'],
)
def test_no_line_ends_the_thread_that_reads_it(line: str) -> None:
    assert parse_line(line, NOW) == LogEntry(level='stdout', message=line, timestamp=STAMP)
    renderer = Renderer(Ink(color=False))
    assert renderer.output('n', Stream.STDOUT, line.encode()) == f'n | {line}'
    assert level_of(line, Stream.STDERR) == ('info' if line.startswith('[INFO] [9999999999999999') else 'warn')


def test_halves_of_characters_do_not_get_into_messages() -> None:
    line = '{"level":"warn","timestamp":"2026-01-01T00:00:00Z","message":"caf\\udce9 \\ud83d\\ude00","node_id":"n"}'
    entry = parse_line(line, NOW)
    assert (entry.level, entry.message) == ('WARN', 'caf? \U0001f600')
    assert Renderer(Ink(color=False)).output('n', Stream.STDOUT, line.encode()) == 'n | WARN  caf? \U0001f600'


def test_a_line_number_of_any_length_is_none_or_one() -> None:
    line = '{"level":"warn","timestamp":"2026-01-01T00:00:00Z","fields":{"line":"%s"}}'
    assert parse_line(line % '7', NOW).more['line'] == 7
    assert parse_line(line % ('7' * 5000), NOW).more['line'] is None


@given(st.text())
def test_no_line_is_lost(line: str) -> None:
    entry = parse_line(line, NOW)
    assert json.loads(entry.to_json(dataflow_id='d', node_id='n', machine=''))['message'] == entry.message


@pytest.mark.parametrize(
    ('minimum', 'passing'),
    [
        (None, {'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE', 'stdout'}),
        ('stdout', {'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE', 'stdout'}),
        ('trace', {'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'}),
        ('info', {'ERROR', 'WARN', 'INFO'}),
        ('error', {'ERROR'}),
    ],
)
def test_a_plain_line_has_no_severity(minimum: str | None, passing: set[str]) -> None:
    levels = {'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE', 'stdout'}
    assert {level for level in levels if LogEntry(level=level, message='', timestamp='').passes(minimum)} == passing


def test_the_json_is_that_of_dora() -> None:
    line = '{"timestamp":"2026-01-01T00:00:00+00:00","level":"warn","message":"m","target":"t","fields":{"a":"b"}}'
    assert parse_line(line, NOW).to_json(dataflow_id='run', node_id='talk', machine='A') == (
        '{"build_id":null,"dataflow_id":"run","node_id":"talk","daemon_id":{"machine_id":"A","uuid":"run"},'
        '"level":"WARN","target":"t","module_path":null,"file":null,"line":null,"message":"m",'
        '"timestamp":"2026-01-01T00:00:00Z","fields":{"a":"b"}}'
    )
