"""The same YAML under ``dora run`` and ``adora run`` gives the same events at the consumer.

The expectation comes from the golden files, which dora itself confirms where it is installed. What differs on purpose
is in ``docs/differences.md``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from conformance.harness import (
    DIFFERENCES,
    DORA_VARIABLE,
    FAILURE_TEXT,
    HERE,
    RELEASE,
    RULES,
    SCENARIOS,
    Record,
    Scenario,
    canonical,
    closed_last,
    digest,
    dora_version,
    expected,
    find_dora,
    golden,
    golden_file,
    recovered_first,
    restarted_late,
    run_adora,
    run_dora,
    shapes,
)

if TYPE_CHECKING:
    from pathlib import Path

each_scenario = pytest.mark.parametrize('scenario', SCENARIOS, ids=lambda scenario: scenario.name)


@pytest.fixture(scope='module')
def dora() -> Path:
    """Return dora's executable, of the release that the golden files are of."""
    path = find_dora()
    if path is None:
        pytest.skip(f'dora is not installed; {DORA_VARIABLE} names another environment that has dora-rs-cli')
    version = dora_version(path)
    if not version.startswith(RELEASE):
        pytest.skip(f'dora {version} is installed, the golden files are of {RELEASE}x')
    return path


@each_scenario
def test_adora_gives_what_dora_gave(scenario: Scenario, tmp_path: Path) -> None:
    outcome = run_adora(scenario, tmp_path)
    assert digest(scenario, outcome) == expected(scenario), outcome.output
    found, known = shapes(outcome), shapes(*map(golden, SCENARIOS))
    kinds = found if scenario.here else shapes(golden(scenario))
    assert found == {kind: known.get(kind) for kind in kinds}


@each_scenario
def test_dora_gives_what_the_golden_file_says(scenario: Scenario, dora: Path, tmp_path: Path) -> None:
    outcome = run_dora(dora, scenario, tmp_path)
    was = golden(scenario)
    assert digest(scenario, outcome, scenario.rules) == digest(scenario, was, scenario.rules), outcome.output
    assert shapes(outcome) == shapes(was)


def test_each_dataflow_has_a_scenario_and_a_golden_file() -> None:
    names = sorted(scenario.name for scenario in SCENARIOS)
    assert sorted(path.stem for path in (HERE / 'flows').glob('*.yml')) == names
    assert sorted(path.stem for path in (HERE / 'golden').glob('*.json')) == names
    assert all(golden_release(scenario).startswith(RELEASE) for scenario in SCENARIOS)


def test_each_rule_and_each_different_outcome_is_a_row_of_the_differences() -> None:
    rows = set(re.findall(r'^\| `([a-z-]+)` \|', DIFFERENCES.read_text(encoding='utf-8'), re.MULTILINE))
    used = {rule for scenario in SCENARIOS for rule in scenario.rules}
    assert used == set(RULES)
    assert used | {FAILURE_TEXT} | {scenario.row for scenario in SCENARIOS if scenario.here} <= rows


def test_a_different_outcome_is_one_that_dora_did_not_give() -> None:
    for scenario in SCENARIOS:
        if scenario.here:
            assert digest(scenario, golden(scenario), scenario.rules) != scenario.here, scenario.name


def test_recovery_moves_before_the_messages_that_overtook_it() -> None:
    records = [*inputs(0), closed(), *inputs(1, 2), event('INPUT_RECOVERED', 'data'), *inputs(3), closed()]
    assert canonical(recovered_first(records), exact=True) == [
        'INPUT data [0]',
        'INPUT_CLOSED data',
        'INPUT_RECOVERED data',
        'INPUT data [1]',
        'INPUT data [2]',
        'INPUT data [3]',
        'INPUT_CLOSED data',
    ]
    assert recovered_first(recovered_first(records)) == recovered_first(records)


def test_restart_moves_to_the_first_message_of_the_new_incarnation() -> None:
    restarted = event('NODE_RESTARTED', 'source')
    records = [*inputs(0), restarted, *inputs(1), closed(), *inputs(100), restarted, *inputs(101, 200)]
    assert canonical(restarted_late(records), exact=True) == [
        'INPUT data [0]',
        'INPUT data [1]',
        'INPUT_CLOSED data',
        'NODE_RESTARTED source',
        'INPUT data [100]',
        'INPUT data [101]',
        'NODE_RESTARTED source',
        'INPUT data [200]',
    ]


def test_restart_without_a_message_after_it_stays() -> None:
    records = [*inputs(0), event('NODE_RESTARTED', 'source'), closed()]
    assert restarted_late(records) == records


def test_end_of_an_input_moves_behind_the_messages_that_it_overtook() -> None:
    failed = event('NODE_FAILED', 'source')
    failed['value'] = {'source_node_id': 'source', 'error': 'exited with code 3', 'affected_input_ids': ['data']}
    stop = event('STOP', 'ALL_INPUTS_CLOSED')
    records = [*inputs(0), failed, *inputs(1), closed(), stop, *inputs(2)]
    assert canonical(closed_last(records), exact=True) == [
        'INPUT data [0]',
        'INPUT data [1]',
        'INPUT data [2]',
        "NODE_FAILED source ['data'] 3",
        'INPUT_CLOSED data',
        'STOP ALL_INPUTS_CLOSED',
    ]


def test_an_input_that_opened_again_is_not_at_its_end() -> None:
    records = [*inputs(0), closed(), event('INPUT_RECOVERED', 'data'), *inputs(1)]
    assert closed_last(records) == records


def golden_release(scenario: Scenario) -> str:
    """Return the release of dora that the golden file of ``scenario`` is of."""
    release: str = json.loads(golden_file(scenario).read_text(encoding='utf-8'))['dora']
    return release


def inputs(*values: int) -> list[Record]:
    """Return one INPUT record for each of ``values``."""
    return [{**event('INPUT', 'data'), 'value': [value]} for value in values]


def closed() -> Record:
    """Return an INPUT_CLOSED record."""
    return event('INPUT_CLOSED', 'data')


def event(kind: str, name: str) -> Record:
    """Return a record of type ``kind`` about ``name``."""
    return {'type': kind, 'id': name}
