"""Runs a dataflow of ``config/`` as a user would, and keeps what its manager says and what its topics carry."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions

from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).resolve().parents[2]
RUN_LIMIT = 90.0
"""Seconds that a run may take on a busy machine."""
STOP_LIMIT = 20.0
"""Seconds that a stopped run may take to end: longer than the whole stop ladder."""
LATCHED = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a manager."""

    seq: int
    kind: str
    node: str
    incarnation: int
    level: str
    text: str
    values: Mapping[str, str]

    @classmethod
    def of(cls, message: Any) -> Event:
        """Return the event that a message of the events topic carries."""
        (status,) = message.status
        values = {pair.key: pair.value for pair in status.values}
        return cls(
            seq=int(values['seq']),
            kind=values['event'],
            node=values['node'],
            incarnation=int(values['incarnation']),
            level=values['level'],
            text=status.message,
            values=values,
        )

    def line(self) -> str:
        """Return what of the event does not depend on time."""
        values = self.values
        facts: Mapping[str, Callable[[], object]] = {
            'NODE_STARTING': lambda: self.incarnation,
            'NODE_RESTARTED': lambda: f'{self.incarnation} for {values["consumers"]}',
            'NODE_EXITED': lambda: values['reason'].split(':')[0],
            'NODE_KILLED': lambda: values['cause'],
            'NODE_ENDED': lambda: values['state'],
            'RESTART_SCHEDULED': lambda: f'in {float(values["delay"]):g} s',
            'GAVE_UP': lambda: f'after {values["restarts"]}',
            'NODE_FAILED': lambda: f'{values["source"]} feeding {values["inputs"]}: {values["error"]}',
            'INPUT_CLOSED': lambda: f'{values["input"]} {"silent" if self.is_silence else "ended"}',
            'INPUT_RECOVERED': lambda: values['input'],
        }
        return f'{self.kind} {facts.get(self.kind, str)()}'.rstrip()

    @property
    def is_silence(self) -> bool:
        """Whether an input was closed by silence."""
        return self.kind == 'INPUT_CLOSED' and 'silent for' in self.text


class Listener:
    """A plain ROS node in a thread of this process that keeps the events of a dataflow and the speeds on topics."""

    def __init__(self, dataflow: str, speeds: tuple[str, ...]) -> None:
        """Subscribe.

        Args:
            dataflow: Its name.
            speeds: Topics of type ``geometry_msgs/msg/Twist``.

        """
        self.events: list[Event] = []
        self.speeds: dict[str, list[tuple[float, float]]] = {topic: [] for topic in speeds}
        """For each topic the time of arrival by the steady clock and the speed ahead."""
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('listener', context=self._context, use_global_arguments=False)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._node.create_subscription(DiagnosticArray, f'/{dataflow}/events', self._take_event, LATCHED)
        for topic in speeds:
            self._node.create_subscription(Twist, topic, self._speed_taker(topic), 100)
        self._closing = False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave ROS."""
        self._closing = True
        self._executor.create_task(lambda: None)
        self._thread.join(STOP_LIMIT)
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    def _spin(self) -> None:
        while not self._closing:
            self._executor.spin_once(1.0)

    def _take_event(self, message: Any) -> None:
        self.events.append(Event.of(message))

    def _speed_taker(self, topic: str) -> Any:
        def take(message: Any) -> None:
            self.speeds[topic].append((time.monotonic(), message.linear.x))

        return take


class Situation:
    """One run of ``config/<name>.yml``."""

    def __init__(self, name: str, folder: Path, *, speeds: tuple[str, ...] = ()) -> None:
        """Start it.

        Args:
            name: The dataflow.
            folder: For its output.
            speeds: Topics to listen to, see :class:`Listener`.

        """
        self._file = folder / f'{name}.txt'
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH'))))
        with self._file.open('wb') as file:
            self._process = subprocess.Popen(
                [sys.executable, '-m', 'adora_ros.cli', 'run', str(ROOT / 'config' / f'{name}.yml')],
                cwd=folder,
                env={**os.environ, 'PYTHONPATH': path},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # One that had been there before would first be heard of at its next announcement, 3 s later.
        eventually(lambda: 'DATAFLOW_STARTING' in self.output(), RUN_LIMIT)
        self.listener = Listener(name, speeds)

    def close(self) -> None:
        """End what is left of it."""
        if self._process.poll() is None:
            self.interrupt()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_LIMIT)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.listener.close()

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def wait(self, timeout: float = RUN_LIMIT) -> int:
        """Wait for its end and return the exit code.

        Raises:
            AssertionError: It did not end in time, or an event got lost.

        """
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            msg = f'no end within {timeout} s:\n{self.output()}'
            raise AssertionError(msg) from None
        eventually(self._has_every_event, 5.0, f'every event of\n{self.output()}')
        return code

    def _has_every_event(self) -> bool:
        events = self.events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        kinds = [event.kind for event in events]
        assert kinds[-1:] == ['DATAFLOW_ENDED'], kinds
        return True

    def output(self) -> str:
        """Return what it has printed."""
        return self._file.read_text(encoding='utf-8')

    def printed(self, node: str) -> list[str]:
        """Return the lines that a node has printed on its standard output."""
        return re.findall(rf'^{node} +\| (.*)$', self.output(), re.MULTILINE)

    def summary(self, node: str) -> list[str]:
        """Return the cells of a node's row in the table at the end, without the up time."""
        rows = [row for row in self.output().split('\n\n')[-1].splitlines() if row.startswith(f'{node} ')]
        assert len(rows) == 1, self.output()
        return re.split(r' {2,}', rows[0])[:4]

    def last_line(self) -> str:
        """Return the last line that it has printed."""
        return self.output().splitlines()[-1]

    def events(self, kind: str | None = None, node: str | None = None) -> list[Event]:
        """Return the events so far, of one kind and about one node if these are given."""
        return [e for e in tuple(self.listener.events) if kind in {None, e.kind} and node in {None, e.node}]

    def event(self, kind: str, node: str, count: int = 1) -> Event:
        """Wait for event number ``count`` of a kind about a node."""
        return eventually(lambda: self.events(kind, node)[count - 1 :], RUN_LIMIT, f'{kind} of {node}')[0]

    def pid(self, node: str) -> int:
        """Return the process id of the last incarnation of a node."""
        self.event('NODE_STARTING', node)
        match = re.search(r'pid (\d+)', self.events('NODE_STARTING', node)[-1].text)
        assert match is not None
        return int(match[1])

    def story(self, node: str) -> list[str]:
        """Return one line for each event about a node.

        Where a source ends, its consumer may notice the silence before the manager can tell it; the two count as the
        one end that they are.
        """
        events = self.events(node=node)
        return [event.line() for number, event in enumerate(events) if not _is_end(event, events[number + 1 :])]


def _is_end(event: Event, later: list[Event]) -> bool:
    """Return whether an input was closed by silence and did not recover before its source ended."""
    name = event.values.get('input')
    after = [other.line() for other in later if other.values.get('input') == name]
    return event.is_silence and after == [f'INPUT_CLOSED {name} ended']
