"""A short stay in ROS: what a command needs to look and to ask, with a deadline on everything."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.parameter import Parameter

from adora_ros.errors import AdoraError, NoAnswerError
from adora_ros.transport import dds
from adora_ros.transport.leaving import leave
from adora_ros.transport.rosinit import start_ros

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from typing_extensions import Self

STEP = 0.05
"""Seconds between two looks at a condition at most."""


class Session:
    """A hidden node that is there for as long as a command runs; for one thread.

    While it is entered, Ctrl-C ends a :meth:`wait` and nothing else: in the middle of rclpy a KeyboardInterrupt may be
    lost, or come out as another error.
    """

    def __init__(self) -> None:
        self._context = Context()
        with _profile():
            start_ros(self._context, ['--ros-args', '--disable-external-lib-logs'], writes_log=False)
            self.node = rclpy.create_node(
                f'_adora_cli_{os.getpid()}',
                context=self._context,
                enable_rosout=False,
                start_parameter_services=False,
                parameter_overrides=[Parameter('start_type_description_service', value=False)],
            )
        self._failure: BaseException | None = None
        self._handler: Any = None
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)

    def __enter__(self) -> Self:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown()
        leave(self._leave)
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def _leave(self) -> None:
        self.node.destroy_node()
        self._context.shutdown()

    def _interrupt(self, _number: int, _frame: object) -> None:
        self._failure = KeyboardInterrupt()

    def subscribe(self, kind: Any, topic: str, callback: Callable[[Any], None], qos: Any, **options: Any) -> None:
        """Have a callback called, while something is waited for, with what comes on a topic.

        What it raises is raised where that is waited for: rclpy would write it to the terminal instead.
        """

        def take(message: Any) -> None:
            try:
                if self._failure is None:
                    callback(message)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is raised in wait()
                self._failure = error

        self.node.create_subscription(kind, topic, take, qos, **options)

    def wait(self, condition: Callable[[], object], timeout: float) -> bool:
        """Serve callbacks until ``condition()`` is true or ``timeout`` seconds have passed; return whether it is.

        Raises:
            Exception: what a callback of :meth:`subscribe` has raised.
            KeyboardInterrupt: Ctrl-C was pressed.

        """
        deadline = time.monotonic() + timeout
        while not condition():
            if self._failure is not None:
                raise self._failure
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._executor.spin_once(min(STEP, left))
        return True

    def call(self, kind: Any, service: str, request: Any, timeout: float) -> Any:
        """Call one service and return its answer; see :meth:`call_all`."""
        return self.call_all(kind, {service: request}, timeout)[service]

    def call_all(self, kind: Any, requests: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Call services at the same time and return their answers by name.

        Args:
            kind: Their type.
            requests: Requests by the full name of the service.
            timeout: Seconds for all of them together.

        Raises:
            NoAnswerError: one did not answer in time; the text names it.

        """
        deadline = time.monotonic() + timeout
        futures = self.send_all(kind, requests, timeout)
        for name, future in futures.items():
            if not self.wait(future.done, deadline - time.monotonic()):
                raise NoAnswerError(_silent(name, timeout))
        return {name: future.result() for name, future in futures.items()}

    def send_all(self, kind: Any, requests: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Send requests as soon as their services are there, and return the futures of the answers.

        Args:
            kind: The type of the services.
            requests: Requests by the full name of the service.
            timeout: Seconds in which the services have to be there.

        Raises:
            NoAnswerError: one is not there; the text names it.

        """
        deadline = time.monotonic() + timeout
        futures: dict[str, Any] = {}
        for name, request in requests.items():
            client: Any = self.node.create_client(kind, name)
            if not self.wait(client.service_is_ready, deadline - time.monotonic()):
                raise NoAnswerError(_silent(name, timeout))
            futures[name] = client.call_async(request)
        return futures


def _silent(service: str, timeout: float) -> str:
    return f'{service} did not answer within {timeout:g} s'


@contextlib.contextmanager
def _profile() -> Any:
    """Select the Fast DDS profile with which all processes of this host are found."""
    env: dict[str, str] = {}
    with contextlib.suppress(AdoraError):  # without it all but very many processes are found, too
        env = dds.environment_for_all('adora', os.environ)
    os.environ.update(env)
    try:
        yield
    finally:
        for name in env:
            del os.environ[name]
