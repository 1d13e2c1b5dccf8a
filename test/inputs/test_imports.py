"""What importing the package costs and gives."""

from __future__ import annotations

import subprocess
import sys

import pytest

import adora_ros
import adora_ros.inputs

HEAVY = ('numpy', 'pyarrow', 'pydantic', 'rclpy')


@pytest.mark.parametrize(
    'statement',
    [
        'import adora_ros',
        'from adora_ros import InputTracker, Input, Stop',
        'import adora_ros.inputs',
        'import adora_ros.transport.contract',
    ],
)
def test_importing_is_light(statement: str) -> None:
    code = f'import sys\n{statement}\nprint(sorted(set(sys.modules) & set({HEAVY!r})))'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == '[]'


@pytest.mark.parametrize(
    'name', sorted(set(adora_ros.__all__) - {'DataflowBuilder', 'InputTracker', 'MockNode', 'Node'})
)
def test_the_short_names_are_those_of_the_inputs(name: str) -> None:
    assert getattr(adora_ros, name) is getattr(adora_ros.inputs, name)
    assert name in dir(adora_ros)


def test_the_tracker_is_that_for_nodes_as_well() -> None:
    assert issubclass(adora_ros.InputTracker, adora_ros.inputs.InputTracker)
    assert adora_ros.InputTracker(['image']).state('image') is adora_ros.InputState.WAITING


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'adora_ros' has no attribute 'Nod'"):
        _ = adora_ros.Nod
