"""The page about every key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from adora_ros.dataflow import bridgeschema, portschema, schema
from adora_ros.dataflow.examples import EXAMPLES
from adora_ros.dataflow.reference import SECTIONS, example, reference, rows
from adora_ros.dataflow.yamlmodel import Yaml

if TYPE_CHECKING:
    from types import ModuleType

    from pydantic import BaseModel

PAGE = Path(__file__).parents[2] / 'docs' / 'yaml-reference.md'
ROWS = list(rows())


def _models(*modules: ModuleType) -> dict[str, type[BaseModel]]:
    found = {name: item for module in modules for name, item in vars(module).items() if isinstance(item, type)}
    return {name: item for name, item in found.items() if issubclass(item, Yaml) and item is not Yaml}


MODELS = _models(schema, portschema, bridgeschema)


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding='utf-8') == reference(), 'run `make schema`'


def test_every_model_has_a_table() -> None:
    assert set(SECTIONS) == set(MODELS)


@pytest.mark.parametrize(('name', 'key', 'details'), [row[:3] for row in ROWS])
def test_every_key_has_a_meaning_and_a_valid_example(name: str, key: str, details: dict[str, Any]) -> None:
    assert details.get('description'), 'give the field a docstring'
    shown = yaml.safe_load(example(name, key))
    assert list(shown) == [key]
    required = {
        own: yaml.safe_load(example(model, own))[own]
        for model, own, _, is_required in ROWS
        if model == name and is_required
    }
    MODELS[name].model_validate({**required, **shown})


def test_no_example_is_left_over() -> None:
    assert set(EXAMPLES) <= {row[:2] for row in ROWS} | {('ListedOutputYaml', 'id')}
