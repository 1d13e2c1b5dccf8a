"""The loop of a bridge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.node import Node as RosNode
from rclpy.parameter import Parameter

from adora_ros.dataflow.bridge import ACTION, CLIENT, SERVICE, TOPICS
from adora_ros.errors import TransportError
from adora_ros.inputs import Error, Input, Stop, StopCause
from adora_ros.node.base import TIMEOUT_TEXT
from adora_ros.node.bridge.action import ActionClient, ActionServer
from adora_ros.node.bridge.link import POLL, BridgeNode
from adora_ros.node.bridge.service import ServiceClient, ServiceServer
from adora_ros.node.bridge.topics import TopicLink
from adora_ros.transport.rosthread import RosThread

if TYPE_CHECKING:
    from rclpy.context import Context

    from adora_ros.inputs import Event
    from adora_ros.node.bridge.link import Link

PATIENCE = 1.0
"""Longest time in seconds between two looks for what is overdue."""


def main() -> int:
    """Bridge until the dataflow stops; return the exit code."""
    node = BridgeNode()
    thread = RosThread(
        context=rclpy.get_default_context(),
        # Answers that come later need coroutines, which do not work in the other one.
        executor=EventsExecutor if node.spec.mode == TOPICS else SingleThreadedExecutor,
    )
    ros = thread.add(lambda context: _ros_node(node, context))
    link = _link(node, ros, thread)
    thread.start()
    while (event := node.next_event(_patience(link))) is not None:
        _take(node, link, event)
    thread.close()
    node.close()
    return 0


def _ros_node(node: BridgeNode, context: Context) -> RosNode:
    return RosNode(
        node.spec.node_name,
        namespace=node.spec.namespace,
        context=context,
        use_global_arguments=False,
        parameter_overrides=[Parameter('use_sim_time', value=True)] if node.use_sim_time else [],
    )


def _link(node: BridgeNode, ros: RosNode, thread: RosThread) -> Link:
    if node.spec.mode == SERVICE:
        return ServiceClient(node, ros) if node.spec.role == CLIENT else ServiceServer(node, ros, thread)
    if node.spec.mode == ACTION:
        return ActionClient(node, ros) if node.spec.role == CLIENT else ActionServer(node, ros, thread)
    return TopicLink(node, ros)


def _patience(link: Link) -> float:
    remaining = link.sweep(time.monotonic())
    return PATIENCE if remaining is None else min(remaining, PATIENCE)


def _take(node: BridgeNode, link: Link, event: Event) -> None:
    if isinstance(event, Input):
        try:
            link.on_input(event)
        except (TransportError, RuntimeError) as error:  # RCLError: a full history is no reason to end a node
            node.log_error(f'a value of input `{event.id}` is dropped: {" ".join(str(error).split())}')
    elif isinstance(event, Stop):
        while event.cause is StopCause.ALL_INPUTS_CLOSED and link.busy():
            node.alive()
            time.sleep(min(_patience(link), POLL))
        link.stop()
    elif not isinstance(event, Error):
        link.on_event(event)
    elif event.message != TIMEOUT_TEXT:
        node.log_error(f'a value is dropped: {event.message}')
