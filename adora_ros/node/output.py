"""What a node sends."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rclpy.duration import Duration

from adora_ros.errors import TransportError
from adora_ros.transport.metadata import Stamp
from adora_ros.transport.ports import ArrowPort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from adora_ros.transport.payloads import Draft
    from adora_ros.transport.ports import PortCodec


class Output:
    """One output of a node, usable from any thread.

    It outlives its publisher, so that the numbers of its messages go on when the node is configured anew.

    Args:
        output_id: as in the YAML.
        codec: puts a value into a message.
        incarnation: of this node, for the messages' stamps.
        far: whether a subscriber may be on another machine.

    """

    def __init__(self, output_id: str, codec: PortCodec, incarnation: int, *, far: bool = False) -> None:
        self.id = output_id
        self.far = far
        self.publisher: Any = None
        """The rclpy publisher, None while the node is not configured."""
        self.lost = 0
        """How many messages the middleware refused."""
        self._codec = codec
        self._incarnation = incarnation
        self._sent = 0
        self._lock = threading.Lock()
        self._discarded: deque[Draft] = deque()

    def send(self, value: Any, parameters: Mapping[str, Any] | None) -> str:
        """Publish a value.

        Returns:
            Why the middleware refused it, empty if it did not. A full history is no reason to end a node.

        Raises:
            TransportError: the output cannot carry the value or the metadata.

        """
        return self._send(self._codec.to_message, value, parameters)

    def draft(self, size: int) -> Draft | None:
        """Return shared memory for ``size`` bytes, which may be filled without a lock; None if there is none.

        It goes to :meth:`send_draft`, and in any case to :meth:`discard`.
        """
        with self._lock:
            self._abandon_discarded()
            return self._codec.draft(size) if isinstance(self._codec, ArrowPort) else None

    def send_draft(self, draft: Draft, parameters: Mapping[str, Any] | None) -> str:
        """Publish what a draft has been filled with; return and raise as :meth:`send` does."""
        codec = self._codec
        assert isinstance(codec, ArrowPort)  # noqa: S101 - nothing else makes drafts
        return self._send(codec.draft_message, draft, parameters)

    def discard(self, draft: Draft) -> None:
        """Give a draft back unless it was sent; from any thread, even while it holds the lock."""
        self._discarded.append(draft)

    def _abandon_discarded(self) -> None:
        while self._discarded:
            self._discarded.popleft().abandon()

    def _send(self, make: Callable[..., Any], value: Any, parameters: Mapping[str, Any] | None) -> str:
        with self._lock:
            if self._discarded:
                self._abandon_discarded()
            stamp = Stamp(time.time_ns(), self._incarnation, self._sent + 1)
            try:
                message = make(value, parameters, stamp)
            except TransportError as error:
                msg = f'output {self.id!r}: {error}'
                raise TransportError(msg) from error
            self._sent += 1
            publisher = self.publisher
            if publisher is None:
                return 'the node is not configured'
            try:
                publisher.publish(message)
            except RuntimeError as error:  # RCLError, or InvalidHandle after an operator's clean-up
                self.lost += 1
                return ' '.join(str(error).split()) or type(error).__name__
            self._codec.prepare()
        return ''

    def acknowledged(self, timeout: float) -> bool:
        """Return whether, within ``timeout`` seconds, every subscriber has what was sent."""
        publisher = self.publisher
        if publisher is None:
            return True
        try:
            return bool(publisher.wait_for_all_acked(Duration(seconds=timeout)))
        except RuntimeError:  # InvalidHandle: there is nobody left to wait for
            return True
