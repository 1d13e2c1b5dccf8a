"""What a shell completes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.cli.completion import complete_dataflow

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'sub').mkdir()
    for name in ('flow.yml', 'other.yaml', 'script.py', 'sub/inner.yml'):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('HOME', str(tmp_path))


@pytest.mark.parametrize(
    ('prefix', 'expected'),
    [
        ('', ['flow.yml', 'other.yaml', 'sub/']),
        ('f', ['flow.yml']),
        ('sub/', ['sub/inner.yml']),
        ('~/s', ['~/sub/']),
        ('script', []),
        ('nowhere/', []),
    ],
)
def test_folders_and_yaml_files(prefix: str, expected: list[str]) -> None:
    assert complete_dataflow(prefix) == expected


def test_an_absolute_path(tmp_path: Path) -> None:
    assert complete_dataflow(f'{tmp_path}/sub/i') == [f'{tmp_path}/sub/inner.yml']
    assert '/' not in complete_dataflow('/')
    assert complete_dataflow('/tm') == ['/tmp/']
