"""The threads and sockets of a node's process."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.experimental import EventsExecutor

from adora_ros.inputs import StopCause
from adora_ros.node import lastsign, notify
from adora_ros.node.control import ControlChannel
from adora_ros.node.inbox import Inbox, Phase
from adora_ros.node.ros import DataflowNode
from adora_ros.transport.contract import ManagerOp, NodeConfig, NodeOp, shortened
from adora_ros.transport.leaving import keep_factory, within_patience
from adora_ros.transport.lifepage import LifePage
from adora_ros.transport.ports import PayloadCounts
from adora_ros.transport.rosinit import start_ros

if TYPE_CHECKING:
    from collections.abc import Callable

    from adora_ros.node.output import Output

SPIN_PERIOD = 1.0
"""Longest time in seconds that one round of the executor waits."""

ERROR_PAUSE = 0.05
"""Seconds before the executor goes on after a failed callback."""

FLUSH_DEADLINE = 5.0
"""Seconds that the end of a node waits until its subscribers have everything. Discovery alone can take 3 s with the
default profile of Fast DDS, and a subscriber has nothing before it."""

FLUSH_PERIOD = 0.05
"""Longest time in seconds that a writer is asked to wait. Fast DDS asks its readers for an acknowledgement when the
wait begins and otherwise every 3 s, so several short waits end sooner than a long one."""

FLUSH_DEADLINE_STOPPING = 0.5
"""The same once the dataflow stops, when subscribers may be gone."""

FLUSH_DEADLINE_STOPPING_FAR = 2.0
"""The same for an output with subscribers on other machines, which are told to stop after this node has ended."""

JOIN_DEADLINE = 2.0
"""Seconds that the end of a node waits for its own threads."""


class Runtime:
    """Everything behind a :class:`~adora_ros.node.api.Node`.

    Args:
        config: what the manager says about this node.

    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._control = ControlChannel(config.control_fd, is_child=not config.dynamic)
        self._notifier, self.life = notify.from_environment()
        if config.life_fd is not None:
            self.life.page = LifePage(config.life_fd)
            os.close(config.life_fd)
        if config.end_fd is not None:
            lastsign.hold(config.end_fd)
        self.inbox = Inbox(config.inputs, post=self._control.post, flush=self._control.flush)
        self.declared = frozenset(output.id for output in config.outputs)
        self.closed = False
        """Whether the node has been closed by its user."""
        self._spinning = True
        self._accepting = True
        self._lock = threading.Lock()
        self._deliver_lock = threading.Lock()
        self._undelivered: deque[Callable[[], None]] = deque()
        self._owns_context = not rclpy.ok()
        if self._owns_context:
            start_ros(args=[])
        self.counts = PayloadCounts(self._warn)
        self._reported = (0, 0)
        self.life.on_interval = self._report_counts
        self.ros = DataflowNode(config, self.inbox, self._control.send, self.counts)
        self._executor = EventsExecutor()
        self._executor.add_node(self.ros)
        self.ros.defer = self._executor.create_task
        self._spinner = threading.Thread(target=self._spin, name='adora-ros', daemon=True)
        self._clock = threading.Thread(target=self.inbox.run_clock, name='adora-clock', daemon=True)

    def start(self) -> None:
        """Start the threads, then tell the manager that it can drive the node."""
        for input_id in self._config.closed_inputs:
            self.inbox.close_input(input_id)
        self._spinner.start()
        self._clock.start()
        self._control.start(self._on_packet, self._stop)
        self._control.send(NodeOp.HELLO, state=self.ros.state)
        self._notifier.send('READY=1')

    def stop_dataflow(self, reason: str) -> None:
        """Ask the manager to stop all nodes."""
        self._control.send(NodeOp.STOP_DATAFLOW, reason=shortened(reason))

    def stand_down(self) -> None:
        """Leave the active state, since the user's loop has been told to stop."""
        self._defer(self.ros.stand_down)

    def close(self) -> None:
        """Deliver what has been sent, then leave ROS; once."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        self._flush()
        self._report_counts()
        self._notifier.send_now('STOPPING=1')
        self._notifier.close()
        self.inbox.close()
        with self._lock:
            self._accepting = False
            self._executor.create_task(self._end)  # wake() alone does not always end spin_once()
        self._spinner.join(JOIN_DEADLINE)
        self.ros.answers.settle()
        # The process of a dynamic node is somebody else's.
        with contextlib.nullcontext() if self._config.dynamic else within_patience():
            self._executor.shutdown()
            self.ros.destroy_node()
            if self._owns_context:
                rclpy.try_shutdown()
        keep_factory()

    def _end(self) -> None:
        self.ros.report_state()
        self._spinning = False

    def _flush(self) -> None:
        start = time.monotonic()
        pending = tuple(self.ros.outputs.values())
        overdue: list[str] = []
        while pending:
            self.life.alive()
            waited = time.monotonic() - start
            overdue += [output.id for output in pending if waited >= self._patience(output)]
            pending = tuple(
                output for output in pending if output.id not in overdue and not output.acknowledged(FLUSH_PERIOD)
            )
        if overdue:
            text = f'the last messages may not have been received from: {", ".join(overdue)}'
            self.ros.get_logger().warning(text)

    def _patience(self, output: Output) -> float:
        if self.inbox.phase is not Phase.STOPPING:
            return FLUSH_DEADLINE
        return FLUSH_DEADLINE_STOPPING_FAR if output.far else FLUSH_DEADLINE_STOPPING

    def _warn(self, text: str) -> None:
        self.ros.get_logger().warning(text)
        self._control.send(NodeOp.WARNING, text=text)

    def _report_counts(self) -> None:
        counts = (self.counts.fallbacks, self.counts.drops)
        if counts != self._reported:
            self._reported = counts
            self._control.send(NodeOp.COUNTS, payload_fallbacks=counts[0], payload_drops=counts[1])

    def _spin(self) -> None:
        while self._spinning and self._spin_once():
            pass

    def _spin_once(self) -> bool:
        try:
            self._executor.spin_once(SPIN_PERIOD)
        except ExternalShutdownException:
            return False
        except Exception:  # noqa: BLE001 - a failing callback must not end the thread that serves all of them
            if not rclpy.ok():
                return False
            self.ros.get_logger().error(f'callback failed:\n{traceback.format_exc()}')
            time.sleep(ERROR_PAUSE)
        return True

    def _defer(self, function: Callable[..., object], *args: Any) -> None:
        """Run in the executor's thread, behind every message that has arrived by now."""
        with self._lock:
            if self._accepting:
                self._executor.create_task(function, *args)

    def _deliver(self, function: Callable[..., None], *args: Any) -> None:
        """Put a control event into the inbox, behind every message that has arrived by now."""
        self._undelivered.append(lambda: function(*args))
        self._defer(self._deliver_next)

    def _deliver_next(self) -> None:
        with self._deliver_lock:
            if self._undelivered:
                self._undelivered.popleft()()

    def _stop(self) -> None:
        """Stop at once: the executor may be busy, and the messages before it are dropped anyway."""
        while self._undelivered:
            self._deliver_next()
        self.inbox.stop(StopCause.MANUAL)
        self.stand_down()

    def _on_packet(self, packet: dict[str, Any]) -> None:
        op = packet['op']
        if op == ManagerOp.TRANSITION:
            self._defer(self.ros.drive, packet['id'], packet['transition'], packet.get('subscribers') or {})
        elif op == ManagerOp.STOP and packet['cause'] == StopCause.MANUAL:
            self._stop()
        elif op == ManagerOp.STOP:
            self._deliver(self.inbox.stop, StopCause(packet['cause']))
        elif op == ManagerOp.INPUT_CLOSED:
            self._deliver(self.inbox.close_input, packet['input'])
        elif op == ManagerOp.NODE_RESTARTED:
            self._deliver(self.inbox.node_restarted, packet['node'])
        elif op == ManagerOp.NODE_FAILED:
            self._deliver(self.inbox.node_failed, packet['node'], packet['error'], packet['inputs'])
