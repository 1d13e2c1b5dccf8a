"""What the services and actions of dora's ROS 2 bridge have in common: types by name, and waits with a limit."""

from __future__ import annotations

import importlib
import queue
import threading
from typing import Any, TypeVar

from adora_ros.compat.ros2qos import KEEP_ALL
from adora_ros.dataflow.interfaces import WORDS
from adora_ros.errors import TransportError

T = TypeVar('T')

TAKE = 1.0
"""Seconds that a wait for what comes by itself takes unless it says otherwise."""


def interface_class(kind: str, type_name: str) -> type[Any]:
    """Return the class of a service or action type, like ``example_interfaces/AddTwoInts``.

    Args:
        kind: ``srv`` or ``action``.
        type_name: the type, with or without its kind.

    Raises:
        TransportError: there is none of that name.

    """
    package, _, name = type_name.replace('::', '/').replace(f'/{kind}/', '/').partition('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)  # type: ignore[no-any-return]
    except (ImportError, AttributeError, ValueError) as error:
        msg = f'{WORDS[kind]} {type_name!r}: {error}; source the workspace or install the package that has it'
        raise TransportError(msg) from error


def wait(future: Any, timeout: float) -> Any:
    """Return the result of a future, None if it does not come within ``timeout`` seconds."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return future.result() if done.wait(timeout) else None


def take(waiting: queue.SimpleQueue[T], timeout: float | None) -> T | None:
    """Return the next item, None if there is none within ``timeout`` seconds, :data:`TAKE` unless given."""
    try:
        return waiting.get(timeout=TAKE if timeout is None else timeout)
    except queue.Empty:
        return None


def keep(waiting: queue.SimpleQueue[T], item: T) -> None:
    """Add an item; where :data:`KEEP_ALL` wait already, the oldest makes room."""
    while waiting.qsize() >= KEEP_ALL:
        take(waiting, 0.0)
    waiting.put(item)
