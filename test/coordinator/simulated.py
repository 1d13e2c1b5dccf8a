"""A manager as a coordinator sees it: it reports, and does what it reads from its standard input.

Usage: ``simulated.py DATAFLOW RUN MACHINE PERIOD DESCRIPTOR``. A line is a state and, after a blank, an error; the
end of the input is the end of the manager.
"""

from __future__ import annotations

import selectors
import sys

from rclpy.node import Node

from adora_ros.coordinator.records import Status
from adora_ros.coordinator.reporter import Reporter
from adora_ros.transport.rosthread import RosThread

BEAT = 0.1
"""Seconds between two calls of ``heartbeat()``."""


def main() -> None:
    """Report until the input ends."""
    dataflow, run, machine, period, descriptor = sys.argv[1:]
    ros = RosThread()
    node = ros.add(lambda context: Node('manager', namespace=f'/{dataflow}', context=context))
    ros.start()
    reporter = Reporter(node, dataflow, run, machine, descriptor=descriptor, period=float(period))
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)  # one line at a time: nothing is left in the buffer
        while True:
            if selector.select(BEAT):
                line = sys.stdin.readline()
                if not line:
                    break
                status, _, error = line.strip().partition(' ')
                reporter.transition(Status(status), error)
                sys.stdout.write(f'{status}\n')
                sys.stdout.flush()
            reporter.heartbeat()
    reporter.close()
    ros.close()


if __name__ == '__main__':
    main()
