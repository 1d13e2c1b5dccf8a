"""Sends numbered values, at most ``window`` of them on their way at a time, and notes when each came to each sink."""

from __future__ import annotations

import os
import time

import exchange

FIRST_TRY = 0.1
"""Seconds until the first value is sent again, since not every system says when its receivers are there."""
FIRST_TRIES = 300
LOST_AFTER = 10.0
"""Seconds."""

task = exchange.job()
receipts = exchange.Receipts(task['folder'], task['sinks'])
connection = exchange.connect(task)
count, window = task['count'], task['window']
supervisor = os.getppid() if task['link'] == 'arrow' else os.getpid()

for _ in range(FIRST_TRIES):
    connection.send(0)
    if len(receipts.wait(0, FIRST_TRY)) == task['sinks']:
        break
latencies: list[list[int]] = []
lost = 0
sent: dict[int, int] = {}
begin = own = theirs = 0.0
for number in range(1, task['warm_up'] + count + 1):
    if number == task['warm_up'] + 1:
        for waiting in tuple(sent):
            receipts.wait(waiting, LOST_AFTER)
        sent.clear()
        own, theirs, begin = exchange.own_cpu(), exchange.cpu_of(supervisor), time.monotonic()
    at = time.monotonic_ns()
    connection.send(number)
    sent[number] = at
    if len(sent) >= window:
        oldest = min(sent)
        arrived = receipts.wait(oldest, LOST_AFTER)
        at = sent.pop(oldest)
        if oldest > task['warm_up']:
            latencies.append([when - at for when in arrived.values()])
            lost += task['sinks'] - len(arrived)
        if task['gap']:
            time.sleep(task['gap'])
for oldest, at in sent.items():
    arrived = receipts.wait(oldest, LOST_AFTER)
    latencies.append([when - at for when in arrived.values()])
    lost += task['sinks'] - len(arrived)
seconds = time.monotonic() - begin
exchange.write_result(
    task['folder'],
    'source',
    latencies_ns=latencies,
    lost=lost,
    seconds=seconds,
    cpu=exchange.own_cpu() - own,
    cpu_supervisor=exchange.cpu_of(supervisor) - theirs if supervisor != os.getpid() else 0.0,
)
for _ in range(FIRST_TRIES):
    connection.send(exchange.LAST)
    if len(receipts.wait(exchange.LAST, FIRST_TRY)) == task['sinks']:
        break
