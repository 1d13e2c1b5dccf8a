"""Values that a node writes in place."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from adora_ros.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Sample:
    """Memory for a value of bytes, which is sent without a copy where it is in shared memory.

    As a context manager it gives the buffer and sends at the end of the block, unless that ends with an exception::

        with node.send_output_raw('image', height * width * 3) as buffer:
            np.asarray(buffer).reshape(height, width, 3)[:] = frame

    Args:
        memory: to be written; an object with a buffer.
        send: sends what is in it.
        discard: called, from whatever thread, once the memory is out of everybody's hands.

    """

    def __init__(self, memory: Any, send: Callable[[], None], discard: Callable[[], object]) -> None:
        # Every view holds this array and nothing else does, so that it is gone when the last of them is.
        self._array: Any = np.asarray(memoryview(memory))
        self._send = send
        self._discard = discard
        self._unsent = weakref.finalize(self._array, discard)
        self._unsent.atexit = False
        self._buffer: memoryview | None = None

    def __enter__(self) -> memoryview:
        return self.as_buffer()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            self.send()

    def __del__(self) -> None:
        self._release_buffer()

    def as_buffer(self) -> memoryview:
        """Return the memory, the same object each time; it cannot be used after :meth:`send`.

        Raises:
            NodeError: it has been sent.

        """
        if self._buffer is None:
            self._buffer = self.as_memoryview()
        return self._buffer

    def as_memoryview(self) -> memoryview:
        """Return another view of the memory, which has to be released before :meth:`send`.

        Raises:
            NodeError: it has been sent.

        """
        self._check()
        return memoryview(self._array)

    def send(self) -> None:
        """Send what is in the memory, once.

        Raises:
            NodeError: it has been sent, or a view of the memory, such as an array of NumPy, is still open.
            TransportError: the metadata cannot be carried.

        """
        self._check()
        self._release_buffer()
        self._unsent.detach()
        alive = weakref.ref(self._array)
        self._array = None
        self._array = alive()
        if self._array is not None:
            self._unsent = weakref.finalize(self._array, self._discard)
            self._unsent.atexit = False
            msg = 'a view of the memory is still open: release or delete what was made of it, then send'
            raise NodeError(msg)
        try:
            self._send()
        finally:
            self._discard()

    def _check(self) -> None:
        if self._array is None:
            msg = 'the sample has already been sent: make another one with send_output_raw()'
            raise NodeError(msg)

    def _release_buffer(self) -> None:
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            with contextlib.suppress(BufferError):  # somebody uses it without a view of his own
                buffer.release()
