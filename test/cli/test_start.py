"""What ``adora start`` hands on to the manager that it starts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from adora_ros.cli.foreground import options_of
from adora_ros.cli.main import parser
from adora_ros.cli.manager import parser as manager_parser
from adora_ros.cli.start import manager_command


@pytest.mark.parametrize(
    'given',
    [
        [],
        ['--name', 'n', '--machine', 'm', '--namespace', 'robot1', '--use-sim-time', '--stop-after', '90s'],
        ['--env', 'A=x y', '--env', 'B=', '--exit-when-nodes-finish'],
        ['--no-exit-when-nodes-finish', '--stop-after', '250ms'],
    ],
)
def test_a_manager_in_the_background_gets_all_options_of_the_run(given: list[str]) -> None:
    asked = options_of(parser().parse_args(['start', 'flow.yml', *given]), 'flow.yml')
    _, _, module, *arguments = manager_command(asked, '@address')
    assert module == 'adora_ros.cli.manager'
    read = manager_parser().parse_args(arguments)
    assert (read.events, read.quiet) == ('@address', True)
    expected = dataclasses.replace(asked, file=Path('flow.yml').absolute(), name=asked.name or 'flow')
    assert options_of(read, read.dataflow) == expected
