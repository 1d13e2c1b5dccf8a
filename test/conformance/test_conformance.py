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
    Scenario,
    digest,
    dora_version,
    expected,
    find_dora,
    golden,
    golden_file,
    reports_alike,
    run_adora,
    run_dora,
    shapes,
)
from conformance.scenarios import SCENARIOS

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
    assert reports_alike(scenario, outcome), outcome.output
    found, own = shapes(outcome), shapes(golden(scenario))
    known = {**shapes(*map(golden, SCENARIOS)), **own}
    kinds = found if scenario.here else own
    assert found == {kind: known.get(kind) for kind in kinds}


@each_scenario
def test_dora_gives_what_the_golden_file_says(scenario: Scenario, dora: Path, tmp_path: Path) -> None:
    outcome = run_dora(dora, scenario, tmp_path)
    was = golden(scenario)
    assert digest(scenario, outcome, scenario.rules) == digest(scenario, was, scenario.rules), outcome.output
    assert (outcome.failed, outcome.consequences) == (was.failed, was.consequences)
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
    assert used | {FAILURE_TEXT} | {scenario.row for scenario in SCENARIOS if scenario.row} <= rows


def test_a_different_outcome_is_one_that_dora_did_not_give() -> None:
    for scenario in SCENARIOS:
        if scenario.here:
            assert digest(scenario, golden(scenario), scenario.rules) != scenario.here, scenario.name


def golden_release(scenario: Scenario) -> str:
    """Return the release of dora that the golden file of ``scenario`` is of."""
    release: str = json.loads(golden_file(scenario).read_text(encoding='utf-8'))['dora']
    return release
