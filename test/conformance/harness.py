"""Runs one dataflow under dora and under adora, and brings what a consumer saw into a form that can be compared.

The node scripts in ``nodes/`` and the dataflows in ``flows/`` are the same for both. ``golden/`` holds what dora 1.1
gave, so that the comparison also runs where dora is not installed. Where adora_ros differs on purpose, a rule of this
module turns dora's records into those that are expected here; its name is that of the row in ``docs/differences.md``.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Record = dict[str, Any]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DIFFERENCES = ROOT / 'docs' / 'differences.md'

DORA_VARIABLE = 'ADORA_DORA'
"""Where dora is: its executable, or the environment that it is installed in."""

RELEASE = '1.1.'
"""The releases of dora that the golden files stand for."""

RUN_LIMIT = 60.0
"""Seconds that a run may take."""

OF_INCARNATION = 100
"""A source counts its messages from this times its restart count."""

FOREIGN_VARIABLES = ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'VIRTUAL_ENV')
"""What the environment of these tests may set and dora's interpreter must not see."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run gave."""

    exit_code: int
    records: Mapping[str, Sequence[Record]]
    """For each recording node its records, in order."""
    failed: Mapping[str, str]
    """The nodes that the final report names, each with its exit code or signal."""
    consequences: int = 0
    """How many further nodes failed in consequence, which dora only counts."""
    output: str = ''
    """What the run printed, for failure texts."""


@dataclass(frozen=True, kw_only=True)
class Digest:
    """What two runs of a scenario have in common."""

    exit_code: int
    lines: Mapping[str, Sequence[str]]
    """For each recording node one line an event, without what depends on time."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A dataflow of ``flows/`` and how to compare its runs."""

    name: str
    rules: tuple[str, ...] = ()
    """Names of :data:`RULES` that apply to dora's records, in this order."""
    exact: bool = False
    """Compare every message; else consecutive messages of one input and incarnation count as one."""
    by_input: bool = False
    """Compare what concerns each input by itself, where several get messages at the same time."""
    stop_after: float | None = None
    """Seconds after which the run is stopped."""
    here: Digest | None = None
    """What is expected of adora_ros where another order is not the whole difference."""
    failed: Mapping[str, str] | None = None
    """The nodes that the final report of adora_ros is to name, where dora names others."""
    row: str | None = None
    """Row of the differences that says why, where ``here`` or ``failed`` is given."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What both command lines get after ``run FILE``."""
        return () if self.stop_after is None else ('--stop-after', f'{self.stop_after * 1000:.0f}ms')


def recovered_first(records: Sequence[Record]) -> list[Record]:
    """Put each INPUT_RECOVERED before the messages that came between it and the INPUT_CLOSED before it."""
    result: list[Record] = []
    for record in records:
        place = len(result)
        if record['type'] == 'INPUT_RECOVERED':
            while place and not _is(result[place - 1], 'INPUT_CLOSED', record['id']):
                place -= 1
            while place < len(result) and not _is(result[place], 'INPUT', record['id']):
                place += 1
        result.insert(place, record)
    return result


def restarted_late(records: Sequence[Record]) -> list[Record]:
    """Put the nth NODE_RESTARTED before the first message of the nth new incarnation, and before its recovery."""
    result = [record for record in records if record['type'] != 'NODE_RESTARTED']
    restarts = [(place, record) for place, record in enumerate(records) if record['type'] == 'NODE_RESTARTED']
    for number, (place, restart) in enumerate(restarts, 1):
        first = [at for at, record in enumerate(result) if _incarnation(record) == number]
        at = first[0] if first else place
        if at and result[at - 1]['type'] == 'INPUT_RECOVERED':
            at -= 1
        result.insert(at, restart)
    return result


def closed_last(records: Sequence[Record]) -> list[Record]:
    """Put what announces the end of an input behind the messages of that input that it had overtaken."""
    result = list(records)
    for name in {record['id'] for record in records if record['type'] == 'INPUT_CLOSED'}:
        closing = _closing(result, name)
        if closing is None:
            continue
        late = [record for record in result[closing:] if _is(record, 'INPUT', name)]
        rest = [record for record in result[closing:] if not _is(record, 'INPUT', name)]
        result[closing:] = late + rest
    return result


def turns_in_order(records: Sequence[Record]) -> list[Record]:
    """Put the messages of one turn, which are one message that came by several inputs, in the order of their inputs."""
    result: list[Record] = []
    for _, turn in itertools.groupby(records, lambda record: (record['type'], str(record.get('value')))):
        result += sorted(turn, key=lambda record: record['id'] if record['type'] == 'INPUT' else '')
    return result


def _closing(records: Sequence[Record], name: str) -> int | None:
    """Return where the final closing of input ``name`` begins, or None if it opened again."""
    for place in reversed(range(len(records))):
        if _is(records[place], 'INPUT_RECOVERED', name):
            return None
        if _is(records[place], 'INPUT_CLOSED', name):
            failures = [
                at
                for at, record in enumerate(records[:place])
                if record['type'] == 'NODE_FAILED' and name in record['value']['affected_input_ids']
            ]
            return min([place, *failures])
    return None


def _is(record: Record, kind: str, name: str) -> bool:
    return record['type'] == kind and record.get('id') == name


def _incarnation(record: Record) -> int | None:
    return record['value'][0] // OF_INCARNATION if record['type'] == 'INPUT' and record['value'] else None


RULES: Mapping[str, Callable[[Sequence[Record]], list[Record]]] = {
    'recovered-first': recovered_first,
    'restarted-late': restarted_late,
    'closed-last': closed_last,
    'turns-in-order': turns_in_order,
}

FAILURE_TEXT = 'failure-text'
"""Row for the wording of a failure: only its exit code or signal is compared."""


def canonical(records: Sequence[Record], *, exact: bool) -> list[str]:
    """Return one line for each record, without what depends on time: ticks and, unless ``exact``, message counts."""
    lines: list[str] = []
    for record in records:
        line = _line(record, exact=exact)
        if line is not None and (exact or lines[-1:] != [line]):
            lines.append(line)
    return lines


def digest(scenario: Scenario, outcome: Outcome, rules: Sequence[str] = ()) -> Digest:
    """Return what of ``outcome`` has to be the same in every run of ``scenario``, with ``rules`` applied."""
    lines = {}
    for node, given in outcome.records.items():
        records = list(given)
        for rule in rules:
            records = RULES[rule](records)
        for part, own in _parts(node, records, by_input=scenario.by_input).items():
            lines[part] = canonical(own, exact=scenario.exact)
    return Digest(exit_code=outcome.exit_code, lines=lines)


def _parts(node: str, records: Sequence[Record], *, by_input: bool) -> dict[str, list[Record]]:
    """Return the records of a node, those that concern one input apart from the others."""
    parts: dict[str, list[Record]] = {}
    for record in records:
        apart = by_input and record['type'].startswith('INPUT')
        parts.setdefault(f'{node} {record["id"]}' if apart else node, []).append(record)
    return parts


def expected(scenario: Scenario) -> Digest:
    """Return what is expected of adora_ros: what dora gave with the rules applied, unless the scenario says else."""
    return scenario.here or digest(scenario, golden(scenario), scenario.rules)


def reports_alike(scenario: Scenario, outcome: Outcome) -> bool:
    """Return whether a run of adora_ros reported the failures that it has to report, consequences included."""
    if scenario.failed is not None:
        return outcome.failed == scenario.failed
    was = golden(scenario)
    return was.failed.items() <= outcome.failed.items() and len(outcome.failed) == len(was.failed) + was.consequences


def _line(record: Record, *, exact: bool) -> str | None:
    kind, name = record['type'], record.get('id')
    if kind == 'INPUT':
        return _message(record, exact=exact) if record['value'] or 'parameters' in record else None
    details: dict[str, Callable[[], Any]] = {
        'START': lambda: record['restart_count'],
        'END': lambda: '' if record['next'] is None else f'and then {record["next"]}',
        'ERROR': lambda: record['error'],
        'NODE_FAILED': lambda: _failure(record['value']),
    }
    return f'{kind} {details.get(kind, lambda: name)()}'.rstrip()


def _message(record: Record, *, exact: bool) -> str:
    what = record['value'] if exact else f'of incarnation {_incarnation(record)}'
    details = f' {record["arrow"]} {record["parameters"]}' if 'parameters' in record else ''
    return f'INPUT {record["id"]} {what}{details}'


def _failure(value: Record) -> str:
    return f'{value["source_node_id"]} {value["affected_input_ids"]} {_reason(value["error"])}'


def _reason(text: str) -> str:
    return ' '.join(re.findall(r'SIG[A-Z]+|(?<=code )\d+', text))


def failures(output: str) -> tuple[dict[str, str], int]:
    """Return what a final report of dora or adora says: nodes with their reasons, and the number of consequences."""
    theirs = dict(re.findall(r'^Node `([^`]+)` failed: (.*)', output, re.MULTILINE))
    more = re.search(r'There (?:is|are) (\d+) more consequential', output)
    ours = re.search(r'DATAFLOW_ENDED +failed: (.*)', output)
    if ours is not None:
        theirs = dict(item.split(': ', 1) for item in ours[1].split('; '))
    return {node: _reason(text) for node, text in theirs.items()}, int(more[1]) if more else 0


def shapes(*outcomes: Outcome) -> dict[str, Record]:
    """Return for each kind of event in ``outcomes`` which keys and types it had."""
    parts = ('keys', 'kind', 'arrow', 'metadata', 'timestamp')
    return {
        f'{record["type"]} {record["id"]}' if record['type'] == 'INPUT' else record['type']: {
            part: record[part] for part in parts if part in record
        }
        for outcome in outcomes
        for records in outcome.records.values()
        for record in records
        if 'keys' in record
    }


def golden_file(scenario: Scenario) -> Path:
    """Return where the golden file of ``scenario`` is."""
    return HERE / 'golden' / f'{scenario.name}.json'


def golden(scenario: Scenario) -> Outcome:
    """Return what dora gave when the golden file was written."""
    content = json.loads(golden_file(scenario).read_text(encoding='utf-8'))
    return Outcome(
        exit_code=content['exit_code'],
        records=content['records'],
        failed=content['failed'],
        consequences=content['consequences'],
    )


def write_golden(scenario: Scenario, version: str, outcome: Outcome) -> None:
    """Write what ``version`` of dora gave, one record a line."""
    nodes = ',\n'.join(f'  {json.dumps(node)}: [\n{_lines(records)}\n  ]' for node, records in outcome.records.items())
    report = f' "failed": {json.dumps(outcome.failed, sort_keys=True)},\n "consequences": {outcome.consequences},\n'
    text = f'{{\n "dora": "{version}",\n "exit_code": {outcome.exit_code},\n{report} "records": {{\n{nodes}\n }}\n}}\n'
    golden_file(scenario).write_text(text, encoding='utf-8')


def _lines(records: Sequence[Record]) -> str:
    return ',\n'.join(f'   {json.dumps(record, sort_keys=True)}' for record in records)


def find_dora() -> Path | None:
    """Return dora's executable: of ``$ADORA_DORA``, of this interpreter's environment, or on PATH.

    Raises:
        FileNotFoundError: ``$ADORA_DORA`` is set and is neither an executable nor an environment with dora in it.

    """
    given = os.environ.get(DORA_VARIABLE)
    if given is None:
        found = shutil.which('dora', path=str(Path(sys.executable).parent)) or shutil.which('dora')
        return None if found is None else Path(found)
    for path in (Path(given), Path(given) / 'bin' / 'dora'):
        if path.is_file():
            return path
    msg = f'{DORA_VARIABLE}={given}: neither the dora executable nor an environment with bin/dora in it'
    raise FileNotFoundError(msg)


def dora_version(dora: Path) -> str:
    """Return the release of ``dora``, such as ``1.1.0``."""
    text = subprocess.run([dora, '--version'], check=True, capture_output=True, text=True, timeout=RUN_LIMIT).stdout
    return text.split()[-1]


def run_dora(dora: Path, scenario: Scenario, folder: Path) -> Outcome:
    """Run ``scenario`` under dora, with the interpreter of dora's own environment for the nodes."""
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    environment['PATH'] = os.pathsep.join((str(dora.parent), environment.get('PATH', os.defpath)))
    return _run((str(dora), 'run'), scenario, folder, environment)


def run_adora(scenario: Scenario, folder: Path) -> Outcome:
    """Run ``scenario`` under adora."""
    environment = dict(os.environ)
    environment['PYTHONPATH'] = os.pathsep.join(filter(None, (str(ROOT), environment.get('PYTHONPATH'))))
    # The Python that a program on PATH gets has to have pyarrow.
    environment['PATH'] = os.pathsep.join((str(Path(sys.executable).parent), environment['PATH']))
    return _run((sys.executable, '-m', 'adora_ros.cli', 'run'), scenario, folder, environment)


def _run(command: tuple[str, ...], scenario: Scenario, folder: Path, environment: dict[str, str]) -> Outcome:
    """Run a copy of the dataflow, since both programs write next to it.

    Raises:
        AssertionError: The run took longer than :data:`RUN_LIMIT`; carries what it printed.

    """
    for part in ('flows', 'nodes'):
        shutil.copytree(HERE / part, folder / part, ignore=shutil.ignore_patterns('__pycache__'))
    recorded = folder / 'records'
    recorded.mkdir()
    output = folder / 'output.txt'
    arguments = [*command, str(folder / 'flows' / f'{scenario.name}.yml'), *scenario.arguments]
    with output.open('wb') as file:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env={**environment, 'RECORD_DIR': str(recorded), 'BASE': 'base'},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            exit_code = process.wait(RUN_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            msg = f'{" ".join(arguments)} did not end within {RUN_LIMIT} s; it printed:\n{_text(output)}'
            raise AssertionError(msg) from None
    failed, consequences = failures(_text(output))
    return Outcome(
        exit_code=exit_code,
        records={path.stem: _records(path) for path in sorted(recorded.glob('*.jsonl'))},
        failed=failed,
        consequences=consequences,
        output=_text(output),
    )


def _records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]


def _text(path: Path) -> str:
    return path.read_text(encoding='utf-8', errors='replace')
