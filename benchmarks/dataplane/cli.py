"""The command line: measures, and writes what came out."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.dataplane import figure, page
from benchmarks.dataplane.plan import SIZES, WHATS, plan
from benchmarks.dataplane.runs import measure, together, ways
from benchmarks.supervision import machine
from benchmarks.supervision.session import MissingError
from benchmarks.supervision.statistics import percentile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.dataplane.plan import Measurement
    from benchmarks.dataplane.runs import Result

DOMAIN = 87
KEYS = ('what', 'system', 'size', 'sinks')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 0 if every measurement gave its figures, 1 if one did not."""
    options = _parser().parse_args(argv)
    old: dict[str, Any] = {}
    if options.json is not None and options.json.exists() and (options.add or options.render):
        old = json.loads(options.json.read_text(encoding='utf-8'))
    document = old if options.render else _measured(options, old)
    if options.svg is not None:
        options.svg.write_text(figure.svg(document), encoding='utf-8')
    text = page.page(document, options.svg)
    if options.markdown is not None:
        options.markdown.write_text(text, encoding='utf-8')
    else:
        print(text)
    return 1 if document['failures'] else 0


def _measured(options: argparse.Namespace, old: dict[str, Any]) -> dict[str, Any]:
    found = ways(options.dora)
    rows = list(old.get('rows', ()))
    failures = list(old.get('failures', ()))
    results: dict[tuple[object, ...], list[Result]] = defaultdict(list)
    now = datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')
    head = {
        'started': old.get('started', now),
        'anew': [*old.get('anew', ()), *([now] if old else [])],
        'quick': options.quick,
        'machine': old.get('machine') or machine.describe(),
        'versions': {way.name: dict(way.system.versions) for way in found if way.system is not None},
    }
    with tempfile.TemporaryDirectory(prefix='bench') as folder:
        for item in plan(found, Path(folder), quick=options.quick):
            if not _is_chosen(item, options):
                continue
            print(f'{item.what}, {item.task.size} bytes to {item.task.sinks}, {item.way.name}', file=sys.stderr)
            key = (item.what, item.way.name, item.task.size, item.task.sinks)
            rows = [row for row in rows if tuple(row[name] for name in KEYS) != key]
            failures = [failure for failure in failures if tuple(failure[name] for name in KEYS) != key]
            try:
                results[key].append(measure(item.way, item.task, options.domain))
                rows.append(row_of(item, together(results[key])))
                print(f'    {page.latency(rows[-1])}', file=sys.stderr)
            except MissingError as error:
                failures.append({**dict(zip(KEYS, key, strict=True)), 'error': str(error)})
                print(f'    {error}', file=sys.stderr)
            document = {**head, 'rows': rows, 'failures': failures}
            if options.json is not None:
                options.json.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    return {**head, 'rows': rows, 'failures': failures}


def row_of(item: Measurement, result: Result) -> dict[str, Any]:
    """Return a measurement as the JSON file has it; times are in milliseconds."""
    return {
        'what': item.what,
        'system': item.way.name,
        'size': item.task.size,
        'sinks': item.task.sinks,
        'count': result.count,
        'p50': round(percentile(result.latencies, 50), 4),
        'p99': round(percentile(result.latencies, 99), 4),
        'last_p50': round(percentile(result.last, 50), 4),
        'lost': result.lost,
        'rate': round(result.rate, 1),
        'cpu': {name: round(value, 4) for name, value in result.cpu.items()},
    }


def _is_chosen(item: Measurement, options: argparse.Namespace) -> bool:
    return (
        (not options.what or item.what in options.what)
        and (not options.size or item.task.size in options.size)
        and (not options.system or item.way.name in options.system)
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.dataplane',
        description='Measure how fast values get from a node to others, beside plain rclpy and dora-rs if it is there.',
    )
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all figures here')
    parser.add_argument('--markdown', type=Path, metavar='FILE', help='write the page of the documentation here')
    parser.add_argument('--svg', type=Path, metavar='FILE', help='draw latency over size here')
    parser.add_argument('--quick', action='store_true', help='few values each: only to see that it works')
    parser.add_argument('--what', nargs='+', choices=WHATS, help='only these')
    parser.add_argument('--size', nargs='+', type=int, choices=SIZES, help='only values of these sizes, in bytes')
    parser.add_argument('--system', nargs='+', metavar='NAME', help='only these systems')
    parser.add_argument('--add', action='store_true', help='keep what is in the JSON file but for what is measured now')
    parser.add_argument('--render', action='store_true', help='measure nothing: make page and figure of the JSON file')
    parser.add_argument('--dora', type=Path, metavar='PATH', help='the dora command or its environment (default: PATH)')
    parser.add_argument('--domain', type=int, default=DOMAIN, help='ROS domain (default: %(default)s)')
    return parser
