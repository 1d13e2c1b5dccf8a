"""The configuration of a node, and its log lines."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from adora_ros.errors import AdoraError, NodeError, TransportError
from adora_ros.node.config import node_config
from adora_ros.node.log import FIELDS_LIMIT, log_line
from adora_ros.transport.contract import CONFIG_VARIABLE, NodeConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG = NodeConfig(dataflow='df', dataflow_id='u', namespace='/df', node_id='n', name='n', restart_count=2)
ENVIRONMENT = {CONFIG_VARIABLE: CONFIG.to_json()}


@pytest.mark.parametrize('node_id', [None, 'n'])
def test_the_environment_has_the_configuration(node_id: str | None) -> None:
    assert node_config(node_id, ENVIRONMENT) == CONFIG


@pytest.mark.parametrize(
    ('node_id', 'environment', 'kind', 'text'),
    [
        (None, {}, NodeError, 'run it with `adora run FILE`'),
        ('m', ENVIRONMENT, NodeError, "this process is node 'n', not 'm'"),
        (None, {CONFIG_VARIABLE: '{'}, TransportError, CONFIG_VARIABLE),
    ],
)
def test_a_process_without_a_place_says_so(
    node_id: str | None, environment: Mapping[str, str], kind: type[AdoraError], text: str
) -> None:
    with pytest.raises(kind, match=r'^[^\n]*$') as caught:
        node_config(node_id, environment)
    assert text in str(caught.value)


def test_a_log_line_has_the_keys_of_dora() -> None:
    entry = json.loads(log_line('n', 'WARNING', 'täxt\nmore', 'mod', {'b': '2', 'a': '1'}))
    assert list(entry) == ['timestamp', 'level', 'node_id', 'message', 'target', 'fields']
    assert datetime.fromisoformat(entry.pop('timestamp')).utcoffset() == timedelta(0)
    assert entry == {
        'level': 'warn',
        'node_id': 'n',
        'message': 'täxt\nmore',
        'target': 'mod',
        'fields': {'a': '1', 'b': '2'},
    }


def test_a_log_line_can_be_written_whatever_it_says() -> None:
    line = log_line('n', 'info', 'ä\udc80', fields={'k': '\udc80'})
    assert line.isascii()
    assert json.loads(line)['message'] == 'ä\udc80'


def test_a_log_line_is_one_line_without_empty_keys() -> None:
    line = log_line('n', 'info', 'a\nb')
    assert '\n' not in line
    assert set(json.loads(line)) == {'timestamp', 'level', 'node_id', 'message'}


@pytest.mark.parametrize(
    ('level', 'written'),
    [
        ('error', 'error'),
        ('Warn', 'warn'),
        ('WARNING', 'warn'),
        ('info', 'info'),
        ('debug', 'debug'),
        ('TRACE', 'trace'),
        ('nonsense', 'info'),
    ],
)
def test_levels_are_those_of_dora(level: str, written: str) -> None:
    assert json.loads(log_line('n', level, 'm'))['level'] == written


def test_fields_that_are_too_large_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    overhead = len('{"k": ""}')
    fits = json.loads(log_line('n', 'info', 'm', fields={'k': 'x' * (FIELDS_LIMIT - overhead)}))
    assert 'fields' in fits
    assert 'fields_dropped' not in fits
    assert capsys.readouterr().err == ''
    entry = json.loads(log_line('n', 'info', 'm', fields={'k': 'x' * (FIELDS_LIMIT - overhead + 1)}))
    assert entry['fields_dropped'] is True
    assert 'fields' not in entry
    assert 'exceed' in capsys.readouterr().err
