"""Where the callbacks of a tracker run."""

from __future__ import annotations

import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

Call = Callable[[], object]

ORDER_PATIENCE = 0.1
"""Seconds that a message waits for the callback that belongs before it; a callback that takes longer is overtaken."""
EXECUTOR_PERIOD = 0.01
"""Seconds between two attempts to find the executor of a node that has none at the moment."""


class Caller(Protocol):
    """Runs callbacks in the order in which they are given, one at a time."""

    def post(self, call: Call) -> None:
        """Have a callback run; never blocks."""

    def before_message(self, call: Call) -> None:
        """Have a callback run before the message that this thread is about to deliver."""

    def retry(self) -> float | None:
        """Try again what could not be handed over; return after how many seconds to do so once more, None if done."""

    def close(self) -> None:
        """Run nothing more."""


class ThreadCaller:
    """Runs callbacks on a thread of its own, which no executor and no other callback holds up."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._calls: queue.SimpleQueue[tuple[Call, threading.Event] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def post(self, call: Call) -> None:
        """See the protocol."""
        self._put(call)

    def before_message(self, call: Call) -> None:
        """See the protocol; waits :data:`ORDER_PATIENCE` at most."""
        self._put(call).wait(ORDER_PATIENCE)

    def retry(self) -> float | None:
        """See the protocol: there is nothing that cannot be handed over."""
        return None

    def close(self) -> None:
        """See the protocol."""
        self._closed = True
        self._calls.put(None)

    def _put(self, call: Call) -> threading.Event:
        done = threading.Event()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name='adora-callbacks', daemon=True)
            self._thread.start()
        self._calls.put((call, done))
        return done

    def _run(self) -> None:
        while (item := self._calls.get()) is not None and not self._closed:
            call, done = item
            run(call, self._node)
            done.set()


class ExecutorCaller:
    """Runs callbacks as tasks of the node's executor: nothing runs beside the node's other callbacks, or before them.

    In a MultiThreadedExecutor they are in no callback group.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._calls: deque[Call] = deque()
        self._order = threading.Lock()
        self._homeless = False

    def post(self, call: Call) -> None:
        """See the protocol."""
        self._calls.append(call)
        self._hand_over()

    def before_message(self, call: Call) -> None:
        """See the protocol: this is a thread of the executor."""
        self._calls.append(call)
        self._run()

    def retry(self) -> float | None:
        """See the protocol: a node that is not being spun has no executor."""
        if self._homeless:
            self._hand_over()
        return EXECUTOR_PERIOD if self._homeless else None

    def close(self) -> None:
        """See the protocol."""
        self._calls.clear()

    def _hand_over(self) -> None:
        executor = self._node.executor
        self._homeless = executor is None and bool(self._calls)
        if executor is not None:
            executor.create_task(self._run)

    def _run(self) -> None:
        with self._order:
            while self._calls:
                run(self._calls.popleft(), self._node)


def run(call: Call, node: Any) -> None:
    """Run a callback; one that fails must not end the thread that runs the others."""
    try:
        call()
    except Exception:  # noqa: BLE001 - logged with its traceback
        node.get_logger().error(f'callback failed:\n{traceback.format_exc()}')
