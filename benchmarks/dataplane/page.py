"""The results as a page of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.dataplane.plan import FAN_OUT, IMAGES, LATENCY, THROUGHPUT
from benchmarks.dataplane.runs import in_order
from benchmarks.supervision import machine
from benchmarks.supervision.report import BUSY_LOAD, number

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
# Performance of the data plane

How fast values get from one node to others, beside plain rclpy and dora-rs. This page is made by

    python -m benchmarks.dataplane --json dataplane.json --svg docs/dataplane.svg --markdown docs/performance-data.md

(add `--dora PATH` where dora-rs is in an environment of its own), on one machine, in which the systems take turns. How
it works is in [large-payloads.md](large-payloads.md).
"""
BUSY = """\
**Other programs used the machine in between: compare the systems within a row, and expect less time where it is idle.**
"""
QUICK = '**A short run, to see that the benchmark works; these figures do not say how fast anything is.**\n'
METHOD = """\
## How it is measured

Every value is bytes that begin with a number. The source stamps it, sends it and waits, over a socket that has nothing
to do with what is measured, until each sink has noted when the value was in its hands (CLOCK_MONOTONIC, which all
processes share); 2 ms later it sends the next. adora_ros and dora-rs run the same scripts from the same dataflow,
sending an Arrow array of a NumPy array that is used again and again. Plain rclpy sends a
`std_msgs/msg/UInt8MultiArray` with an `array.array`, which is its fastest way, over its default profile, reliable,
depth 10, to a `SingleThreadedExecutor`.
*dora-rs, pool of 1 GB* has `shared_memory_pool_size: 1GB` on the source.

Latency is from right before the value is stamped until the sink has it, *last* until the last of several sinks has it.
Processor time is that of all threads of a process, per value, receipts and waiting included; *all* is source, one sink
and supervisor together. Throughput is with at most 8 values on their way.

At most 1000 values are sent (200 of 40 MB, or to several sinks; 5000 for throughput), and none after 12 s: where that
left fewer than 100, it says how many. They are spread over five rounds in which the systems take turns below 1 MB and
for throughput, two for several sinks, since the machine is not equally fast all the time.
Nothing is lost unless it says so, that is, had not come after 5 s.
"""
IMAGES_TEXT = """\
## Typed images

`sensor_msgs/msg/Image` stays an ordinary ROS message on an ordinary topic, whatever its size, so Fast DDS carries it.
*Default* is what rclpy does by itself on one host (shared memory, in segments of 512 KB), *generated* the profile that
the manager makes for a dataflow (UDP, buffers of 4 MB). The next image is sent 20 ms after the last was received.

The generated profile is what a dataflow uses, and there is nothing better that is safe: Fast DDS is faster over shared
memory with larger segments, but there a process that is killed can block the `publish()` of others for good. Its
buffers need a kernel that allows them: `sysctl -w net.core.rmem_max=4194304 net.core.wmem_max=4194304` where `sysctl
net.core.rmem_max` shows less. Images of several MB between nodes of a dataflow are best sent as Arrow values.
"""


FEW = 100
"""Values below which their number is shown."""


def page(document: dict[str, Any], svg: Path | None) -> str:
    """Return the page; ``svg`` is the file of the figure."""
    rows = document['rows']
    host = document['machine']
    parts = [HEAD, *([QUICK] if document['quick'] else []), '## Result\n']
    busy = f'load average before the run {host["load_before"]:g}.'
    parts.append(f'{document["started"]}. {machine.text(host)}; {busy}\n')
    if document.get('anew'):
        parts.append(f'Parts were measured anew: {", ".join(document["anew"])}.\n')
    if host['load_before'] > host['cores'] * BUSY_LOAD:
        parts.append(BUSY)
    parts += [
        f'* {system}: {", ".join(f"{name} {version}" for name, version in versions.items()) or "version unknown"}'
        for system, versions in document['versions'].items()
    ]
    if svg is not None:
        parts.append(f'\n![Latency over size]({svg.name})')
    parts += [
        '\n### Latency: median (99th percentile) in ms\n',
        _table(rows, LATENCY, 'size', latency),
        '\n### Processor time per value: all (source, sink) in ms\n',
        _table(rows, LATENCY, 'size', _cpu),
        '\n### Throughput: values per second\n',
        _table(rows, THROUGHPUT, 'size', lambda row: f'{row["rate"]:.0f}' + _lost(row)),
        '\n### 4 MB to several sinks: median over all, of the last, in ms\n',
        _table(rows, FAN_OUT, 'sinks', lambda row: f'{number(row["p50"])}, {number(row["last_p50"])}{_lost(row)}'),
        '',
        IMAGES_TEXT,
        _table(rows, IMAGES, 'size', lambda row: f'{latency(row)}; {_cpu(row)}'),
        '\nLatency: median (99th percentile); processor time per value: all (source, sink); in ms.\n',
        METHOD,
    ]
    if document['failures']:
        lines = [f'* {f["what"]}, {f["system"]}, {f["size"]} bytes to {f["sinks"]}' for f in document['failures']]
        parts += ['Nothing came out of (the JSON file says why):\n', *lines, '']
    return '\n'.join(parts)


def latency(row: dict[str, Any]) -> str:
    """Return median and 99th percentile."""
    return f'**{number(row["p50"])}** ({number(row["p99"])}){_lost(row)}'


def _lost(row: dict[str, Any]) -> str:
    """Return how many values were lost, and how many there were if they were few."""
    lost = f', {row["lost"]} of {row["count"] * row["sinks"]} lost' if row['lost'] else ''
    return f', {row["count"]} values{lost}' if row['count'] < FEW else lost


def _cpu(row: dict[str, Any]) -> str:
    cpu = row['cpu']
    return f'**{number(sum(cpu.values()))}** ({number(cpu["source"])}, {number(cpu["sink"])})'


def _table(rows: list[dict[str, Any]], what: str, key: str, cell: Any) -> str:
    own = [row for row in rows if row['what'] == what]
    systems = in_order(row['system'] for row in own)
    lines = [f'| {key} | {" | ".join(systems)} |', f'| {" | ".join(["---"] * (len(systems) + 1))} |']
    for value in sorted({row[key] for row in own}):
        found = {row['system']: cell(row) for row in own if row[key] == value}
        head = _size(value) if key == 'size' else str(value)
        lines.append(f'| {head} | {" | ".join(found.get(system, "-") for system in systems)} |')
    return '\n'.join(lines)


def _size(size: int) -> str:
    if size >= 10**6:
        return f'{size / 10**6:g} MB'
    return f'{size // 1024} KB' if size >= 1024 else f'{size} B'  # noqa: PLR2004
