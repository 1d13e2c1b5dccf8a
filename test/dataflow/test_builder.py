"""Dataflows that are written from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from adora_ros.dataflow import DataflowError, RestartPolicy
from adora_ros.dataflow.builder import DataflowBuilder, Operator

if TYPE_CHECKING:
    from pathlib import Path


def test_a_dataflow_is_written_as_it_would_be_by_hand(tmp_path: Path) -> None:
    with DataflowBuilder('robot', env={'A': '1'}) as flow:
        camera = flow.add_node('camera', restart_policy='always').path('camera.py').args('--fast').env({'B': 2})
        image = camera.add_output('image')
        camera.add_output('image')
        camera.add_input('tick', 'dora/timer/millis/100')
        viewer = flow.add_node('viewer').path('viewer.py').build('make').git('https://example.com/x', tag='v1')
        viewer.add_input('image', image, queue_size=2, queue_policy='backpressure', input_timeout=0.5)
        flow.add_node('runtime').add_operator(Operator('double', python='double.py'))
        flow.add_node('scan').ros(package='driver', executable='scan', parameters={'rate': 10})
    expected = """
env: {A: '1'}
nodes:
- {id: camera, restart_policy: always, path: camera.py, args: --fast, env: {B: 2}, outputs: [image],
   inputs: {tick: dora/timer/millis/100}}
- id: viewer
  path: viewer.py
  build: make
  git: https://example.com/x
  tag: v1
  inputs: {image: {source: camera/image, queue_size: 2, queue_policy: backpressure, input_timeout: 0.5}}
- {id: runtime, operators: [{id: double, python: double.py}]}
- {id: scan, ros: {package: driver, executable: scan, parameters: {rate: 10}}}
"""
    assert yaml.safe_load(flow.to_yaml() or '') == yaml.safe_load(expected)
    assert flow.to_yaml(tmp_path / 'flow.yml') is None
    assert yaml.safe_load((tmp_path / 'flow.yml').read_text()) == yaml.safe_load(expected)


def test_a_dataflow_is_checked_before_it_is_run(tmp_path: Path) -> None:
    (tmp_path / 'n.py').touch()
    flow = DataflowBuilder()
    flow.add_node('a', path='n.py', restart_policy='on-failure').add_output('x')
    assert flow.validate(tmp_path).node('a').restart.policy is RestartPolicy.ON_FAILURE
    flow.add_node('b', path='n.py').add_input('x', 'a/y')
    with pytest.raises(DataflowError, match=r'dora-dataflow\.yml:\d+:\d+: error: .*`y`'):
        flow.validate(tmp_path)


def test_an_input_that_cannot_be_is_refused_at_once() -> None:
    node = DataflowBuilder().add_node('a')
    with pytest.raises(ValueError, match='queue_size is 0: use 1 or more'):
        node.add_input('x', 'b/x', queue_size=0)
    with pytest.raises(ValueError, match="queue_policy is 'drop': use drop_oldest or backpressure"):
        node.add_input('x', 'b/x', queue_policy='drop')
