"""A manager that waits: it takes its machine's share of every dataflow that the coordinator starts.

Each share gets a manager in a process of its own, which outlives a waiting manager that crashes: the nodes of a robot
do not depend on it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from adora_ros.coordinator import machines
from adora_ros.coordinator.machines import MachineReport, Start
from adora_ros.dataflow import loads
from adora_ros.dataflow.share import share
from adora_ros.errors import AdoraError
from adora_ros.manager.peerlog import listen_to_machines
from adora_ros.manager.preparation import variables
from adora_ros.manager.ros import heartbeat_period
from adora_ros.transport import dds
from adora_ros.transport.claims import NameClaim
from adora_ros.transport.rosthread import RosThread
from adora_ros.transport.rundir import dataflow_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.context import Context

QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched, so that a coordinator that starts later learns at once who waits."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WELL = frozenset({0, 128 + signal.SIGINT, 128 + signal.SIGTERM})
"""Exit codes of a manager whose run has not failed."""
PATIENCE = 4.0
"""Seconds within which a start is answered."""


class StandbyNode(Node):
    """``/adora/machine_<machine>``: says that a manager waits, and takes what it is to start."""

    def __init__(self, machine: str, *, context: Context, on_start: Callable[[str], str]) -> None:
        """Offer the service.

        Args:
            machine: Name of the machine.
            context: Where the node lives.
            on_start: Takes a start as JSON and returns why it cannot be; empty if it can. Called on the ROS thread.

        """
        super().__init__(
            machines.node_name(machine), namespace='/adora', context=context, start_parameter_services=False
        )
        self.period = heartbeat_period(self)
        self._on_start = on_start
        self._reports = self.create_publisher(String, machines.TOPIC, QOS)
        self.create_service(SetParametersAtomically, '~/set_parameters_atomically', self._set)

    def report(self, report: MachineReport) -> None:
        """Say how things are."""
        try:
            self._reports.publish(String(data=machines.encode(report)))
        except RuntimeError as error:
            self.get_logger().warning(f'{machines.TOPIC}: not published: {error}', throttle_duration_sec=5.0)

    def _set(self, request: Any, response: Any) -> Any:
        names = [parameter.name for parameter in request.parameters]
        if names == [machines.START]:
            reason = self._on_start(request.parameters[0].value.string_value)
        else:
            reason = f'what can be set is {machines.START} alone, not {", ".join(names) or "nothing"}'
        response.result = SetParametersResult(successful=not reason, reason=reason)
        return response


class Standby:
    """Waits for shares of dataflows and starts a manager for each, on the event loop.

    Args:
        machine: Name of the machine; its host name unless given.

    """

    def __init__(self, machine: str = '') -> None:
        hostname = socket.gethostname()
        self._machine = machine or hostname
        self._report = MachineReport(
            machine=self._machine,
            hostname=hostname,
            node=f'/adora/{machines.node_name(self._machine)}',
            named=bool(machine),
        )
        self._managers: dict[str, asyncio.subprocess.Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._log: Any = get_logger(f'adora.{machines.node_name(self._machine)}')

    async def main(self) -> int:
        """Wait until a signal comes, stop what runs, and return the exit code.

        Raises:
            ManagerError: a manager waits already for this machine.

        """
        self._loop = asyncio.get_running_loop()
        done = asyncio.Event()
        claim = NameClaim(self._report.node)
        for number in STOP_SIGNALS:
            self._loop.add_signal_handler(number, done.set)
        try:
            with variables(dds.environment_for_all('adora', os.environ)):
                self._ros = RosThread()
                self._node = self._ros.add(
                    lambda context: StandbyNode(self._machine, context=context, on_start=self._on_start)
                )
            listen_to_machines(self._node, self._machine, lambda _machine, text, _heard: self._log.warning(text))
            self._ros.start()
            await self._wait(done)
        finally:
            for number in STOP_SIGNALS:
                self._loop.remove_signal_handler(number)
            claim.release()
        return 0

    async def _wait(self, done: asyncio.Event) -> None:
        self._log.info(f'machine {self._machine} waits for dataflows')
        beating = self._loop.create_task(self._beat())
        try:
            await done.wait()
            for manager in self._managers.values():
                with contextlib.suppress(ProcessLookupError):
                    manager.terminate()
            await asyncio.gather(*self._tasks)
        finally:
            beating.cancel()
            self._say(dataclasses.replace(self._report, leaving=True))
            await self._loop.run_in_executor(None, self._ros.close)

    async def _beat(self) -> None:
        while True:
            self._node.report(self._report)
            await asyncio.sleep(self._node.period)

    def _say(self, report: MachineReport) -> None:
        self._report = report
        self._node.report(report)

    # Starting

    def _on_start(self, text: str) -> str:
        future = asyncio.run_coroutine_threadsafe(self._start(text), self._loop)
        try:
            return future.result(PATIENCE)
        except concurrent.futures.TimeoutError:
            future.cancel()
            return f'machine {self._machine} is busy, and did not start it within {PATIENCE:g} s'
        except (AdoraError, OSError) as error:
            return str(error).splitlines()[0]

    async def _start(self, text: str) -> str:
        start = machines.decode_start(text)
        if start.run in self._report.runs:
            return ''
        place = _place(start)
        share(loads(start.descriptor, path=place, name=start.name), self._machine, rest=start.rest)
        folder = dataflow_folder(start.name)
        stem = f'.{start.run}-{machines.node_name(self._machine)}'  # machines may share the folder
        file, complaints = folder / f'{stem}.json', folder / f'{stem}.err'
        with contextlib.ExitStack() as undo:
            undo.callback(complaints.unlink, missing_ok=True)
            undo.callback(file.unlink, missing_ok=True)
            file.write_text(start.descriptor, encoding='utf-8')
            with complaints.open('wb') as sink:
                manager = await asyncio.create_subprocess_exec(
                    *self._command(start, file, place),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=sink,
                    start_new_session=True,
                )
            undo.pop_all()
        self._managers[start.run] = manager
        self._log.info(f'starts its share of dataflow {start.name} ({start.run}, pid {manager.pid})')
        self._say(dataclasses.replace(self._report, runs=(*self._report.runs, start.run)))
        task = self._loop.create_task(self._watch(start, manager, file, complaints))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return ''

    def _command(self, start: Start, file: Path, place: Path) -> tuple[str, ...]:
        rest = ('--rest',) if start.rest else ()
        ros = ('--ros-args', '-p', f'heartbeat_period:={self._node.period}')
        return (
            *(sys.executable, '-m', 'adora_ros.cli.manager', '--dataflow', str(file), '--place', str(place)),
            *('--name', start.name, '--machine', self._machine, '--run-id', start.run, *rest),
            *('--quiet', '--color', 'never', *ros),
        )

    async def _watch(self, start: Start, manager: asyncio.subprocess.Process, file: Path, complaints: Path) -> None:
        """Wait for the end of a manager and report it, since the manager itself may not have been able to."""
        code = await manager.wait()
        del self._managers[start.run]
        said = await self._loop.run_in_executor(None, _take_away, file, complaints)
        self._log.info(f'dataflow {start.name}: its manager ended with {code} ({start.run})')
        why = ''
        if code not in WELL:
            why = f'its manager ended: {_killed_by(-code) if code < 0 else said or f"exit code {code}"}'
        self._say(machines.with_end(self._report, start.run, why))


def _place(start: Start) -> Path:
    """Return where a dataflow is taken to be: where it was started from, if there is such a folder here, too."""
    given = Path(start.file)
    return given if start.file and given.parent.is_dir() else Path.cwd() / (given.name or f'{start.name}.yml')


def _take_away(file: Path, complaints: Path) -> str:
    """Remove the files of a start and return the last line of the complaints."""
    said = complaints.read_text(encoding='utf-8', errors='replace').strip().splitlines()
    for each in (file, complaints):
        each.unlink(missing_ok=True)
    return said[-1] if said else ''


def _killed_by(number: int) -> str:
    try:
        return f'signal:{signal.Signals(number).name}'
    except ValueError:
        return f'signal:{number}'
