"""Everything that is measured, in the order in which it is."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.transport import dds
from benchmarks.dataplane.runs import Task, Way

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

KB, MB = 1024, 1_000_000
SIZES = (8, 64 * KB, MB, 4 * MB, 16 * MB, 40 * MB)
FEW_FROM = 40 * MB
"""Bytes from which on there are fewer values."""
SLOW_FROM = 16 * MB
"""Bytes from which on there are few in the short version."""
LATENCY, THROUGHPUT, FAN_OUT, IMAGES = 'latency', 'throughput', 'fan-out', 'images'
WHATS = (LATENCY, THROUGHPUT, FAN_OUT, IMAGES)
ROUNDS = 5
"""In which the systems take turns where they are close: the machine is not equally fast all the time."""
PROFILE_PARTICIPANTS = 3
DEFAULT_IMAGES, PROFILE_IMAGES = 'rclpy, default profile', 'rclpy, generated profile'


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One row of the result.

    Attributes:
        what: One of :data:`WHATS`.
        way: The system.
        task: What it has to do.

    """

    what: str
    way: Way
    task: Task


def plan(ways: Sequence[Way], folder: Path, *, quick: bool) -> Iterator[Measurement]:
    """Yield what is to be measured; what comes several times is one result.

    Args:
        ways: The systems.
        folder: For files that a measurement needs.
        quick: Whether it is only to be seen that it works.

    """
    for size in SIZES:
        full, short = (200 if size >= FEW_FROM else 1000), (20 if size < SLOW_FROM else 5)
        task = Task(size=size, count=short if quick else full)
        yield from _in_turns(LATENCY, ways, task, 1 if quick or size >= MB else ROUNDS)
    for size in (8, 64 * KB):
        task = Task(size=size, count=200 if quick else 5000, window=8, gap=0.0)
        yield from _in_turns(THROUGHPUT, ways, task, 1 if quick else ROUNDS)
    for sinks in (1, 4, 8):
        task = Task(size=4 * MB, count=10 if quick else 200, sinks=sinks)
        yield from _in_turns(FAN_OUT, ways, task, 1 if quick else 2)
    profile = dds.write_profile(
        folder, PROFILE_PARTICIPANTS, {**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    )
    for size in (MB, 4 * MB):
        for name, env in ((DEFAULT_IMAGES, {}), (PROFILE_IMAGES, profile)):
            way = Way(name=name, link='image', env=tuple(env.items()))
            task = Task(size=size, count=10 if quick else 300, gap=0.02)
            yield Measurement(what=IMAGES, way=way, task=task)


def _in_turns(what: str, ways: Sequence[Way], task: Task, rounds: int) -> Iterator[Measurement]:
    """Yield a task for all systems, again and again, with its values spread over the rounds."""
    share = dataclasses.replace(task, count=task.count // rounds)
    for _ in range(rounds):
        for way in ways:
            yield Measurement(what=what, way=way, task=share)
