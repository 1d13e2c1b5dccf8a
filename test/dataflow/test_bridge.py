"""``ros2`` nodes: what they become, and what is wrong with them."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import NodeKind, command
from adora_ros.dataflow.bridge import BridgeSpec, BridgeTopic

if TYPE_CHECKING:
    from dataflow.conftest import Check, Make

NODE = 'nodes:\n  - id: n\n    {}\n  - {{id: m, path: a.py, outputs: [x, y]}}\n'
"""A node whose further keys are in line 3, from column 5."""


def _bridge(make: Make, keys: str) -> BridgeSpec:
    node = make(NODE.format(keys.replace('; ', '\n    '))).node('n')
    assert node.kind is NodeKind.BRIDGE
    assert node.bridge is not None
    assert BridgeSpec.from_dict(json.loads(json.dumps(dataclasses.asdict(node.bridge)))) == dataclasses.replace(
        node.bridge,
        topics=tuple(dataclasses.replace(t, ports=list(t.ports)) for t in node.bridge.topics),  # type: ignore[arg-type]
    )
    return node.bridge


def test_it_runs_the_bridge_of_the_package(make: Make) -> None:
    node = make(NODE.format('ros2: {topic: /t, message_type: std_msgs/String}\n    outputs: [t]')).node('n')
    program, script = command(node)
    assert (program, script.endswith('adora_ros/node/bridge/__main__.py')) == (sys.executable, True)


def test_one_topic_is_that_of_all_ports(make: Make) -> None:
    bridge = _bridge(make, 'ros2: {topic: a/b, message_type: std_msgs/String}; outputs: [x, {id: y}]')
    best_effort = {'reliability': 'best_effort', 'depth': 1}
    assert bridge.topics == (
        BridgeTopic(topic='/a/b', type='std_msgs/msg/String', direction='subscribe', ports=('x', 'y'), qos=best_effort),
    )
    assert (bridge.namespace, bridge.node_name) == ('/robot', 'n_ros2')
    keys = 'ros2: {topic: /t, message_type: std_msgs/msg/String, direction: publish, node_name: k}; inputs: {i: m/x}'
    bridge = _bridge(make, keys)
    assert (bridge.topics[0].direction, bridge.topics[0].ports) == ('publish', ('i',))
    assert (bridge.namespace, bridge.node_name) == ('/', 'k')


def test_several_topics(make: Make) -> None:
    topics = '{topic: /a/b, message_type: std_msgs/String, qos: {keep_all: true}}, {topic: /c, message_type: std_msgs/String, direction: publish, input: i}'
    qos = 'qos: {reliable: true, durability: transient_local, keep_last: 7, liveliness: manual_by_topic, lease_duration: 2}'
    bridge = _bridge(make, f'ros2: {{topics: [{topics}], {qos}, namespace: left}}; inputs: {{i: m/x}}; outputs: [a_b]')
    assert [topic.ports for topic in bridge.topics] == [('a_b',), ('i',)]
    assert bridge.topics[0].qos == {'reliability': 'best_effort', 'depth': 1, 'history': 'keep_all'}
    assert bridge.topics[1].qos == {
        'reliability': 'reliable', 'durability': 'transient_local', 'depth': 7, 'liveliness': 'manual_by_topic',
        'lease_duration': 2.0,
    }  # fmt: skip
    assert (bridge.namespace, bridge.node_name) == ('/left', 'n')


SERVICE = 'service: /s, service_type: std_srvs/Trigger'
ACTION = 'action: /a, action_type: test_msgs/Fibonacci'


@pytest.mark.parametrize(
    ('keys', 'ports'),
    [
        (f'ros2: {{{SERVICE}, role: client}}; inputs: {{any: m/x}}; outputs: [it]', {'request': 'any', 'response': 'it'}),
        (f'ros2: {{{SERVICE}, role: server}}; inputs: {{any: m/x}}; outputs: [it]', {'response': 'any', 'request': 'it'}),
        (f'ros2: {{{ACTION}, role: client}}; inputs: {{any: m/x}}; outputs: [result]', {'goal': 'any', 'result': 'result'}),
        (f'ros2: {{{ACTION}, role: client}}; inputs: {{any: m/x, cancel: m/y}}; outputs: [feedback]', {'goal': 'any', 'cancel': 'cancel', 'feedback': 'feedback'}),
        (f'ros2: {{{ACTION}, role: server}}; inputs: {{result: m/x, feedback: m/y}}; outputs: [it, cancel]', {'goal': 'it', 'cancel': 'cancel', 'feedback': 'feedback', 'result': 'result'}),
    ],
)  # fmt: skip
def test_the_ports_of_services_and_actions(make: Make, keys: str, ports: dict[str, str]) -> None:
    pytest.importorskip('test_msgs')
    bridge = _bridge(make, keys)
    assert (bridge.ports, bridge.qos) == (ports, None)


@pytest.mark.parametrize(
    ('keys', 'problem'),
    [
        ('ros2: {}', '3:11: error: node `n`: `topic`, `topics`, `service`, `action` are missing; give one of them'),
        ('ros2: {topic: /t, service: /s}', '3:11: error: node `n`: `topic`, `service` exclude each other; give one'),
        ('ros2: {topic: /t}; outputs: [t]', '3:11: error: node `n`: `topic` needs a `message_type`, such as sensor_msgs/msg/Image'),
        ('ros2: {topic: /t, message_type: std_msgs/Strin}; outputs: [t]', '3:37: error: node `n`: `std_msgs` has no message type `Strin`; did you mean `String`?'),
        ('ros2: {topic: /t, message_type: std_msg/String}; outputs: [t]', '3:37: error: node `n`: no package `std_msg` with message types is installed; did you mean `std_msgs`?'),
        ('ros2: {topic: /t, message_type: zzz_qqq/X}; outputs: [t]', '3:37: error: node `n`: no package `zzz_qqq` with message types is installed; install it or source its workspace'),
        ('ros2: {topic: /t, message_type: String}; outputs: [t]', '3:37: error: node `n`: `String` is no message type; write it as package/msg/Name, such as sensor_msgs/msg/Image'),
        ('ros2: {service: /t, service_type: std_srvs/msg/Trigger, role: client}; inputs: {i: m/x}; outputs: [r]', '3:39: error: node `n`: `std_srvs/msg/Trigger` is no service type; write it as package/srv/Name, such as std_srvs/srv/Trigger'),
        ('ros2: {topic: /t, message_type: std_msgs/String}', '3:11: error: node `n`: it subscribes, so it needs an output; list one in `outputs`'),
        ('ros2: {topic: /t, message_type: std_msgs/String, direction: publish}; outputs: [t]', '3:65: error: node `n`: it publishes, so it needs an input; give it one in `inputs`'),
        ('ros2: {topic: /t//u, message_type: std_msgs/String}; outputs: [t]', '3:19: error: node `n`: `/t//u` is not a ROS name: an empty part (a slash at the end, or two in a row); use letters, digits and _, no digit first'),
        ('ros2: {topics: []}', '3:20: error: node `n`: `topics` is empty; name at least one'),
        ('ros2: {topics: [{topic: /t, message_type: std_msgs/String}]}; outputs: [u, tt]', '3:21: error: node `n`: the node has no output `t`; did you mean `tt`?'),
        ('ros2: {topics: [{topic: /t, message_type: std_msgs/String, input: i}]}; outputs: [t]', '3:64: error: node `n`: `input` is for the other direction; `direction: subscribe` has an `output`'),
        (f'ros2: {{{SERVICE}}}', '3:11: error: node `n`: `role` is missing; `client` calls, `server` offers'),
        (f'ros2: {{{SERVICE}, role: client}}; inputs: {{i: m/x}}', '3:11: error: node `n`: the service client needs an output `response`'),
        (f'ros2: {{{SERVICE}, role: server}}; inputs: {{i: m/x, k: m/y}}; outputs: [request]', '3:11: error: node `n`: the service server needs an input `response`'),
        (f'ros2: {{{SERVICE}, role: client}}; inputs: {{request: m/x, k: m/y}}; outputs: [r]', '3:11: error: node `n`: the service client has no use for the input `k`; it knows `request`'),
        (f'ros2: {{{SERVICE}, role: client, node_name: a/b}}; inputs: {{i: m/x}}; outputs: [r]', '3:82: error: node `n`: `a/b` is not a ROS node name; use letters, digits and _, no digit first'),
        (f'ros2: {{{SERVICE}, role: client, namespace: /robot, node_name: m}}; inputs: {{i: m/x}}; outputs: [r]', '3:11: error: node `n`: its ROS node `/robot/m` is that of node `m`; give a `node_name`'),
        (f'ros2: {{{SERVICE}, role: servr}}', '3:63: error: node `n`: `role` must be `client` or `server`, got the text "servr"; did you mean `server`?'),
        ('ros2: {topic: /t, mesage_type: std_msgs/String}', '3:23: error: node `n`: unknown key `mesage_type`; did you mean `message_type`?'),
        ('ros2: {topic: /t, message_type: std_msgs/String, qos: {keep_last: 0}}; outputs: [t]', '3:71: error: node `n`: `keep_last` must be >= 1, got 0'),
        ('ros2: {topic: /t, message_type: std_msgs/String}; outputs: [t]; path: a.py', '3:5: error: node `n`: `path` and `ros2` exclude each other; give one'),
    ],
)  # fmt: skip
def test_errors(check: Check, keys: str, problem: str) -> None:
    assert check(NODE.format(keys.replace('; ', '\n    ')))[:1] == [problem]


@pytest.mark.parametrize(
    ('key', 'problem'),
    [
        ('transport: {kind: zenoh, compatibility: humble}', '4:5: warning: node `n`: `transport` has no effect here; RMW_IMPLEMENTATION chooses the middleware'),
        ('qos: {max_blocking_time: 1}', '4:11: warning: node `n`: `max_blocking_time` has no effect here; ROS 2 has none'),
        ('qos: {liveliness: manual_by_participant}', '4:11: warning: node `n`: `manual_by_participant` is gone from ROS 2; `automatic` is used instead'),
    ],
)  # fmt: skip
def test_warnings(check: Check, key: str, problem: str) -> None:
    keys = f'ros2: {{topic: /t, message_type: std_msgs/String,\n    {key}}}\n    outputs: [t]'
    assert check(NODE.format(keys)) == [problem]


def test_a_type_that_only_the_machine_of_the_node_has_is_a_warning(check: Check) -> None:
    keys = 'ros2: {topic: /t, message_type: zzz_qqq/X}\n    outputs: [t]\n    deploy: {machine: arm}'
    (problem,) = check(NODE.format(keys))
    assert problem.startswith('3:37: warning: node `n`: no package `zzz_qqq`')
    assert problem.endswith('on this machine; `arm` must have it')
