"""What dora refuses is refused here; what is refused here only is a row of the differences."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from adora_ros.dataflow import DataflowError, loads
from conformance.harness import DIFFERENCES, DORA_VARIABLE, HERE, RELEASE, dora_version, find_dora

if TYPE_CHECKING:
    from pathlib import Path

CASES: dict[str, dict[str, str]] = yaml.safe_load((HERE / 'bad.yml').read_text(encoding='utf-8'))
VERDICTS: dict[str, bool] = json.loads((HERE / 'verdicts.json').read_text(encoding='utf-8'))
"""Whether ``dora validate`` refuses a file."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the script that the files name."""
    (tmp_path / 'n.py').touch()
    return tmp_path


@pytest.mark.parametrize('name', CASES)
def test_the_verdict_is_that_of_dora_or_a_row_says_why_not(name: str, folder: Path) -> None:
    problem = ''
    try:
        loads(CASES[name]['text'], path=folder / 'flow.yml')
    except DataflowError as error:
        problem = str(error)
    assert bool(problem) == (VERDICTS[name] or 'row' in CASES[name]), problem
    assert all(re.match(r'\S*/flow\.yml:\d+:\d+: (error|warning): ', line) for line in problem.splitlines())


def test_each_case_has_a_verdict_and_each_row_is_one() -> None:
    assert sorted(VERDICTS) == sorted(CASES)
    assert not any('row' in CASES[name] for name, refused in VERDICTS.items() if refused)
    rows: set[Any] = set(re.findall(r'^\| `([a-z-]+)` \|', DIFFERENCES.read_text(encoding='utf-8'), re.MULTILINE))
    assert {case['row'] for case in CASES.values() if 'row' in case} <= rows


def test_dora_still_says_so(folder: Path) -> None:
    dora = find_dora()
    if dora is None or not dora_version(dora).startswith(RELEASE):
        pytest.skip(f'no dora {RELEASE}x; {DORA_VARIABLE} names an environment that has dora-rs-cli')
    refused = {}
    for name, case in CASES.items():
        file = folder / f'{name}.yml'
        file.write_text(case['text'], encoding='utf-8')
        command: list[str] = [str(dora), 'validate', '--offline', str(file)]
        refused[name] = (
            subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False).returncode != 0
        )
    assert refused == VERDICTS
