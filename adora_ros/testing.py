"""Testing node scripts without ROS, without a manager and without waiting.

:class:`MockNode` stands in for :class:`adora_ros.Node`: it gives events that the test makes up and keeps what is sent.
:func:`run_script` runs a whole script on one, whether it imports ``dora``, ``adora`` or ``adora_ros``::

    node = run_script('doubler.py', [('number', pa.array([21]))])
    assert node.outputs['double'][0].to_pylist() == [42]
"""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from types import ModuleType
from typing import TYPE_CHECKING, Any

import adora_ros
from adora_ros.compat.names import VERSION
from adora_ros.compat.status import DoraStatus
from adora_ros.errors import AnswerTimeoutError, NodeError, ServerEndedError, ServerRestartedError
from adora_ros.inputs import (
    Event,
    Input,
    NodeFailed,
    NodeRestarted,
    Stop,
    StopCause,
    as_dict,
    from_dict,
)
from adora_ros.node.answers import is_response, is_result
from adora_ros.node.base import BaseNode
from adora_ros.node.sample import Sample
from adora_ros.transport.codec import as_array
from adora_ros.transport.metadata import TIMESTAMP_KEY

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Given = tuple[Any, ...] | Mapping[str, Any] | Event
    """An input as ``(id, value)`` or ``(id, value, metadata)``, an event in dora's shape, or a typed one."""

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Sent:
    """What a node sent."""

    output_id: str
    value: Any
    """As it was given to ``send_output``, but for bytes, which are an array as at the receiver."""
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Logged:
    """A log line."""

    level: str
    message: str
    target: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class _Values:
    """What nodes leave for each other by name, for one node."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], bytes] = {}
        self._known: dict[tuple[str, str], None] = {}

    def store(self, namespace: str, key: str, value: bytes) -> None:
        self._values[namespace, key] = value
        self._known[namespace, key] = None

    def load(self, namespace: str, key: str, *, remove: bool = False) -> bytes | None:
        value = self._values.get((namespace, key))
        if remove:
            self.drop(namespace, key)
        return value

    def drop(self, namespace: str, key: str) -> None:
        self._values.pop((namespace, key), None)

    def drain_dropped(self, namespace: str) -> list[str]:
        dropped = [name for name in self._known if name[0] == namespace and name not in self._values]
        for name in dropped:
            del self._known[name]
        return [key for _, key in dropped]


class MockNode(BaseNode):
    """A node whose events are given and whose outputs are kept.

    The stamps of messages and the ids of requests (``request-1``, ``request-2``, ...) are the same in every run.

    Args:
        inputs: the events in order; ``STOP`` comes after them by itself, unless it is among them.
        metadata: of every input that brings none of its own.
        node_id: id of the node.
        outputs: ids that the dataflow declares; anything may be sent unless given.
        restart_count: how often the node has been restarted.
        descriptor: the dataflow's YAML, parsed.

    """

    def __init__(
        self,
        inputs: Iterable[Given] = (),
        metadata: Mapping[str, Any] | None = None,
        *,
        node_id: str = 'node',
        outputs: Sequence[str] | None = None,
        restart_count: int = 0,
        descriptor: Mapping[str, Any] | None = None,
    ) -> None:
        self.node_id = node_id
        self.outputs: dict[str, list[Any]] = {}
        """The values that were sent, by output."""
        self.sent: list[Sent] = []
        """All that was sent, in order."""
        self.logged: list[Logged] = []
        """What was logged with ``log()`` and its short forms."""
        self._declared = outputs
        self._extensions = _Values()
        self._restart_count = restart_count
        self._descriptor = descriptor
        self._requests = 0
        self._time = EPOCH
        self._events = deque(self._event(given, metadata or {}) for given in inputs)
        if not any(isinstance(event, Stop) for event in self._events):
            self._events.append(Stop(StopCause.ALL_INPUTS_CLOSED))

    def next_event(self, timeout: float | None = None) -> Event | None:  # noqa: ARG002 - nothing is waited for
        """See :class:`adora_ros.Node`."""
        return self._available()

    async def recv_async(self, timeout: float | None = None) -> dict[str, Any] | None:
        """See :class:`adora_ros.Node`."""
        return self.next(timeout)

    def is_empty(self) -> bool:
        """See :class:`adora_ros.Node`."""
        return not self._events

    def send_output(self, output_id: str, data: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Keep what is sent.

        Raises:
            TransportError: ``data`` is bytes of a kind that cannot be sent.

        """
        if self._declared is not None and output_id not in self._declared:
            self.log_warn(f"Ignoring output `{output_id}` not in node's output list.")
            return
        value = as_array(bytes(data)) if isinstance(data, (bytes, bytearray, memoryview)) else data
        self.outputs.setdefault(output_id, []).append(value)
        self.sent.append(Sent(output_id, value, dict(metadata or {})))

    def send_output_raw(self, output_id: str, data_length: int, metadata: Mapping[str, Any] | None = None) -> Sample:
        """See :class:`adora_ros.Node`."""
        if self._declared is not None and output_id not in self._declared:
            msg = f"Output `{output_id}` not in node's output list"
            raise NodeError(msg)
        memory = bytearray(data_length)
        return Sample(memory, lambda: self.send_output(output_id, memory, metadata), bool)

    def recv_service_response(self, request_id: str, server: str, timeout: float | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the response among the events that are left, wherever it is.

        Raises:
            ServerRestartedError: the server is restarted before.
            ServerEndedError: it fails before.
            AnswerTimeoutError: there is no response.

        """
        return self._answer(request_id, server, is_response)

    def recv_action_result(self, goal_id: str, server: str, timeout: float | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the result among the events that are left; errors as in :meth:`recv_service_response`."""
        return self._answer(goal_id, server, is_result)

    def merge_external_events(self, subscription: object) -> None:
        """Do nothing: a test gives external events as dicts of kind ``external``."""

    def log(self, level: str, message: str, target: str | None = None, fields: Mapping[str, str] | None = None) -> None:
        """Keep a log line."""
        self.logged.append(Logged(level, message, target, dict(fields or {})))

    def node_config(self) -> dict[str, Any]:
        """Return inputs and outputs as far as they are known."""
        inputs = {event.id: f'mock/{event.id}' for event in self._events if isinstance(event, Input)}
        return {'inputs': inputs, 'outputs': list(self._declared or ())}

    def dataflow_descriptor(self) -> dict[str, Any]:
        """Return the ``descriptor``."""
        return dict(self._descriptor or {})

    def dataflow_id(self) -> str:
        """Return a uuid."""
        return '00000000-0000-0000-0000-000000000000'

    def is_restart(self) -> bool:
        """Return whether ``restart_count`` is above 0."""
        return self._restart_count > 0

    def restart_count(self) -> int:
        """Return the ``restart_count``."""
        return self._restart_count

    def timestamp(self) -> datetime:
        """Return the stamp of the last event."""
        return self._time

    def close(self) -> None:
        """Drop the events that are left."""
        self._events.clear()

    def _available(self) -> Event | None:
        if not self._events:
            return None
        event = self._events.popleft()
        if isinstance(event, Input) and isinstance(stamp := event.metadata.get(TIMESTAMP_KEY), datetime):
            self._time = stamp
        if isinstance(event, Stop):
            self._events.clear()
        return event

    def _over(self) -> bool:
        return not self._events

    def _new_request_id(self) -> str:
        self._requests += 1
        return f'request-{self._requests}'

    def _event(self, given: Given, metadata: Mapping[str, Any]) -> Event:
        if isinstance(given, tuple):
            input_id, value, *own = given
            return self._input(input_id, value, own[0] if own else metadata)
        if not isinstance(given, dict):
            return given  # type: ignore[return-value]
        event = from_dict(given)
        if event is None:
            msg = f'not an event: {given!r}'
            raise NodeError(msg)
        return self._input(event.id, event.value, event.metadata) if isinstance(event, Input) else event

    def _input(self, input_id: str, value: Any, metadata: Mapping[str, Any]) -> Input:
        self._time += timedelta(milliseconds=1)
        return Input(input_id, value, {TIMESTAMP_KEY: self._time, **metadata})

    def _answer(self, question: str, server: str, matches: Callable[[Mapping[str, Any], str], bool]) -> dict[str, Any]:
        for event in self._events:
            if isinstance(event, Input) and matches(event.metadata, question):
                self._events.remove(event)
                return as_dict(event)
            if event == NodeRestarted(server):
                msg = f'node `{server}` was restarted and knows nothing of it: ask again'
                raise ServerRestartedError(msg)
            if isinstance(event, NodeFailed) and event.id == server:
                msg = f'node `{server}` failed: {event.error}'
                raise ServerEndedError(msg)
        msg = f'node `{server}` did not answer {question} in time'
        raise AnswerTimeoutError(msg)


@contextlib.contextmanager
def installed(node: MockNode) -> Iterator[MockNode]:
    """Make ``Node()`` return ``node``, in ``dora``, ``adora`` and ``adora_ros`` alike."""
    names: dict[str, Any] = {
        'Node': lambda node_id=None, *_: _checked(node, node_id),
        'DoraStatus': DoraStatus,
        'AdoraStatus': DoraStatus,
        '__version__': VERSION,
    }
    modules = {}
    for name in ('dora', 'adora'):
        modules[name] = ModuleType(name, f'{name}, for a test')
        vars(modules[name]).update(names)
    before = {name: sys.modules.get(name) for name in modules}
    real = vars(adora_ros).get('Node')
    sys.modules.update(modules)
    vars(adora_ros)['Node'] = names['Node']
    try:
        yield node
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module
        del vars(adora_ros)['Node']
        if real is not None:
            vars(adora_ros)['Node'] = real


def run_script(
    path: str | os.PathLike[str], inputs: Iterable[Given] = (), *, args: Sequence[str] = (), **options: Any
) -> MockNode:
    """Run a node script as ``__main__`` on a :class:`MockNode` and return that.

    Args:
        path: the script.
        inputs: the events.
        args: what it finds in ``sys.argv`` after its own path.
        options: further arguments of :class:`MockNode`.

    Raises:
        SystemExit: the script ended with another exit code than 0.

    """
    node = MockNode(inputs, **options)
    argv, sys.argv = sys.argv, [str(path), *args]
    try:
        with installed(node):
            runpy.run_path(str(path), run_name='__main__')
    except SystemExit as end:
        if end.code not in {None, 0}:
            raise
    finally:
        sys.argv = argv
    return node


def _checked(node: MockNode, node_id: str | None) -> MockNode:
    if node_id not in {None, node.node_id}:
        msg = f'this process is node {node.node_id!r}, not {node_id!r}'
        raise NodeError(msg)
    return node
