"""The command line and the timeouts that the action gives its process."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip('launch.actions')

from launch import LaunchContext
from launch.utilities import perform_substitutions

from adora_ros.launch.actions import Dataflow
from adora_ros.launch.coordinator import Coordinator


def arguments(**keys: Any) -> list[str]:
    return list(Dataflow(file='flow.yml', **keys)._arguments(LaunchContext()))


def test_nothing_is_passed_on_that_is_not_given() -> None:
    assert arguments() == ['--dataflow', 'flow.yml']
    assert arguments(name='', machine='', log_level='', autostart='true', use_sim_time='false') == arguments()


def test_everything_else_is() -> None:
    given = arguments(
        name='robot', machine='A', namespace='fleet', use_sim_time='true', log_level='debug', autostart=False
    )
    assert given == [
        *('--dataflow', 'flow.yml', '--name', 'robot', '--machine', 'A', '--namespace', 'fleet'),
        *('--use-sim-time', '--no-autostart', '--verbose', '--ros-args', '--log-level', 'debug', '--'),
    ]


def test_timeouts_are_as_given_else_as_configured_else_by_the_ladder() -> None:
    context = LaunchContext()

    def timeouts(action: Dataflow) -> tuple[str, str]:
        return tuple(perform_substitutions(context, text) for text in (action.sigterm_timeout, action.sigkill_timeout))

    action = Dataflow(file='flow.yml')
    assert timeouts(action) == ('25.0', '10.0')
    action.ladder = 90.0
    assert timeouts(action) == ('100.0', '10.0')
    context.launch_configurations['sigterm_timeout'] = '3'
    assert timeouts(action) == ('3', '10.0')
    assert timeouts(Dataflow(file='flow.yml', sigterm_timeout='4', sigkill_timeout='5')) == ('4', '5')


def test_a_coordinator_is_told_what_is_given() -> None:
    def told(**keys: Any) -> list[str]:
        return list(Coordinator(**keys)._arguments(LaunchContext()))

    assert told() == ['--linger', '30', '--ros-args']
    given = told(store='sqlite', recovery='fail', machine_timeout='5', recovery_timeout='2.5', log_level='warn')
    assert given == [
        *('--store', 'sqlite', '--recovery', 'fail', '--linger', '30', '--ros-args'),
        *('-p', 'machine_timeout:=5.0', '-p', 'recovery_timeout:=2.5', '--log-level', 'warn'),
    ]
