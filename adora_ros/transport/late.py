"""Services whose answers take longer than the thread that serves ROS can wait."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class _Later:
    """Stands in for a response until there is one."""

    request: Any
    response: Any


def answer_later(
    service: Any, submit: Callable[[Callable[[], None]], object], *, warn: Callable[[str], object]
) -> None:
    """Have a service's callback called, and its response sent, by another thread.

    rclpy has coroutines for this. Its EventsExecutor does not know those of services on Jazzy, though, and on Kilted it
    ends the process when one raises.

    Args:
        service: The rclpy service; its callback takes a request and a response, and returns the response.
        submit: Hands what is to be done over to the other thread.
        warn: Takes the text if a request stays without an answer because of an exception.

    """
    callback, send = service.callback, service.send_response

    def answer(later: _Later, header: Any) -> None:
        try:
            send(callback(later.request, later.response), header)
        except Exception:  # noqa: BLE001 - nobody else hears of it in that thread
            warn(f'a request was not answered:\n{traceback.format_exc()}')

    service.callback = _Later
    service.send_response = lambda later, header: submit(lambda: answer(later, header))
