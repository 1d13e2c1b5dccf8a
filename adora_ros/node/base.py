"""The part of dora's Python API that needs no ROS: what a real node and one in a test have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from adora_ros.errors import NodeError
from adora_ros.inputs import Event, as_dict
from adora_ros.transport.metadata import REQUEST_ID, new_request_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import Self

    from adora_ros.node.sample import Sample


TIMEOUT_TEXT = 'Timeout event stream error: Receiver timed out'
"""Text of the ``ERROR`` event when no other came in time."""


class Extensions(Protocol):
    """Values by name; see :class:`adora_ros.node.extensions.ExtensionTable`."""

    def store(self, namespace: str, key: str, value: bytes) -> None:
        """Store a value."""

    def load(self, namespace: str, key: str, *, remove: bool = False) -> bytes | None:
        """Return a value."""

    def drop(self, namespace: str, key: str) -> None:
        """Take a value away."""

    def drain_dropped(self, namespace: str) -> list[str]:
        """Return the keys that are gone."""


class BaseNode(ABC):
    """Events and outputs of a node, on top of a few methods that say where they come from and go to."""

    _extensions: Extensions

    @abstractmethod
    def next_event(self, timeout: float | None = None) -> Event | None:
        """Wait for the next event like :meth:`next`, and return it as a typed event of :mod:`adora_ros.inputs`."""

    @abstractmethod
    def send_output(self, output_id: str, data: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Send a value on an output."""

    @abstractmethod
    def send_output_raw(self, output_id: str, data_length: int, metadata: Mapping[str, Any] | None = None) -> Sample:
        """Return memory for a value of bytes, to be written in place and sent."""

    @abstractmethod
    def log(self, level: str, message: str, target: str | None = None, fields: Mapping[str, str] | None = None) -> None:
        """Write a log line."""

    @abstractmethod
    def _available(self) -> Event | None:
        """Return the next event if there is one already."""

    @abstractmethod
    def _over(self) -> bool:
        """Return whether no event will come any more."""

    def next(self, timeout: float | None = None) -> dict[str, Any] | None:
        """Wait for the next event.

        Args:
            timeout: longest wait in seconds, None for ever.

        Returns:
            The event; an event of type ``ERROR`` if none came in time; None at once when the stream has ended, that is
            after ``STOP``.

        Raises:
            ValueError: ``timeout`` is negative or not finite.

        """
        event = self.next_event(timeout)
        return None if event is None else as_dict(event)

    def events(self) -> Iterator[Event]:
        """Yield the typed events that :meth:`next_event` returns, until the stream ends."""
        while (event := self.next_event()) is not None:
            yield event

    def try_recv(self) -> dict[str, Any] | None:
        """Return the next event if there is one already, else None."""
        event = self._available()
        return None if event is None else as_dict(event)

    def drain(self) -> list[dict[str, Any]]:
        """Return every event that is there already.

        Raises:
            NodeError: the stream has ended and nothing is left.

        """
        events = []
        while (event := self._available()) is not None:
            events.append(as_dict(event))
        if not events and self._over():
            msg = 'Could not drain events. Channel is closed: leave the loop after the STOP event'
            raise NodeError(msg)
        return events

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def send_service_request(self, output_id: str, data: Any, metadata: Mapping[str, Any] | None = None) -> str:
        """Send a request: a value with a new ``request_id`` in its metadata.

        Returns:
            The request's id, for :meth:`recv_service_response`.

        Raises:
            TransportError: the output cannot carry the value or the metadata.

        """
        if metadata and REQUEST_ID in metadata:
            self.log_warn(f'send_service_request: the `{REQUEST_ID}` in the metadata is replaced by a new one')
        request_id = self._new_request_id()
        self.send_output(output_id, data, {**(metadata or {}), REQUEST_ID: request_id})
        return request_id

    def send_service_response(self, output_id: str, data: Any, metadata: Mapping[str, Any]) -> None:
        """Send a response.

        Args:
            output_id: as in the YAML.
            data: as for :meth:`send_output`.
            metadata: that of the request, so that its ``request_id`` comes along.

        Raises:
            TransportError: the output cannot carry the value or the metadata.

        """
        if REQUEST_ID not in metadata:
            self.log_warn(f'send_service_response: no `{REQUEST_ID}` in the metadata, no client will recognise it')
        self.send_output(output_id, data, metadata)

    def extension_store(self, namespace: str, key: str, value: bytes) -> None:
        """Leave a value under a name for the nodes of this dataflow on this machine, until this node ends.

        Raises:
            NodeError: the dataflow has no shared memory.

        """
        self._extensions.store(namespace, key, value)

    def extension_load(self, namespace: str, key: str, remove: bool = False) -> bytes | None:  # noqa: FBT001, FBT002 - dora's signature
        """Return the value that a node has left under a name, None if there is none.

        Args:
            namespace: keeps the names of different users apart.
            key: the name.
            remove: whether to take the value away.

        Raises:
            NodeError: the dataflow has no shared memory.

        """
        return self._extensions.load(namespace, key, remove=remove)

    def extension_drop(self, namespace: str, key: str) -> None:
        """Take the value under a name away; there need not be one.

        Raises:
            NodeError: the dataflow has no shared memory.

        """
        self._extensions.drop(namespace, key)

    def drain_dropped_extension_keys(self, namespace: str) -> list[str]:
        """Return the names that this node stored or read and whose values are gone, once each."""
        return self._extensions.drain_dropped(namespace)

    def log_error(self, message: str) -> None:
        """Log at level ``error``."""
        self.log('error', message)

    def log_warn(self, message: str) -> None:
        """Log at level ``warn``."""
        self.log('warn', message)

    def log_info(self, message: str) -> None:
        """Log at level ``info``."""
        self.log('info', message)

    def log_debug(self, message: str) -> None:
        """Log at level ``debug``."""
        self.log('debug', message)

    def log_trace(self, message: str) -> None:
        """Log at level ``trace``."""
        self.log('trace', message)

    def _new_request_id(self) -> str:
        return new_request_id()
