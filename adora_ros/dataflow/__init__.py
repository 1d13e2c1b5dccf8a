"""The dataflow YAML: text to a validated, frozen :class:`Dataflow`, and questions about it.

Needs no ROS 2 at run time, except that ``ros: {package: ...}`` looks the package up in the ament index.
"""

from adora_ros.dataflow.command import command
from adora_ros.dataflow.graph import Edge, consumers, downstream, edges, sinks_first, sources_first
from adora_ros.dataflow.loader import load, loads
from adora_ros.dataflow.mermaid import mermaid
from adora_ros.dataflow.model import (
    Dataflow,
    DownloadOrigin,
    GitOrigin,
    InputSpec,
    LogSource,
    NodeKind,
    NodeSource,
    NodeSpec,
    OnGiveUp,
    OperatorSpec,
    OutputSpec,
    QosSpec,
    QueuePolicy,
    RestartPolicy,
    RestartSpec,
    RestartStrategy,
    RosSpec,
    Source,
    TimerSource,
    TopicSource,
)
from adora_ros.dataflow.names import ros_name
from adora_ros.dataflow.problems import DataflowErrors, Problem
from adora_ros.dataflow.schema import json_schema
from adora_ros.errors import DataflowError

__all__ = [
    'Dataflow',
    'DataflowError',
    'DataflowErrors',
    'DownloadOrigin',
    'Edge',
    'GitOrigin',
    'InputSpec',
    'LogSource',
    'NodeKind',
    'NodeSource',
    'NodeSpec',
    'OnGiveUp',
    'OperatorSpec',
    'OutputSpec',
    'Problem',
    'QosSpec',
    'QueuePolicy',
    'RestartPolicy',
    'RestartSpec',
    'RestartStrategy',
    'RosSpec',
    'Source',
    'TimerSource',
    'TopicSource',
    'command',
    'consumers',
    'downstream',
    'edges',
    'json_schema',
    'load',
    'loads',
    'mermaid',
    'ros_name',
    'sinks_first',
    'sources_first',
]
