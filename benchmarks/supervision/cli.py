"""The command line: runs everything in turns and writes what came out."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.pages import sections_of
from benchmarks.supervision import machine, report, systems
from benchmarks.supervision.scenarios import SCENARIOS, Lab
from benchmarks.supervision.session import MissingError
from benchmarks.supervision.statistics import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.supervision.scenarios import Scenario
    from benchmarks.supervision.systems import System

REPEAT = 3
DOMAIN = 87
TERMINATED = 128 + signal.SIGTERM


@dataclass
class Results:
    """What came out so far."""

    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)

    def add(self, scenario: Scenario, lab: Lab) -> None:
        """Do one run and keep its samples, or why there are none."""
        name = lab.system.name
        try:
            found = scenario.run(lab)
        except (MissingError, psutil.NoSuchProcess) as error:
            self.failures.append({'system': name, 'scenario': scenario.name, 'error': str(error)})
            _say(f'    nothing: {str(error).partition(chr(10))[0]}')
            return
        for metric, values in found.items():
            self.samples.setdefault(metric, {}).setdefault(name, []).extend(values)
            if values:
                _say(f'    {metric}: {report.number(summarise(values).median)}')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark.

    Returns:
        0 if every run gave its figures, 1 if one did not.

    Raises:
        SystemExit: ended by SIGTERM, after what was running.

    """
    options = _parser().parse_args(argv)
    if options.render is not None:
        _write(options, json.loads(options.render.read_text(encoding='utf-8')))
        return 0
    chosen = [scenario for scenario in SCENARIOS if not options.only or scenario.name in options.only]
    found = [
        system
        for system in (systems.adora(), systems.cold(), systems.dora(options.dora), systems.launch())
        if system is not None
    ]
    if options.system:
        found = [system for system in found if system.name in options.system]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    about = machine.describe()
    started, began = datetime.now(timezone.utc), time.monotonic()
    results = Results()
    _rounds(chosen, found, options, results)
    document = report.build(
        results.samples,
        machine=about,
        versions={system.name: system.versions for system in found},
        failures=results.failures,
        run={
            'started': started.strftime('%Y-%m-%d %H:%M UTC'),
            'seconds': round(time.monotonic() - began, 1),
            'repeat': options.repeat,
        },
    )
    if options.add and options.json is not None and options.json.exists():
        document = report.combined(json.loads(options.json.read_text(encoding='utf-8')), document)
    _write(options, document)
    return 1 if results.failures else 0


def _rounds(chosen: Sequence[Scenario], found: Sequence[System], options: argparse.Namespace, results: Results) -> None:
    """Let the systems take turns within each scenario, another one first in each round."""
    for turn in range(options.repeat):
        for scenario in chosen:
            for place in range(len(found)):
                system = found[(turn + place) % len(found)]
                if not scenario.is_for(system):
                    continue
                _say(f'round {turn + 1} of {options.repeat}, {scenario.name}, {system.name}')
                results.add(scenario, Lab(system=system, domain=options.domain))


def _write(options: argparse.Namespace, document: report.Report) -> None:
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    text = report.page(document)
    if options.markdown is not None:
        others = sections_of(options.markdown.read_text(encoding='utf-8')) if options.markdown.exists() else ''
        options.markdown.write_text(f'{text.rstrip()}\n\n{others}' if others else text, encoding='utf-8')
    if options.json is None and options.markdown is None:
        print(text)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.supervision',
        description='Measure adora_ros, dora-rs and ros2 launch side by side, as far as they are there.',
    )
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all figures and samples here')
    parser.add_argument('--markdown', type=Path, metavar='FILE', help='write the page of the documentation here')
    parser.add_argument('--only', nargs='+', choices=names, metavar='RUN', help=f'only these: {", ".join(names)}')
    parser.add_argument(
        '--system',
        nargs='+',
        choices=systems.NAMES,
        help='only these supervisors',
    )
    parser.add_argument('--repeat', type=int, default=REPEAT, metavar='N', help='rounds (default: %(default)s)')
    parser.add_argument('--dora', type=Path, metavar='PATH', help='the dora command or its environment (default: PATH)')
    parser.add_argument('--domain', type=int, default=DOMAIN, help='ROS domain (default: %(default)s)')
    parser.add_argument('--add', action='store_true', help='keep what is in the JSON file but for what is measured now')
    parser.add_argument('--render', type=Path, metavar='FILE', help='run nothing: make the page from this JSON file')
    return parser
