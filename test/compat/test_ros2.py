"""dora's ROS 2 bridge, as far as one process shows it."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.compat.ros2 import Ros2Context, Ros2NodeOptions
from adora_ros.compat.ros2qos import KEEP_ALL, Ros2QosPolicies
from adora_ros.compat.ros2waits import keep
from adora_ros.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def context(ros_domain: int) -> Iterator[Ros2Context]:
    """Give a context in the domain of the test, and close it after it."""
    made = Ros2Context(domain_id=ros_domain)
    try:
        yield made
    finally:
        made._close()


@pytest.mark.parametrize(
    ('parameters', 'why'),
    [
        ({'good': 1, 'not a name': 1, '': 1}, "node 'n' in '/t': "),
        ({'big': 2**63}, "parameter 'big': a whole number of ROS 2 has 64 bits"),
        ({'big': [1, -(2**63) - 1]}, "parameter 'big': a whole number of ROS 2 has 64 bits"),
        ({'mixed': [1, 'a']}, "parameter 'mixed': a list holds values of one type out of bool, int, float and str"),
        ({'use_sim_time': True}, 'use_sim_time is a parameter of every node'),
    ],
)
def test_a_node_with_a_bad_parameter_is_not_left_behind(
    context: Ros2Context, parameters: dict[str, Any], why: str
) -> None:
    with pytest.raises(NodeError) as refused:
        context.new_node('n', '/t', Ros2NodeOptions(), parameters)
    assert str(refused.value).startswith(why)
    other = context.new_node('other', '/t', Ros2NodeOptions(), {'most': 2**63 - 1})
    assert other.get_parameter('most') == 2**63 - 1
    assert other.ros_node.get_node_names() == ['other']


def test_what_cannot_be_the_id_of_a_goal_is_not_cancelled(context: Ros2Context) -> None:
    node = context.new_node('asker', '/t', Ros2NodeOptions())
    client = node.create_action_client('/count', 'test_msgs/Fibonacci', Ros2QosPolicies(reliable=True))
    with pytest.raises(NodeError, match="action /count has no goal 'first'"):
        client.cancel('first')


def test_the_oldest_feedback_makes_room() -> None:
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(KEEP_ALL + 2):
        keep(waiting, number)
    assert waiting.qsize() == KEEP_ALL
    assert waiting.get_nowait() == 2
