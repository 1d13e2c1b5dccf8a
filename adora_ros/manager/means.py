"""What a run works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adora_ros.manager.bringup import RosLink
    from adora_ros.manager.journal import Journal
    from adora_ros.manager.lines import Lines
    from adora_ros.manager.logs import LogPump
    from adora_ros.manager.peers import PeerLink
    from adora_ros.manager.processes import Processes
    from adora_ros.manager.reception import Reception
    from adora_ros.manager.warm import WarmStarts


@dataclass(frozen=True, kw_only=True)
class Means:
    """What a run works with, and does not own.

    Attributes:
        processes: Starts and ends processes.
        pump: Takes what they print.
        journal: Where events go.
        ros: The way to nodes that only speak ROS.
        lines: Publishes what nodes print, where that is asked for.
        peers: The way to the managers of other machines.
        warm: Starts processes from one that is warm; None if there is none.
        reception: Introduces the nodes to each other; None where they find each other by themselves.

    """

    processes: Processes
    pump: LogPump
    journal: Journal
    ros: RosLink
    lines: Lines
    peers: PeerLink
    warm: WarmStarts | None = None
    reception: Reception | None = None
