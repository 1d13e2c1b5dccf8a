"""Values that nodes leave for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.errors import NodeError
from adora_ros.node.extensions import ExtensionTable

if TYPE_CHECKING:
    from pathlib import Path


def test_a_value_is_there_for_all_until_it_is_dropped(tmp_path: Path) -> None:
    one, two = ExtensionTable(tmp_path, 'one.0'), ExtensionTable(tmp_path, 'two.3')
    one.store('space', 'key/1', b'value')
    one.store('other', 'key/1', b'another')
    assert two.load('space', 'key/1') == b'value'
    assert two.load('space', 'key') is None
    assert one.drain_dropped('space') == two.drain_dropped('space') == []
    two.drop('space', 'key/1')
    two.drop('space', 'key/1')
    assert one.drain_dropped('space') == two.drain_dropped('space') == ['key/1']
    assert one.drain_dropped('space') == []
    assert one.load('other', 'key/1', remove=True) == b'another'
    assert one.drain_dropped('other') == ['key/1']
    assert not list(tmp_path.iterdir())


def test_the_last_value_of_a_name_counts_whoever_stored_it(tmp_path: Path) -> None:
    one, two = ExtensionTable(tmp_path, 'one.0'), ExtensionTable(tmp_path, 'two.3')
    one.store('', 'a', b'1')
    two.store('', 'a', b'2')
    assert one.load('', 'a') == b'2'
    two.store('', 'a', b'3')
    assert one.drain_dropped('') == ['a']
    assert two.drain_dropped('') == []
    assert one.load('', 'a') == b'3'


def test_a_node_that_ends_takes_its_values_along(tmp_path: Path) -> None:
    one, two = ExtensionTable(tmp_path, 'one.0'), ExtensionTable(tmp_path, 'one.01')
    one.store('', 'a', b'1')
    two.store('', 'b', b'2')
    assert two.load('', 'a') == b'1'
    one.close()
    assert [path.name.split('.x')[0] for path in tmp_path.iterdir()] == ['one.01']
    assert two.drain_dropped('') == ['a']
    assert (two.load('', 'a'), two.load('', 'b')) == (None, b'2')


def test_without_shared_memory_there_are_no_values() -> None:
    table = ExtensionTable(None, 'one.0')
    with pytest.raises(NodeError, match='extension values need shared memory'):
        table.store('', 'a', b'1')
    table.close()
