"""The manager's side of :mod:`adora_ros.coordinator.protocol`: tells a coordinator, if there is one, how a run goes."""

from __future__ import annotations

import dataclasses
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import Trigger

from adora_ros.coordinator import labels
from adora_ros.coordinator.protocol import (
    COORDINATOR,
    DEPTH,
    HEARTBEAT_PERIOD,
    INLINE_DESCRIPTOR,
    KEPT_STEPS,
    SERVICE,
    TOPIC,
    Report,
    ReportKind,
    Step,
    encode,
)
from adora_ros.coordinator.records import Status, check_step
from adora_ros.transport.claims import claims

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node

DISCOVERY = 3.0
"""Seconds in which a coordinator on this host has found a manager."""
POLL = 0.05
"""Seconds between two looks whether it has."""
REPORTS_QOS = QoSProfile(
    depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Latched, so that a coordinator that starts later gets the last reports at once."""
MATCH_POLL = 0.02
"""Seconds between two looks whether somebody listens."""


class Reporter:
    """Reports one run of a dataflow on one machine, from its start to its end.

    It needs no coordinator and never waits for one. Its methods may be called on any thread; what they say is published
    before they return.
    """

    def __init__(
        self,
        node: Node,
        dataflow: str,
        run_id: str,
        machine: str = '',
        *,
        descriptor: str = '',
        period: float = HEARTBEAT_PERIOD,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to report; nothing is published before the first step.

        Args:
            node: The manager's node; it gets a publisher and the service ``~/report``.
            dataflow: Name of the dataflow.
            run_id: The uuid of the run.
            machine: Name of the machine; by default its host name.
            descriptor: The dataflow as JSON.
            period: Seconds without a report after which :meth:`heartbeat` makes one.
            clock: Steady time in seconds.

        """
        self._node = node
        self._clock = clock
        self._period = period
        self._lock = threading.Lock()
        self._steps: deque[Step] = deque(maxlen=KEPT_STEPS)
        self._sent_at = clock()
        hostname = socket.gethostname()
        self._report = Report(
            kind=ReportKind.HEARTBEAT,
            run=run_id,
            dataflow=dataflow,
            machine=machine or hostname,
            hostname=hostname,
            service=node.resolve_service_name(SERVICE),
            last=Step(seq=0, status=Status.PENDING, error='', stamp=labels.now()),
        )
        self._descriptor = descriptor
        self._publisher = node.create_publisher(String, TOPIC, REPORTS_QOS)
        self._service = node.create_service(Trigger, SERVICE, self._answer)

    def transition(self, status: Status, error: str = '') -> None:
        """Report a step; the same state again is none.

        The first one is PENDING, RUNNING comes when all nodes are up, and SUCCEEDED or FAILED ends the run.

        Args:
            status: Where the dataflow is, as far as this machine runs it.
            error: Why it failed: ``node: reason``, joined by ``; ``. Left out unless it did.

        Raises:
            RecordError: the state cannot follow the last one.

        """
        with self._lock:
            last = self._report.last
            if last.seq and last.status is status:
                return
            if last.seq or status is not Status.PENDING:
                check_step(last.status, status)
            error = error if status is Status.FAILED else ''
            step = Step(seq=last.seq + 1, status=status, error=error, stamp=labels.now())
            self._steps.append(step)
            self._report = dataclasses.replace(self._report, last=step)
            first = step.seq == 1 and len(self._descriptor.encode()) <= INLINE_DESCRIPTOR
            self._publish(ReportKind.STEP, descriptor=self._descriptor if first else '')

    def heartbeat(self) -> None:
        """Report that the manager lives, if somebody listens and nothing was reported for a period.

        Call this as often as you like. Where nobody listens the topic keeps the last steps for who comes later.
        """
        with self._lock:
            last = self._report.last
            due = self._clock() - self._sent_at >= self._period
            if last.seq and not last.status.final and due and self._publisher.get_subscription_count():
                self._publish(ReportKind.HEARTBEAT)

    def close(self, timeout: float = 0.5, *, expected: bool = False) -> None:
        """End: say so, and wait a moment until a coordinator, if there is one, has it all.

        Args:
            timeout: Seconds to wait at most.
            expected: Whether there should be one: then it gets the time to find this end of the topic, too.

        """
        deadline = self._clock() + timeout
        while expected and not self._publisher.get_subscription_count() and self._clock() < deadline:
            time.sleep(MATCH_POLL)
        with self._lock:
            if self._report.last.seq:
                self._publish(ReportKind.BYE)
        try:
            self._wait_to_be_found()
            self._publisher.wait_for_all_acked(Duration(seconds=timeout))
        except RuntimeError as error:
            self._node.get_logger().warning(f'{TOPIC}: not known whether the last report arrived: {error}')
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    def _wait_to_be_found(self) -> None:
        """Wait until the coordinator of this host listens: a run may be over before the two have found each other."""
        deadline = time.monotonic() + DISCOVERY
        while not self._publisher.get_subscription_count() and time.monotonic() < deadline:
            if all(claim.name != COORDINATOR for claim in claims()):
                return
            time.sleep(POLL)

    def _publish(self, kind: ReportKind, descriptor: str = '') -> None:
        self._sent_at = self._clock()
        report = dataclasses.replace(self._report, kind=kind, descriptor=descriptor)
        try:
            self._publisher.publish(String(data=encode(report)))
        except RuntimeError as error:
            # The coordinator notices the gap at the next report that gets through.
            self._node.get_logger().warning(f'{TOPIC}: not published: {error}', throttle_duration_sec=5.0)

    def _answer(self, _request: Any, response: Any) -> Any:
        with self._lock:
            steps = tuple(self._steps)
            report = dataclasses.replace(self._report, kind=ReportKind.FULL, descriptor=self._descriptor, steps=steps)
        response.success = True
        response.message = encode(report)
        return response
