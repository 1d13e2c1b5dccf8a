"""What a reporter says, and when."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from adora_ros.coordinator import protocol
from adora_ros.coordinator.protocol import INLINE_DESCRIPTOR, KEPT_STEPS, Report, ReportKind
from adora_ros.coordinator.records import Status
from adora_ros.coordinator.reporter import REPORTS_QOS, Reporter
from adora_ros.errors import RecordError
from adora_ros.transport.rosthread import RosThread
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP, BEAT, BYE, FULL = ReportKind.STEP, ReportKind.HEARTBEAT, ReportKind.BYE, ReportKind.FULL


class Desk:
    """A reporter with a clock that is set by hand, and what is heard of it."""

    def __init__(self) -> None:
        self.ros = RosThread()
        self.node = self.ros.add(lambda context: Node('manager', namespace='/flow', context=context))
        self.heard: list[Report] = []
        self.node.create_subscription(String, protocol.TOPIC, self._hear, REPORTS_QOS)
        self.now = 0.0
        self.ros.start()
        self.reporter = self.reporting()

    def reporting(self, descriptor: str = '{}') -> Reporter:
        """Return a reporter."""
        return Reporter(self.node, 'flow', 'run', descriptor=descriptor, clock=lambda: self.now)

    def _hear(self, message: Any) -> None:
        self.heard.append(protocol.decode(message.data))

    def hears(self, *expected: tuple[ReportKind, int, Status]) -> list[Report]:
        """Wait for certain reports and no others, and return them."""
        eventually(lambda: len(self.heard) >= len(expected))
        assert [(report.kind, report.last.seq, report.last.status) for report in self.heard] == list(expected)
        return self.heard

    def full(self) -> Report:
        """Ask for a full report."""
        client: Any = self.node.create_client(Trigger, '/flow/manager/report')
        eventually(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        eventually(future.done)
        assert future.result().success
        return protocol.decode(future.result().message)


@pytest.fixture
def desk(ros_domain: int) -> Iterator[Desk]:  # noqa: ARG001 - the domain outlives the node
    made = Desk()
    yield made
    made.ros.close()


def test_steps_are_numbered_and_the_first_has_the_descriptor(desk: Desk) -> None:
    for status in (Status.PENDING, Status.RUNNING, Status.RUNNING, Status.STOPPING):
        desk.reporter.transition(status)
    desk.reporter.transition(Status.FAILED, 'a: exit code 1')
    heard = desk.hears(
        (STEP, 1, Status.PENDING), (STEP, 2, Status.RUNNING), (STEP, 3, Status.STOPPING), (STEP, 4, Status.FAILED)
    )
    assert [report.descriptor for report in heard] == ['{}', '', '', '']
    assert heard[3].last.error == 'a: exit code 1'
    host = socket.gethostname()
    assert {(each.run, each.dataflow, each.machine, each.hostname, each.service) for each in heard} == {
        ('run', 'flow', host, host, '/flow/manager/report')
    }
    full = desk.full()
    assert (full.kind, full.descriptor, full.last) == (FULL, '{}', heard[3].last)
    assert full.steps == tuple(report.last for report in heard)


def test_a_step_that_cannot_follow_is_refused_and_not_reported(desk: Desk) -> None:
    desk.reporter.transition(Status.RUNNING)
    with pytest.raises(RecordError, match=r'^Running cannot become Pending; what may follow is '):
        desk.reporter.transition(Status.PENDING)
    desk.reporter.transition(Status.SUCCEEDED)
    with pytest.raises(RecordError, match=r'^Succeeded cannot become Running; what may follow is nothing'):
        desk.reporter.transition(Status.RUNNING)
    desk.hears((STEP, 1, Status.RUNNING), (STEP, 2, Status.SUCCEEDED))


def test_a_heartbeat_is_due_3_s_after_the_last_report(desk: Desk) -> None:
    desk.reporter.heartbeat()
    desk.now = 10.0
    desk.reporter.heartbeat()  # nothing has been reported yet that could be repeated
    desk.reporter.transition(Status.RUNNING)
    for desk.now in (11.0, 12.9, 13.0, 14.0, 15.9, 16.0):
        desk.reporter.heartbeat()
    desk.reporter.transition(Status.SUCCEEDED)
    desk.now = 30.0
    desk.reporter.heartbeat()
    desk.reporter.close()
    desk.hears(
        (STEP, 1, Status.RUNNING),
        (BEAT, 1, Status.RUNNING),
        (BEAT, 1, Status.RUNNING),
        (STEP, 2, Status.SUCCEEDED),
        (BYE, 2, Status.SUCCEEDED),
    )


def test_a_long_descriptor_is_only_in_the_full_report(desk: Desk) -> None:
    desk.reporter.close()
    descriptor = 'x' * (INLINE_DESCRIPTOR + 1)
    desk.reporter = desk.reporting(descriptor)
    desk.reporter.transition(Status.PENDING)
    assert desk.hears((STEP, 1, Status.PENDING))[0].descriptor == ''
    assert desk.full().descriptor == descriptor


def test_what_it_remembers_is_bounded(desk: Desk) -> None:
    for _ in range(KEPT_STEPS + 10):
        desk.reporter._steps.append(desk.reporter._report.last)
    desk.reporter.transition(Status.RUNNING)
    steps = desk.full().steps
    assert len(steps) == KEPT_STEPS
    assert steps[-1].status is Status.RUNNING
