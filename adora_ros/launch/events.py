"""What happens in a dataflow, as launch events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch import Event

if TYPE_CHECKING:
    from adora_ros.launch.actions import Dataflow


class DataflowEvent(Event):  # type: ignore[misc]
    """Something that happened in a dataflow.

    Attributes:
        action: The action that runs the dataflow.
        node: Id of the node that it is about; empty for the dataflow.
        text: One line for people.

    """

    name = 'adora_ros.launch.events.DataflowEvent'

    def __init__(self, *, action: Dataflow, node: str = '', text: str = '') -> None:
        super().__init__()
        self.action = action
        self.node = node
        self.text = text


class NodeRestarted(DataflowEvent):
    """A node that had ended is up again.

    Attributes:
        incarnation: Number of its new incarnation, from 1.

    """

    name = 'adora_ros.launch.events.NodeRestarted'

    def __init__(self, *, action: Dataflow, node: str, text: str, incarnation: int) -> None:
        super().__init__(action=action, node=node, text=text)
        self.incarnation = incarnation


class NodeFailed(DataflowEvent):
    """A node failed, and is not restarted any more.

    Attributes:
        error: Why.

    """

    name = 'adora_ros.launch.events.NodeFailed'

    def __init__(self, *, action: Dataflow, node: str, text: str, error: str) -> None:
        super().__init__(action=action, node=node, text=text)
        self.error = error


class InputClosed(DataflowEvent):
    """An input of a node fell silent for longer than its timeout, or its source ended.

    Attributes:
        input: Id of the input.
        source: Where it comes from, as in the YAML.

    """

    name = 'adora_ros.launch.events.InputClosed'

    def __init__(self, *, action: Dataflow, node: str, text: str, input_id: str, source: str) -> None:
        super().__init__(action=action, node=node, text=text)
        self.input = input_id
        self.source = source


class DataflowFinished(DataflowEvent):
    """The manager of a dataflow has ended, and nothing of the dataflow is left.

    Attributes:
        return_code: Exit code of the manager, negative for a signal: 0 all well, 1 a node failed, 2 bad input,
            130 or 143 after a signal that interrupted a run without failures.
        error: Every failed node as ``node: reason``, joined by ``; ``; empty if none failed.

    """

    name = 'adora_ros.launch.events.DataflowFinished'

    def __init__(self, *, action: Dataflow, text: str, return_code: int, error: str) -> None:
        super().__init__(action=action, text=text)
        self.return_code = return_code
        self.error = error
