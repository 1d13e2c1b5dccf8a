"""Runs dora's own Python examples under ``dora run`` and under ``adora run`` and says which end alike.

    python scripts/dora_examples.py CHECKOUT_OF_DORA [EXAMPLE...]

Node scripts and dataflow files are used as they are, but for ``build:`` lines, which would install packages. Two runs
are alike if they end with the same exit code and each node printed the same kinds of lines: numbers, ids and the order
of the keys of a dict do not count, since they differ between two runs of dora as well; nor does what follows a colon in
an example that never ends by itself, nor what a node logs through Python's logging in a run in which dora lost all of
that, which happens. Random numbers are the same in each run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent

EXAMPLES: Mapping[str, float | None] = {
    'python-dataflow': None,
    'python-echo': 5.0,
    'python-async': 4.0,
    'python-recv-async': None,
    'python-drain': None,
    'python-log': None,
    'python-logging': 12.0,
    'python-multiple-arrays': 5.0,
    'python-concurrent-rw': 5.0,
    'streaming-example': 6.3,
    'log-aggregator': 10.0,
    'module-dataflow': None,
}
"""The examples that need nothing but pyarrow and numpy, and after how many seconds the endless ones are stopped."""

KNOWN: Mapping[str, frozenset[str]] = {
    # In dora 1.1 `send_logs_as` misses what comes from Python's logging.
    'python-logging': frozenset({'monitor: ERROR monitor caught error'}),
    # Whether a stream is complete at the end depends on the moment of the stop.
    'streaming-example': frozenset({'sink: WARN [session #] Incomplete (# tokens)'}),
}
"""Lines, by node, that only one of the two may print."""

LIMIT = 90.0
"""Seconds that a run may take."""

LIBRARY_TEXTS = ('Discarding event for input', 'report_output_sent', 'zenoh')
"""In what dora's library logs on behalf of a node."""

FOREIGN_VARIABLES = ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'VIRTUAL_ENV')
"""What dora's interpreter must not see."""

_BUILD = re.compile(r'^\s+build: pip install .*\n', re.MULTILINE)
_ID = re.compile(r'\b(?=[0-9a-f]*\d)[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?\b')
_NUMBER = re.compile(r'0x[0-9a-f]+|-?\d[\d.,:]*(e[+-]?\d+)?')
_PRINTED_EVENT = re.compile(r"<pyarrow|datetime\.datetime|\{'|^[\[\]]")
"""Part of a printed event: its lines are taken together, for the keys of dora's events are in no order."""
_THEIR_LOG = re.compile(r'log_(.+?)(?:\.\d+)?\.jsonl(?:\.\d+)?')
_OUR_LOG = re.compile(r'(.+?)(?:\.\d+)?\.log(?:\.\d+)?')
_LOGGED = re.compile(r'(ERROR|WARN|INFO) ')
_OUR_LINE = re.compile(r'\S+ (?:stdout|stderr) (.*)')


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its exit code, and for each node the kinds of lines that it printed."""

    exit_code: int
    lines: Mapping[str, frozenset[str]]
    output: str


def kinds(lines: Iterable[str], *, endless: bool) -> frozenset[str]:
    """Return lines without what differs from run to run."""
    found: set[str] = set()
    words: set[str] = set()
    for line in lines:
        plain = _NUMBER.sub('#', _ID.sub('#', line.strip()))
        if _PRINTED_EVENT.search(plain):
            words.update(re.findall(r'[A-Za-z_]+', plain))
        elif not any(text in plain for text in LIBRARY_TEXTS):
            found.add(plain.split(': ')[0] if endless else plain)
    return frozenset(found | ({f'events of {" ".join(sorted(words))}'} if words else set()))


def structured(text: str) -> str:
    """Return level and message of a line that is a log entry in JSON, else the line."""
    try:
        entry = json.loads(text)
        fields = entry.get('fields') or {}
        return f'{entry["level"].upper()} {fields.get("message") or entry["message"]}'
    except (ValueError, AttributeError, KeyError, TypeError):
        return text


def dora_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield node and line of the log files of a run of dora."""
    for file in folder.glob('out/*/log_*'):
        name = _THEIR_LOG.fullmatch(file.name)
        if name is None:
            continue
        for line in file.read_text(encoding='utf-8').splitlines():
            entry = json.loads(line)
            plain = entry['level'] == 'stdout'
            yield name[1], structured(entry['msg']) if plain else f'{entry["level"].upper()} {entry["msg"]}'


def adora_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield node and line of the log files of a run of adora."""
    for file in folder.glob('logs/*/*/*.log*'):
        name = _OUR_LOG.fullmatch(file.name)
        for line in file.read_text(encoding='utf-8').splitlines():
            printed = _OUR_LINE.fullmatch(line)
            if name and printed:
                yield name[1], structured(printed[1])


def run(command: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a run."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def compare(example: Path, dora: Path, folder: Path) -> tuple[Outcome, Outcome]:
    """Run an example under both, side by side."""
    file = next(path for path in (example / 'dataflow.yml', example / 'dataflow.yaml') if path.is_file())
    stop_after = EXAMPLES.get(example.name)
    endless = stop_after is not None
    options = ['--stop-after', f'{stop_after * 1000:.0f}ms'] if stop_after is not None else []
    for name in ('dora', 'adora'):
        shutil.copytree(example, folder / name)
        for path in (folder / name).rglob('*.y*ml'):
            path.write_text(_BUILD.sub('', path.read_text(encoding='utf-8')), encoding='utf-8')
    seeds = folder / 'seeds'
    seeds.mkdir()
    (seeds / 'sitecustomize.py').write_text('import random\n\nrandom.seed(1)\n', encoding='utf-8')
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    env['PATH'] = os.pathsep.join((str(dora.parent), env.get('PATH', os.defpath)))
    env['PYTHONPATH'] = str(seeds)
    theirs = run([str(dora), 'run', file.name, *options], folder / 'dora', env)
    own = {**os.environ, 'ROS_LOG_DIR': str(folder / 'adora' / 'logs'), 'PYTHONPATH': f'{ROOT}{os.pathsep}{seeds}'}
    ours = run([sys.executable, '-m', 'adora_ros.cli', 'run', file.name, *options], folder / 'adora', own)
    outputs = [process.communicate(timeout=LIMIT)[0] for process in (theirs, ours)]
    return (
        Outcome(theirs.returncode, gather(dora_lines(folder / 'dora'), endless=endless), outputs[0]),
        Outcome(ours.returncode, gather(adora_lines(folder / 'adora'), endless=endless), outputs[1]),
    )


def gather(lines: Iterable[tuple[str, str]], *, endless: bool) -> dict[str, frozenset[str]]:
    """Return the kinds of lines by node, named as in ROS."""
    found: dict[str, list[str]] = {}
    for node, line in lines:
        found.setdefault(re.sub(r'\W', '_', node), []).append(line)
    return {node: kinds(texts, endless=endless) for node, texts in found.items()}


def differences(dora: Outcome, adora: Outcome, known: frozenset[str] = frozenset()) -> list[str]:
    """Return what two runs do not have in common, one line each."""
    found = []
    if dora.exit_code != adora.exit_code:
        found.append(f'exit code {dora.exit_code} under dora, {adora.exit_code} under adora')
    for node in sorted({*dora.lines, *adora.lines}):
        theirs, ours = dora.lines.get(node, frozenset()), adora.lines.get(node, frozenset())
        if not any(map(_LOGGED.match, theirs)):
            ours = frozenset(line for line in ours if not _LOGGED.match(line))
        found += [
            f'{node}: only under dora: {line}' for line in sorted(theirs - ours) if f'{node}: {line}' not in known
        ]
        found += [
            f'{node}: only under adora: {line}' for line in sorted(ours - theirs) if f'{node}: {line}' not in known
        ]
    return found


def main() -> int:
    """Compare the examples, or those that are named; print one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('checkout', type=Path, help='checkout of dora 1.1')
    parser.add_argument('examples', nargs='*', help='names of examples; all that need no further packages')
    parser.add_argument('--dora', type=Path, default=shutil.which('dora'), help="dora's executable")
    parser.add_argument('--verbose', action='store_true', help='print the output of runs that differ')
    options = parser.parse_intermixed_args()
    if options.dora is None or not options.dora.is_file():
        parser.error('dora is not installed: install dora-rs-cli and dora-rs, or give its executable with --dora')
    different = 0
    for name in options.examples or EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            dora, adora = compare(options.checkout / 'examples' / name, options.dora.absolute(), Path(folder))
        found = differences(dora, adora, KNOWN.get(name, frozenset()))
        different += bool(found)
        print(f'{name}: {"differs" if found else "as under dora"}', flush=True)
        for line in found:
            print(f'    {line}')
        if found and options.verbose:
            print(dora.output, adora.output, sep='\n')
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
