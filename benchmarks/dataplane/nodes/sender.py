"""Sends numbered values, at most ``window`` of them on their way at a time, and notes when each came to each sink."""

from __future__ import annotations

import os
import time

import exchange

FIRST_TRY = 0.1
"""Seconds until the first value is sent again, since not every system says when its receivers are there."""
SLOWEST = 20e6
"""Bytes per second, at least, that come to all sinks: to send the first value again sooner would add to what waits."""
FIRST_TRIES = 300
LOST_AFTER = 5.0
"""Seconds."""

task = exchange.job()
receipts = exchange.Receipts(task['folder'], task['sinks'])
connection = exchange.connect(task)
supervisor = os.getppid() if task['link'] == 'arrow' else os.getpid()
latencies: list[list[int]] = []
lost = 0
sent: dict[int, int] = {}


def settle(number: int) -> None:
    """Wait until a value has come."""
    global lost  # noqa: PLW0603 - this is a script
    arrived = receipts.wait(number, LOST_AFTER)
    at = sent.pop(number)
    latencies.append([when - at for when in arrived.values()])
    lost += task['sinks'] - len(arrived)


def exchange_values(first: int, count: int, limit: float) -> int:
    """Send values, ``window`` of them at a time, for as many seconds at most; return how many."""
    begin = time.monotonic()
    number = first
    while number < first + count and time.monotonic() - begin < limit:
        sent[number] = time.monotonic_ns()
        connection.send(number)
        number += 1
        if len(sent) >= task['window']:
            settle(min(sent))
            if task['gap']:
                time.sleep(task['gap'])
    for oldest in tuple(sent):
        settle(oldest)
    return number - first


def repeat(number: int) -> None:
    """Send a value until it has come to all sinks."""
    patience = FIRST_TRY + task['size'] * task['sinks'] / SLOWEST
    for _ in range(FIRST_TRIES):
        connection.send(number)
        if len(receipts.wait(number, patience)) == task['sinks']:
            break


repeat(0)
exchange_values(1, task['warm_up'], task['limit'] / 2)
latencies.clear()
lost = 0
own, theirs, begin = exchange.own_cpu(), exchange.cpu_of(supervisor), time.monotonic()
count = exchange_values(task['warm_up'] + 1, task['count'], task['limit'])
seconds = time.monotonic() - begin
exchange.write_result(
    task['folder'],
    'source',
    latencies_ns=latencies,
    lost=lost,
    count=count,
    seconds=seconds,
    cpu=exchange.own_cpu() - own,
    cpu_supervisor=exchange.cpu_of(supervisor) - theirs if supervisor != os.getpid() else 0.0,
)
repeat(exchange.LAST)
