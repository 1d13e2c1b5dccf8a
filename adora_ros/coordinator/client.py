"""The way to the coordinator for programs without an event loop of their own, such as the ``adora`` command."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.node import Node
from std_srvs.srv import Trigger

from adora_ros.coordinator import overview
from adora_ros.coordinator.protocol import STORE
from adora_ros.coordinator.records import Wanted
from adora_ros.coordinator.storenode import from_message, to_message
from adora_ros.errors import CoordinatorError, TransportError
from adora_ros.transport.rosthread import RosThread

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from adora_ros.coordinator.overview import DataflowInfo, MachineInfo, Overview
    from adora_ros.coordinator.parameters import Value
    from adora_ros.dataflow import Dataflow

REPEAT = 1.0
"""Seconds after which a question is asked again. One to a coordinator that was killed is lost, and so is the answer to
a client that the coordinator has not found yet, as over a discovery server."""


class CoordinatorClient:
    """Asks the coordinator of the ROS domain. It is a context manager; every question has a deadline.

    Args:
        timeout: Seconds that each question may take, the search for the coordinator included.

    """

    def __init__(self, timeout: float = 5.0) -> None:
        self._timeout = timeout
        self._ros = RosThread()
        name = f'client_{os.getpid()}'
        self._node = self._ros.add(lambda context: Node(name, namespace='/adora', context=context))
        # Kept, since each new one has to be found by the coordinator before it is answered.
        self._clients: dict[str, Any] = {}
        self._ros.start()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave ROS."""
        self.close()

    def close(self) -> None:
        """Leave ROS."""
        self._ros.close()

    def overview(self) -> Overview:
        """Return all dataflows and machines.

        Raises:
            CoordinatorError: no coordinator answers.

        """
        answer = self._ask(Trigger, overview.SERVICE, Trigger.Request())
        try:
            return overview.decode(answer.message)
        except TransportError as error:
            raise CoordinatorError(str(error)) from error

    def list(self) -> tuple[DataflowInfo, ...]:
        """Return all dataflows that the coordinator knows, past and present, the oldest first.

        Raises:
            CoordinatorError: no coordinator answers.

        """
        return self.overview().dataflows

    def machines(self) -> tuple[MachineInfo, ...]:
        """Return all machines that the coordinator knows, by name.

        Raises:
            CoordinatorError: no coordinator answers.

        """
        return self.overview().machines

    def find(self, name: str) -> DataflowInfo:
        """Return a dataflow by its name, its uuid or the beginning of that.

        A name that several runs have had stands for the one that has not ended, else for the last one.

        Raises:
            CoordinatorError: there is none, or several that it may stand for; the text lists them.

        """
        known = self.list()
        named = [info for info in known if info.name == name]
        found = [info for info in named if not info.status.final] or named[-1:]
        found = found or [info for info in known if info.uuid.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            candidates = ', '.join(f'{info.uuid} ({info.name}, {info.status.value})' for info in found)
            msg = f'`{name}` may be any of {candidates}; give more of the uuid'
        else:
            names = ', '.join(sorted({info.name for info in known if not info.status.final})) or 'none'
            msg = f'there is no dataflow `{name}`; those that have not ended: {names}'
        raise CoordinatorError(msg)

    def start(self, dataflow: Dataflow) -> str:
        """Have a dataflow started by the managers that wait on its machines, and return its uuid.

        This returns when the coordinator has the record and found a waiting manager for every node. How the start goes
        on is in the record: its status is Pending, then Running or Failed.

        Raises:
            CoordinatorError: no coordinator answers, a dataflow of that name runs already, or no manager waits on one
                of the machines; the text lists those where one does.

        """
        self.overview()
        run = str(uuid.uuid4())
        wanted: dict[str, Value] = {
            'name': dataflow.name,
            'descriptor': json.dumps(dataflow.descriptor, default=str),
            'file': str(dataflow.file),
            'machines': tuple(sorted({node.machine or '' for node in dataflow.nodes})),
            'wanted': Wanted.RUN.value,
            'generation': 1,
        }
        self._write(f'dataflows.{run}', wanted)
        return run

    def stop(self, name: str) -> DataflowInfo:
        """Have a dataflow stopped on all of its machines, and return how it was before.

        This returns when the coordinator has noted it; :meth:`list` shows when all has ended.

        Args:
            name: Name of the dataflow, its uuid or the beginning of that.

        Raises:
            CoordinatorError: there is none, it has ended, or no coordinator answers.

        """
        info = self.find(name)
        if info.status.final and not info.presumed:
            msg = f'dataflow {info.name} has ended: it is {info.status.value} ({info.uuid})'
            raise CoordinatorError(msg)
        prefix = f'dataflows.{info.uuid}'
        while True:
            generation = self._read(f'{prefix}.generation')
            try:
                self._write(prefix, {'wanted': Wanted.STOP.value, 'generation': int(str(generation)) + 1})
            except CoordinatorError:
                if self._read(f'{prefix}.generation') == generation:
                    raise
            else:
                return info

    def _read(self, name: str) -> Value | None:
        answer = self._ask(GetParameters, f'{STORE}/get_parameters', GetParameters.Request(names=[name]))
        return from_message(answer.values[0])

    def _write(self, prefix: str, values: dict[str, Value]) -> None:
        parameters = [Parameter(name=f'{prefix}.{name}', value=to_message(value)) for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        answer = self._ask(SetParametersAtomically, f'{STORE}/set_parameters_atomically', request)
        # What has been written, and whose answer was lost, is refused when it is asked for again.
        if not answer.result.successful and self._read(f'{prefix}.wanted') != values['wanted']:
            raise CoordinatorError(answer.result.reason)

    def _ask(self, kind: Any, service: str, request: Any) -> Any:
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, service)
        answer = self._answer(self._clients[service], request)
        if answer is None:
            domain = os.environ.get('ROS_DOMAIN_ID') or '0'
            msg = (
                f'{service} did not answer within {self._timeout:g} s: no coordinator in ROS domain {domain}? '
                'start one with `ros2 run adora_ros coordinator`'
            )
            raise CoordinatorError(msg)
        return answer

    def _answer(self, client: Any, request: Any) -> Any:
        deadline = time.monotonic() + self._timeout
        if not client.wait_for_service(self._timeout):
            return None
        while (left := deadline - time.monotonic()) > 0:
            answered = threading.Event()
            future = client.call_async(request)
            future.add_done_callback(lambda _, answered=answered: answered.set())
            if answered.wait(min(REPEAT, left)):
                return future.result()
            client.remove_pending_request(future)
        return None
