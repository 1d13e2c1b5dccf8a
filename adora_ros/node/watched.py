"""What an InputTracker keeps for each subscription, and what it needs of rclpy for one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adora_ros.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from adora_ros.inputs import InputWatchdog


@dataclass(eq=False)
class Watched:
    """One watched subscription."""

    id: str
    topic: str
    watchdog: InputWatchdog
    source: str | None
    on_closed: Callable[[], object] | None
    on_recovered: Callable[[], object] | None
    subscription: Any = None
    told: bool = False
    """Whether ``on_closed`` has been called and ``on_recovered`` is owed."""
    incompatible: str | None = None


def dataflow_namespace(dataflow: str | None, namespace: str) -> str:
    """Return the namespace of a dataflow, given its name or else that of a node in it.

    Raises:
        NodeError: neither tells.

    """
    name = (dataflow or '').strip('/') or namespace.strip('/').partition('/')[0]
    if not name:
        msg = 'sources are nodes of a dataflow, and this node has no namespace that tells which: give dataflow="name"'
        raise NodeError(msg)
    return f'/{name}'


def with_incompatible_qos(given: Any, report: Callable[[str], None]) -> Any:
    """Return event callbacks that report an incompatible publisher, and otherwise do what was ``given``."""
    from rclpy.event_handler import SubscriptionEventCallbacks  # noqa: PLC0415 - rclpy is there if there is a node
    from rclpy.qos import qos_policy_name_from_kind  # noqa: PLC0415

    callbacks = SubscriptionEventCallbacks() if given is None else copy.copy(given)
    user = callbacks.incompatible_qos

    reported = 0

    def incompatible(info: Any) -> None:
        nonlocal reported
        if info.total_count > reported:  # the EventsExecutor can give a total_count_change of 0 for a new publisher
            reported = info.total_count
            report(qos_policy_name_from_kind(info.last_policy_kind).lower())
        if user is not None:
            user(info)

    callbacks.incompatible_qos = incompatible
    return callbacks
