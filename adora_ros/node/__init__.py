"""What runs inside the process of a node: dora's Python API on top of a ROS 2 lifecycle node.

The names are imported when they are first used, so that the pure modules of this package load without ROS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adora_ros.node.api import Node
    from adora_ros.node.lifecycle import LifecycleNode
    from adora_ros.node.tracker import InputTracker

__all__ = ['InputTracker', 'LifecycleNode', 'Node']


def __getattr__(name: str) -> Any:
    if name == 'Node':
        from adora_ros.node.api import Node  # noqa: PLC0415

        return Node
    if name == 'LifecycleNode':
        from adora_ros.node.lifecycle import LifecycleNode  # noqa: PLC0415

        return LifecycleNode
    if name == 'InputTracker':
        from adora_ros.node.tracker import InputTracker  # noqa: PLC0415

        return InputTracker
    msg = f'module {__name__!r} has no attribute {name!r}'
    raise AttributeError(msg)
