"""Which nodes a machine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import Dataflow, loads
from adora_ros.dataflow.share import machines, share
from adora_ros.errors import DataflowError

if TYPE_CHECKING:
    from pathlib import Path

NODES = 'nodes:\n  - {id: a, path: n.py, deploy: {machine: A}}\n  - {id: b, path: n.py, deploy: {machine: B}}\n'
REST = '  - {id: c, path: n.py}\n'


@pytest.fixture
def three(tmp_path: Path) -> Dataflow:
    """Return a dataflow with a node on each of two machines, and one that names none."""
    (tmp_path / 'n.py').touch()
    return loads(NODES + REST, path=tmp_path / 'flow.yml')


@pytest.mark.parametrize(
    ('machine', 'rest', 'nodes'), [('A', False, 'a'), ('B', True, 'bc'), ('', False, 'c'), ('Q', True, 'c')]
)
def test_a_machine_runs_its_nodes(three: Dataflow, machine: str, rest: bool, nodes: str) -> None:  # noqa: FBT001
    assert machines(three) == ('A', 'B')
    assert share(three, machine, rest=rest) == frozenset(nodes)


def test_where_no_node_names_a_machine_it_runs_all(tmp_path: Path) -> None:
    (tmp_path / 'n.py').touch()
    dataflow = loads(f'nodes:\n{REST}', path=tmp_path / 'flow.yml')
    assert machines(dataflow) == ()
    assert share(dataflow, 'anywhere') == share(dataflow, '') == frozenset('c')


def test_a_machine_without_nodes_is_told_which_there_are(three: Dataflow, tmp_path: Path) -> None:
    with pytest.raises(DataflowError, match='no node of dataflow flow is for machine `Q`; they are for A, B'):
        share(three, 'Q')
    named = loads(NODES, path=tmp_path / 'flow.yml')
    with pytest.raises(DataflowError, match='one of A, B; say which one this is with --machine'):
        share(named, '')
