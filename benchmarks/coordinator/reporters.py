"""Managers as a coordinator sees them, many in one process; run as ``python -m benchmarks.coordinator.reporters``.

It does what it reads from its standard input, a line each, and answers ``done``:

* ``runs COUNT``: every manager makes COUNT runs from Pending to Succeeded, one step of each after another.
* ``begin``: every manager begins a run, which is Running from then on.
* ``beat COUNT RATE``: COUNT heartbeats of those runs in turns, RATE a second.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import uuid
from typing import TYPE_CHECKING

from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import String

from adora_ros.coordinator import labels
from adora_ros.coordinator.protocol import TOPIC, Report, ReportKind, Step, encode
from adora_ros.coordinator.records import Status
from adora_ros.coordinator.reporter import REPORTS_QOS
from adora_ros.transport import dds
from adora_ros.transport.rosthread import RosThread

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTOR = '{"nodes":[' + ','.join(['{"id":"node","path":"node.py"}'] * 20) + ']}'
"""That of a dataflow of 20 nodes."""
STATES = (Status.PENDING, Status.RUNNING, Status.STOPPING, Status.SUCCEEDED)
BATCH = 4
"""Messages of each manager after which all wait until they have arrived."""
ARRIVAL = Duration(seconds=20.0)


class Managers:
    """Many managers in one node, with a publisher each.

    Args:
        count: How many.
        first: Number of the first.

    """

    def __init__(self, count: int, first: int) -> None:
        os.environ.update(dds.environment_for_all('adora', os.environ))
        self._ros = RosThread()
        self._node = self._ros.add(lambda context: Node(f'reporters_{first}', namespace='/adora', context=context))
        self._publishers = {
            f'machine-{number}': self._node.create_publisher(String, TOPIC, REPORTS_QOS)
            for number in range(first, first + count)
        }
        self._reports: list[Report] = []
        self._sent = 0
        self._ros.start()
        while not all(publisher.get_subscription_count() for publisher in self._publishers.values()):
            time.sleep(0.05)

    def runs(self, count: int) -> None:
        """Make runs of all managers, from their first step to their last."""
        for _ in range(count):
            reports = [self._new(name) for name in self._publishers]
            for seq, status in enumerate(STATES, start=1):
                for report in reports:
                    self._publish(_step(report, seq, status))

    def begin(self) -> None:
        """Begin a run of each manager."""
        self._reports = [_step(self._new(name), 2, Status.RUNNING) for name in self._publishers]
        for report in self._reports:
            self._publish(_step(report, 1, Status.PENDING))
        for report in self._reports:
            self._publish(report)

    def beat(self, count: int, rate: float) -> None:
        """Send heartbeats of the runs that have begun."""
        began = time.monotonic()
        for number, report in enumerate(self._turns(count)):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            self._publish(report)

    def close(self) -> None:
        """Leave ROS."""
        self._ros.close()

    def _turns(self, count: int) -> Iterator[Report]:
        beats = [Report(**{**vars(report), 'kind': ReportKind.HEARTBEAT, 'descriptor': ''}) for report in self._reports]
        for number in range(count):
            yield beats[number % len(beats)]

    def _new(self, machine: str) -> Report:
        return Report(
            kind=ReportKind.STEP,
            run=str(uuid.uuid4()),
            dataflow=f'flow_{machine}',
            machine=machine,
            hostname=machine,
            service='/nobody/report',
            last=Step(seq=0, status=Status.PENDING, error='', stamp=labels.now()),
        )

    def _publish(self, report: Report) -> None:
        self._publishers[report.machine].publish(String(data=encode(report)))
        self._sent += 1
        if self._sent % (BATCH * len(self._publishers)) == 0:
            for publisher in self._publishers.values():
                publisher.wait_for_all_acked(ARRIVAL)


def _step(report: Report, seq: int, status: Status) -> Report:
    last = Step(seq=seq, status=status, error='', stamp=labels.now())
    return Report(**{**vars(report), 'last': last, 'descriptor': DESCRIPTOR if seq == 1 else ''})


def main() -> None:
    """Do what the standard input says."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.coordinator.reporters', description=__doc__)
    parser.add_argument('--count', type=int, required=True, help='how many managers')
    parser.add_argument('--first', type=int, default=0, help='number of the first one')
    options = parser.parse_args()
    managers = Managers(options.count, options.first)
    sys.stdout.write('done\n')
    sys.stdout.flush()
    for line in sys.stdin:
        verb, *numbers = line.split()
        if verb == 'runs':
            managers.runs(int(numbers[0]))
        elif verb == 'begin':
            managers.begin()
        else:
            managers.beat(int(numbers[0]), float(numbers[1]))
        sys.stdout.write('done\n')
        sys.stdout.flush()
    managers.close()


if __name__ == '__main__':
    main()
