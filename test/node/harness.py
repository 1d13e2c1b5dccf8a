"""A stand-in for the manager: starts real node processes and speaks the contract with them."""

from __future__ import annotations

import dataclasses
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rclpy.executors

from adora_ros.compat import with_shims
from adora_ros.transport.contract import (
    CONFIG_VARIABLE,
    CONTROL_PACKET_LIMIT,
    NOTIFY_VARIABLE,
    WATCHDOG_VARIABLE,
    InputConfig,
    ManagerOp,
    NodeConfig,
    OutputConfig,
    pack,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar('T')

ROOT = Path(__file__).parents[2]
DEADLINE = 20.0
_numbers = itertools.count(1)


FAST_DDS_PROFILE = """<?xml version="1.0" encoding="UTF-8" ?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <participant profile_name="test" is_default_profile="true"><rtps>
    <builtin><discovery_config>
      <leaseAnnouncement><sec>0</sec><nanosec>200000000</nanosec></leaseAnnouncement>
    </discovery_config></builtin>
  </rtps></participant>
</profiles></dds>
"""
"""Two processes that start together may miss each other's first announcement: do not wait 3 s for the next."""


def _fast_discovery(folder: Path) -> dict[str, str]:
    jazzy = not hasattr(rclpy.executors.Executor, 'create_future')
    variable = 'FASTRTPS_DEFAULT_PROFILES_FILE' if jazzy else 'FASTDDS_DEFAULT_PROFILES_FILE'
    file = folder / 'fastdds.xml'
    file.write_text(FAST_DDS_PROFILE, encoding='utf-8')
    return {variable: str(file)}


class NodeProcess:
    """One node process, with both of its sockets.

    Args:
        folder: where its script is written.
        script: Python text.
        watchdog: seconds for ``WATCHDOG_USEC``, None for none.
        config: fields of its :class:`NodeConfig`.

    """

    def __init__(self, folder: Path, script: str, *, watchdog: float | None = None, **config: Any) -> None:
        number = next(_numbers)
        self.config = NodeConfig(**{'dataflow': 'df', 'dataflow_id': 'run', 'namespace': '/df', **config})
        self.packets: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.notices: list[tuple[float, str]] = []
        self.lines: list[str] = []
        self._requests = itertools.count(1)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        address = f'adora-test-{os.getpid()}-{number}'
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind('\0' + address)
        file = folder / f'{self.config.node_id}_{number}.py'
        file.write_text(textwrap.dedent(script), encoding='utf-8')
        config_text = dataclasses.replace(self.config, control_fd=theirs.fileno()).to_json()
        environment = {
            **os.environ,
            **with_shims({'PYTHONPATH': str(ROOT)}),
            'PYTHONUNBUFFERED': '1',
            'OPENBLAS_NUM_THREADS': '1',
            CONFIG_VARIABLE: config_text,
            NOTIFY_VARIABLE: '@' + address,
            **_fast_discovery(folder),
        }
        if watchdog is not None:
            environment[WATCHDOG_VARIABLE] = str(int(watchdog * 1e6))
        self.process = subprocess.Popen(
            [sys.executable, str(file)],
            env=environment,
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        theirs.close()
        self._reader = threading.Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    def transition(self, name: str, subscribers: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
        """Ask for a transition and return the reply."""
        number = next(self._requests)
        names = {output: dict.fromkeys(names, 0) for output, names in (subscribers or {}).items()}
        more = {} if subscribers is None else {'subscribers': names}
        self.send(ManagerOp.TRANSITION, id=number, transition=name, **more)
        return self.packet(lambda p: p['op'] == 'reply' and p['id'] == number)

    def start(self, subscribers: Mapping[str, Sequence[str]] | None = None) -> None:
        """Wait until the node can be driven, then configure and activate it."""
        self.configure()
        self.activate(subscribers)

    def configure(self) -> None:
        """Wait until the node can be driven, then configure it."""
        self.notice('READY=1')
        reply = self.transition('configure')
        assert reply['ok'], reply

    def activate(self, subscribers: Mapping[str, Sequence[str]] | None = None) -> None:
        """Activate the node."""
        reply = self.transition('activate', subscribers)
        assert reply['ok'], reply

    def send(self, op: ManagerOp, **keys: Any) -> None:
        """Send a control packet."""
        self._control.send(pack(op, **keys))

    def stop(self, cause: str = 'MANUAL') -> None:
        """Send a STOP."""
        self.send(ManagerOp.STOP, cause=cause)

    def packet(self, matches: Callable[[dict[str, Any]], bool], timeout: float = DEADLINE) -> dict[str, Any]:
        """Return the first control packet that matches, those that came before included."""
        return self.until(lambda: next((p for p in self.packets if matches(p)), None), timeout)

    def notice(self, text: str, timeout: float = DEADLINE) -> str:
        """Wait for a notification."""
        return self.until(lambda: text if any(n == text for _, n in self.notices) else None, timeout)

    def line(self, text: str, timeout: float = DEADLINE) -> str:
        """Return the first line of output that begins with ``text``."""
        return self.until(lambda: next((line for line in self.lines if line.startswith(text)), None), timeout)

    def until(self, get: Callable[[], T | None], timeout: float = DEADLINE) -> T:
        """Wait until ``get`` returns something, and return that."""
        deadline = time.monotonic() + timeout
        while True:
            self.pump(0.0)
            if (result := get()) is not None:
                return result
            if time.monotonic() > deadline:
                raise AssertionError(self.report(f'nothing within {timeout} s'))
            self.pump(0.02)

    def wait(self, timeout: float = DEADLINE) -> int:
        """Wait for the end of the process and of its output; return the exit code."""
        code = self.until(self.process.poll, timeout)
        self._reader.join(DEADLINE)
        while self.pump(0.0):
            pass
        return code

    def pump(self, timeout: float) -> bool:
        """Take in what has arrived on the sockets; return whether anything had."""
        readable = select.select([s for s in (self._control, self._notify) if s.fileno() >= 0], [], [], timeout)[0]
        if self._notify in readable:
            self.notices.append((time.monotonic(), self._notify.recv(4096).decode()))
        if self._control in readable:
            packet = self._control.recv(CONTROL_PACKET_LIMIT)
            if packet:
                self.packets.append(unpack(packet))
                self.times.append(time.monotonic())
            else:
                self.hang_up()
        return bool(readable)

    def ops(self, *names: str) -> list[dict[str, Any]]:
        """Return the packets with one of these ops."""
        return [p for p in self.packets if p['op'] in names]

    def hang_up(self) -> None:
        """Close the control socket, as a dying manager does."""
        self._control.close()

    def report(self, text: str) -> str:
        """Return ``text`` with all that is known about the node."""
        output = '\n'.join(self.lines)
        return f'{text}\nrc {self.process.poll()}\npackets {self.packets}\nnotices {self.notices}\noutput:\n{output}'

    def kill(self) -> None:
        """End the process, whatever it is doing, and free everything."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join(DEADLINE)
        self._control.close()
        self._notify.close()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _read_lines(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip('\n'))


class Dataflow:
    """The processes of a test.

    Args:
        folder: for the scripts.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: list[NodeProcess] = []

    def node(self, node_id: str, script: str, **options: Any) -> NodeProcess:
        """Start a node; see :class:`NodeProcess` for the options."""
        options.setdefault('name', node_id)
        node = NodeProcess(self.folder, script, node_id=node_id, **options)
        self.nodes.append(node)
        return node

    def close(self) -> None:
        """End every process."""
        for node in self.nodes:
            node.kill()


def topic_input(input_id: str = 'in', source: str = 'src/out', **options: Any) -> InputConfig:
    """Return an input that reads an output of a node."""
    node, output = source.split('/')
    return InputConfig(id=input_id, source=source, node=node, topic=f'/df/{node}/{output}', **options)


def timer_input(input_id: str, period: float, **options: Any) -> InputConfig:
    """Return a timer."""
    return InputConfig(id=input_id, source=f'dora/timer/millis/{round(period * 1000)}', period=period, **options)


def topic_output(output_id: str = 'out', node: str = 'src', **options: Any) -> OutputConfig:
    """Return an output."""
    return OutputConfig(id=output_id, topic=f'/df/{node}/{output_id}', **options)
