"""What the processes of a run are told over their control sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import Dataflow, graph
from adora_ros.inputs import StopCause
from adora_ros.supervision import AllInputsClosedNotice, Effect, InputClosedNotice, NodeFailedNotice
from adora_ros.transport.contract import ManagerOp, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.manager.incarnation import Incarnation
    from adora_ros.manager.starts import Starts


class Telling:
    """Tells consumers what becomes of those that feed them.

    Args:
        dataflow: The dataflow.
        live: The current incarnation of each node that has a process.
        starts: Keeps what is for a process that is being started.

    """

    def __init__(self, dataflow: Dataflow, live: Mapping[str, Incarnation], starts: Starts) -> None:
        self._dataflow = dataflow
        self._live = live
        self._starts = starts

    def restarted(self, node: str, incarnation: int) -> None:
        """Tell the consumers of a node of a new incarnation."""
        for consumer in graph.consumers(self._dataflow, node):
            self._tell(consumer, ManagerOp.NODE_RESTARTED, node=node, incarnation=incarnation)

    def pass_on(self, effect: Effect) -> None:
        """Tell a consumer what it is to be told, if that is what the effect is about."""
        if isinstance(effect, NodeFailedNotice):
            keys = {'node': effect.node, 'error': shortened(effect.error), 'inputs': list(effect.inputs)}
            self._tell(effect.consumer, ManagerOp.NODE_FAILED, **keys)
        elif isinstance(effect, InputClosedNotice):
            self._tell(effect.consumer, ManagerOp.INPUT_CLOSED, input=effect.input)
        elif isinstance(effect, AllInputsClosedNotice):
            self._tell(effect.consumer, ManagerOp.STOP, cause=StopCause.ALL_INPUTS_CLOSED.value)

    def _tell(self, consumer: str, op: ManagerOp, /, **keys: Any) -> None:
        incarnation = self._live.get(consumer)
        if incarnation is not None:
            incarnation.tell(op, **keys)
        else:
            self._starts.tell(consumer, op, keys)
