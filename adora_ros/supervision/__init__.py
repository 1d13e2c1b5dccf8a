"""What to do when a node exits, hangs or does not start: pure decisions, without clock, processes or ROS."""

from adora_ros.supervision.counters import Counters
from adora_ros.supervision.dataflow import DataflowSupervisor
from adora_ros.supervision.effects import (
    AllInputsClosedNotice,
    DataflowEnded,
    Effect,
    GaveUp,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    NodeUp,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
    RestartCancelReason,
    Spawn,
    StopDataflow,
    StopProcess,
)
from adora_ros.supervision.node import NodeSnapshot, NodeSupervisor
from adora_ros.supervision.policy import Asked, Exit, ExitCause, Verdict, decide
from adora_ros.supervision.result import NodeResult, Result

__all__ = [
    'AllInputsClosedNotice',
    'Asked',
    'Counters',
    'DataflowEnded',
    'DataflowSupervisor',
    'Effect',
    'Exit',
    'ExitCause',
    'GaveUp',
    'InputClosedNotice',
    'NodeEnded',
    'NodeFailedNotice',
    'NodeResult',
    'NodeSnapshot',
    'NodeState',
    'NodeSupervisor',
    'NodeUp',
    'ProcessEnded',
    'RestartAnnounced',
    'RestartCancelReason',
    'RestartCancelled',
    'Result',
    'Spawn',
    'StopDataflow',
    'StopProcess',
    'Verdict',
    'decide',
]
