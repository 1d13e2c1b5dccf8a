"""The results: as a JSON file, and as the page of the documentation that is made from it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.supervision import machine
from benchmarks.supervision.metrics import METRICS
from benchmarks.supervision.statistics import ratio, summarise
from benchmarks.supervision.systems import ADORA, DORA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.supervision.metrics import Metric

Report = dict[str, Any]
"""What the JSON file holds."""
NOTHING = '-'

METHOD = """\
# Performance of supervision

How long it takes until trouble is noticed and mended, beside dora-rs and, where it is installed, `ros2 launch` with
respawn. This page is made by

    python -m benchmarks.supervision --json performance.json --markdown docs/performance.md

(`make bench`), from one run on one machine, in which the systems take turns run by run. Less is better everywhere.
"""

BUSY_LOAD = 0.5
"""Load average for each core above which a machine is not idle."""
BUSY = (
    '**Other programs kept the machine busy: these figures show that the benchmark works, not how fast anything is.**'
)

EXPLANATION = """\
## How it is measured

All systems run the same node scripts (`benchmarks/supervision/nodes/`), and adora_ros and dora-rs the same dataflow
file. *adora_ros, cold* is adora_ros with `warm: false`: each node is a new interpreter, as with dora-rs and `ros2
launch`, and not forked from a process that has ROS loaded ([warm start](warm-start.md)). `ros2 launch` has no
dataflows: it runs the scripts as plain rclpy nodes, with `respawn`, and watches neither inputs nor hangs. Nodes and
benchmark write down CLOCK_MONOTONIC, which all processes of a machine share.

* **Exit**: a node takes the time and calls `os._exit(3)` at once. *Detected* is when the supervisor's line about it
  comes out of its standard output. The kernel has *ended* the process when the benchmark's own pidfd of it becomes
  readable, which takes longer the bigger the process is. adora_ros does not wait for that to know of a failure (a
  thread of each node has a pipe to the manager that ends at once), but it does before it starts another process, so
  that no two incarnations ever run side by side. *New process* is the first statement of the script;
  the *first new message* is taken at the consumer. `restart_policy: always`, `restart_delay: 0`; a source dies 0.4 s
  after its first message has come.
* **Silence**: sources send at 100 Hz and then, by design, not. From right before the last `send_output` to the
  consumer's INPUT_CLOSED, less the `input_timeout` of 0.3 s. *Data back*: from right before the first `send_output` to
  INPUT_RECOVERED.
* **Hang**: a node without inputs sends every 50 ms, then takes the time and never comes back from `while True: pass`
  (with the default `health_check_interval`, from a `sleep`). The kill is when its pidfd becomes readable, less the
  `health_check_timeout` of 1 s. A negative value is a kill before the timeout had passed since the last `send_output`.
* **Stop**: from SIGINT to the supervisor, until its process has ended.
* **Start**: from right before the supervisor is started. A chain is a source, relays and a consumer.
* **CPU and memory**: over 6 s, 10 s (with 50 nodes 25 s) after the last node has started to work, when the nodes have
  found each other; they take a timer input of 10 Hz and have a `health_check_timeout`. The supervisor is its process
  with all helpers that are not nodes. With dora-rs timers are made by the supervisor, with adora_ros by the nodes: the
  rows with nodes included show both sides of that.

## What the figures do not say

* All nodes are Python: the start of an interpreter and its imports are a large part of every cold start and restart.
* A node of adora_ros or `ros2 launch` joins DDS discovery, which a node of dora-rs does not. After a crash that is most
  of the time to the first new message: Fast DDS waits a fixed 110 ms in the exchange of two participants.
* The nodes of a chain of more than a dozen have not all met when the first message comes out of it: those that do not
  send to each other do so afterwards ([warm start](warm-start.md)).
* The benchmark, the supervisor and the nodes share the cores. On a busy machine the spread grows; compare the systems
  within one page, and not two pages.
* One machine and the loopback network only.
* dora-rs is the release from PyPI as it is, `dora run` without a coordinator.
"""


def build(
    samples: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    machine: Mapping[str, object],
    versions: Mapping[str, Mapping[str, str]],
    failures: Sequence[Mapping[str, str]],
    run: Mapping[str, object],
) -> Report:
    """Return the report.

    Args:
        samples: By metric, then by system.
        machine: What :func:`benchmarks.supervision.machine.describe` says.
        versions: By system, then by package.
        failures: Runs that gave nothing: ``system``, ``scenario``, ``error``.
        run: When it was, how long it took and the like.

    """
    return {
        'run': dict(run),
        'machine': dict(machine),
        'versions': {system: dict(packages) for system, packages in versions.items()},
        'metrics': {metric.id: _entry(metric, samples[metric.id]) for metric in METRICS if metric.id in samples},
        'failures': [dict(failure) for failure in failures],
    }


def combined(old: Report, new: Report) -> Report:
    """Return a report with what is measured in ``new``, and with what only ``old`` has; it says which is which."""
    metrics = {**old['metrics'], **new['metrics']}
    anew = {**new['run'], 'load_before': new['machine']['load_before'], 'metrics': list(new['metrics'])}
    return {
        **old,
        'anew': [*old.get('anew', []), anew],
        'versions': {**old['versions'], **new['versions']},
        'metrics': {metric.id: metrics[metric.id] for metric in METRICS if metric.id in metrics},
        'failures': [*old['failures'], *new['failures']],
    }


def _entry(metric: Metric, samples: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    systems = {
        system: {**asdict(summarise(values)), 'samples': [round(value, 4) for value in values]}
        for system, values in samples.items()
        if values
    }
    return {
        'title': metric.title,
        'unit': metric.unit,
        'goal': metric.goal,
        'systems': systems,
        'ratio': {
            other: ratio(systems[ADORA]['median'], entry['median'])
            for other, entry in systems.items()
            if other != ADORA and ADORA in systems
        },
    }


def page(report: Report) -> str:
    """Return the documentation page."""
    parts = [METHOD, _conditions(report), _table(report)]
    if report['failures']:
        parts.append(_failures(report))
    return '\n'.join([*parts, EXPLANATION])


def _conditions(report: Report) -> str:
    host = report['machine']
    anew = report.get('anew', [])
    busiest = max(part['load_before'] for part in (host, *anew))
    lines = [
        '## Result',
        '',
        f'{_when(report["run"])}. {machine.text(host)}; {_load(host)}.',
        '',
        *(f'* {system}: {_versions(packages)}' for system, packages in report['versions'].items()),
        '',
        *(line for part in anew for line in (_anew(part, report['metrics']), '')),
        *((BUSY, '') if busiest > host['cores'] * BUSY_LOAD else ()),
    ]
    return '\n'.join(lines)


def _when(run: Mapping[str, Any]) -> str:
    return f'{run["started"]}, {run["repeat"]} rounds, {run["seconds"] / 60:.0f} minutes'


def _load(before: Mapping[str, Any]) -> str:
    return f'load average before the run {before["load_before"]:g}'


def _versions(packages: Mapping[str, str]) -> str:
    return ', '.join(f'{name} {number}' for name, number in packages.items()) or 'version unknown'


def _anew(part: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    titles = ' · '.join(metrics[metric]['title'] for metric in part['metrics'])
    return f'Measured anew {_when(part)}; {_load(part)}: {titles}.'


def _table(report: Report) -> str:
    systems = list(report['versions'])
    compared = ADORA in systems and DORA in systems
    heads = ['what', 'unit', 'goal', *systems, *(['to dora-rs'] if compared else [])]
    lines = [
        'Median (10th to 90th percentile, maximum; number of samples). The goal is for the median of adora_ros.'
        + (' The last column is the median of adora_ros divided by that of dora-rs.' if compared else ''),
        '',
        _row(heads),
        _row(['---'] * len(heads)),
    ]
    for entry in report['metrics'].values():
        cells = [entry['title'], entry['unit'], NOTHING if entry['goal'] is None else f'{entry["goal"]:g}']
        cells += [cell(entry['systems'].get(system)) for system in systems]
        if compared:
            quotient = entry['ratio'].get(DORA)
            cells.append(NOTHING if quotient is None else f'{quotient:.2g}')
        lines.append(_row(cells))
    return '\n'.join([*lines, ''])


def cell(summary: Mapping[str, Any] | None) -> str:
    """Return a summary as the text of a table's cell."""
    if summary is None:
        return NOTHING
    median, p10, p90, high = (number(summary[name]) for name in ('median', 'p10', 'p90', 'high'))
    return f'**{median}** ({p10} to {p90}, {high}; {summary["count"]})'


def number(value: float) -> str:
    """Return a figure with the digits that mean something: three, and none behind the point from 100 on."""
    if abs(value) >= 99.95:  # noqa: PLR2004  # what one digit behind the point would round to 100
        return f'{value:.0f}'
    if abs(value) >= 9.995:  # noqa: PLR2004
        return f'{value:.1f}'
    return f'{value:.2f}'


def _failures(report: Report) -> str:
    counts: dict[tuple[str, str], int] = {}
    for failure in report['failures']:
        key = failure['system'], failure['scenario']
        counts[key] = counts.get(key, 0) + 1
    lines = [f'* {system}, `{scenario}`: {count}' for (system, scenario), count in counts.items()]
    return '\n'.join(['Runs that gave nothing (the JSON file says why):', '', *lines, ''])


def _row(cells: Sequence[str]) -> str:
    return f'| {" | ".join(cells)} |'
