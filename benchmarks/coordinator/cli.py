"""The command line: measures, and writes what came out."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.coordinator.measures import HOUR_TAKES, MEASURES, PROCESSES, RUNS, Samples
from benchmarks.pages import with_section
from benchmarks.supervision import machine
from benchmarks.supervision.report import BUSY, BUSY_LOAD, NOTHING, number
from benchmarks.supervision.statistics import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

DOMAIN = 86
SECTION = 'coordinator'
INTRODUCTION = """\
## Performance of the coordinator

What one coordinator can keep, with its records in an SQLite file. This section is made by

    python -m benchmarks.coordinator --json coordinator.json --markdown docs/performance.md

The managers are simulated: {processes} processes publish the reports of all of them, with a writer for each. Every step
is looked for in the records afterwards. Steps that come at once are written in one transaction, where a dataflow that
makes several of them is written as it is after the last, and nobody is told of them before. An hour of traffic is as
many messages as an hour has, sent in {minutes:.1f} minutes, and it is checked that the coordinator keeps up with them;
what it does by its own clock, such as a message a second on `/diagnostics`, it does no more often than in real time.
The records of that hour stay, which is a part of what memory grows by.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _parser().parse_args(argv)
    document = json.loads(options.json.read_text(encoding='utf-8')) if options.json and options.json.exists() else {}
    if not options.render:
        os.environ.update(ROS_DOMAIN_ID=str(options.domain), ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST')
        for name in options.only or RUNS:
            about = {**machine.describe(), 'when': f'{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC'}
            sys.stderr.write(f'{name} ...\n')
            _keep(document, RUNS[name](), about)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    text = section(document)
    if options.markdown:
        page = options.markdown.read_text(encoding='utf-8') if options.markdown.exists() else ''
        options.markdown.write_text(with_section(page, SECTION, text), encoding='utf-8')
    else:
        sys.stdout.write(text)
    return 0


def _keep(document: dict[str, Any], samples: Samples, about: dict[str, object]) -> None:
    for name, values in samples.items():
        document[name] = {'samples': [round(value, 3) for value in values], 'machine': about}


def section(document: dict[str, Any]) -> str:
    """Return the section of the page."""
    lines = [INTRODUCTION.format(processes=PROCESSES, minutes=HOUR_TAKES / 60)]
    machines = [entry['machine'] for entry in document.values()]
    if machines:
        first = machines[0]
        busiest = max(each['load_before'] for each in machines)
        lines += [
            f'{first["when"]}. {machine.text(first)}; load average before the runs {busiest:g}.',
            '',
            *((BUSY, '') if busiest > first['cores'] * BUSY_LOAD else ()),
        ]
    lines += ['| what | unit | goal | median (lowest to highest; number of samples) |', '| --- | --- | --- | --- |']
    for measure in MEASURES:
        if measure.id not in document:
            continue
        summary = summarise(document[measure.id]['samples'])
        word = 'at least' if measure.more else 'at most'
        goal = NOTHING if measure.goal is None else f'{word} {measure.goal:g}'
        spread = f'{number(summary.low)} to {number(summary.high)}; {summary.count}'
        lines.append(f'| {measure.title} | {measure.unit} | {goal} | **{number(summary.median)}** ({spread}) |')
    return '\n'.join(lines) + '\n'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks.coordinator', description='Measure the coordinator.')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all samples here; what is there is replaced')
    parser.add_argument('--markdown', type=Path, metavar='FILE', help='write the section of this page')
    parser.add_argument('--only', nargs='+', choices=list(RUNS), metavar='RUN', help=f'only these: {", ".join(RUNS)}')
    parser.add_argument('--domain', type=int, default=DOMAIN, help='ROS domain (default: %(default)s)')
    parser.add_argument('--render', action='store_true', help='run nothing: make the section from the JSON file')
    return parser
