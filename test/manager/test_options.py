"""The names that follow from what a manager is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from adora_ros.errors import ManagerError
from adora_ros.manager.options import Options


@pytest.mark.parametrize(
    ('keys', 'dataflow', 'namespace', 'node'),
    [
        ({}, 'my_robot', '/my_robot', 'manager'),
        ({'name': 'other'}, 'other', '/other', 'manager'),
        ({'name': 'o-t h'}, 'o_t_h', '/o_t_h', 'manager'),
        ({'machine': 'arm-1'}, 'my_robot', '/my_robot', 'manager_arm_1'),
        ({'outer_namespace': '/fleet'}, 'my_robot', '/fleet/my_robot', 'manager'),
    ],
)
def test_names_are_those_of_ros(keys: dict[str, str], dataflow: str, namespace: str, node: str) -> None:
    options = Options(file=Path('/somewhere/my-robot.yml'), **keys)  # type: ignore[arg-type]
    assert (options.dataflow_name, options.namespace, options.node_name) == (dataflow, namespace, node)


def test_a_namespace_that_ros_forbids_is_an_error() -> None:
    with pytest.raises(ManagerError, match='--namespace'):
        _ = Options(file=Path('f.yml'), outer_namespace='9 lives').namespace
