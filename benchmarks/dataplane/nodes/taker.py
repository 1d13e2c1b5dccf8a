"""Takes values and sends a receipt for each to the source, aside from what is measured."""

from __future__ import annotations

import os
import socket
import sys
import time

import exchange

task = exchange.job()
me = int(sys.argv[1])
aside = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
connection = exchange.connect(task)
begin = 0.0
for number in connection.receive():
    now = time.monotonic_ns()
    if number > task['warm_up'] and not begin:
        begin = exchange.own_cpu()
    if number == exchange.LAST:
        exchange.write_result(task['folder'], f'sink{me}', cpu=exchange.own_cpu() - begin)
    aside.sendto(exchange.RECEIPT.pack(me, number, now), f'{task["folder"]}/source')
    if number == exchange.LAST:
        break
if task['link'] != 'arrow':
    os._exit(0)  # its publisher, which sends nothing, would look for its own end for a while
