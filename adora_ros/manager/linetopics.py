"""Topics that the manager publishes texts on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.manager.events import EventKind, Level
from adora_ros.manager.lines import Lines

if TYPE_CHECKING:
    import asyncio

    from rclpy.node import Node

    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.journal import Journal
    from adora_ros.manager.lines import TextPublisher


def open_lines(context: RunContext, node: Node, journal: Journal, loop: asyncio.AbstractEventLoop) -> Lines:
    """Return what publishes the lines of all nodes of a run, on the manager's ROS node."""

    def complain(text: str) -> None:
        loop.call_soon_threadsafe(lambda: journal.write(EventKind.WARNING, text, level=Level.WARN))

    def open_topic(topic: str) -> TextPublisher:
        from adora_ros.manager.arrowlines import ArrowTextPublisher  # noqa: PLC0415 - most dataflows need no Arrow here

        return ArrowTextPublisher(node, topic)

    return Lines(
        context.dataflow,
        run_id=context.run_id,
        machine=context.machine,
        open_topic=open_topic,
        complain=complain,
    )
