"""The namespace above a dataflow's own, and the clock of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import DataflowError, command

if TYPE_CHECKING:
    from dataflow.conftest import Make

FLOW = """\
nodes:
  - {id: a, path: a.py, outputs: [x]}
  - {id: b, ros: {executable: run, namespace: cam}, inputs: {x: {topic: x, type: std_msgs/msg/String}}}
  - {id: c, ros: {executable: run, namespace: /fixed}}
"""


@pytest.mark.parametrize('outer', ['fleet/r1', '/fleet/r1'])
def test_everything_relative_is_below_it(make: Make, outer: str) -> None:
    dataflow = make(FLOW, namespace=outer)
    assert (dataflow.name, dataflow.namespace) == ('robot', '/fleet/r1/robot')
    assert dataflow.node('a').output('x').topic == '/fleet/r1/robot/a/x'
    assert dataflow.node('b').input('x').topic == '/fleet/r1/robot/cam/x'
    assert [node.full_name for node in dataflow.nodes] == ['/fleet/r1/robot/a', '/fleet/r1/robot/cam/b', '/fixed/c']


@pytest.mark.parametrize('outer', ['', '/'])
def test_none(make: Make, outer: str) -> None:
    assert make(FLOW, namespace=outer).namespace == '/robot'


@pytest.mark.parametrize('outer', ['r 1', 'r1/', '//r1', '1r'])
def test_what_ros_forbids_is_refused(make: Make, outer: str) -> None:
    with pytest.raises(DataflowError, match=r'namespace: .* is not a ROS name'):
        make(FLOW, namespace=outer)


def test_ros_nodes_are_told_of_simulated_time(make: Make) -> None:
    dataflow = make(FLOW)
    clock = ('-p', 'use_sim_time:=true')
    told = command(dataflow.node('b'), use_sim_time=True)
    start = told.index('-p')
    assert told[start : start + 2] == clock
    assert (*told[:start], *told[start + 2 :]) == command(dataflow.node('b'))
    assert command(dataflow.node('a'), use_sim_time=True) == command(dataflow.node('a'))


def test_its_own_parameter_comes_last_and_wins(make: Make) -> None:
    node = make('nodes: [{id: n, ros: {executable: run, parameters: {use_sim_time: false}}}]').node('n')
    told = command(node, use_sim_time=True)
    assert told[-4:] == ('-p', 'use_sim_time:=true', '-p', 'use_sim_time:=false')
