"""Lifecycle nodes that fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import rclpy
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from adora_ros.node import LifecycleNode

if TYPE_CHECKING:
    from collections.abc import Iterator


class Fragile(LifecycleNode):
    """Fails at the transitions that it is told to fail at."""

    def __init__(self, failure: Exception | TransitionCallbackReturn | None) -> None:
        self.failure = failure
        self.ended: list[str] = []
        super().__init__('fragile')

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure or super().on_configure(state)

    def on_transition_end(self) -> None:
        self.ended.append(self.last_error)


@pytest.fixture(autouse=True)
def ros(ros_domain: int) -> Iterator[None]:
    rclpy.init(args=[], domain_id=ros_domain)
    yield
    rclpy.try_shutdown()


def state(node: LifecycleNode) -> str:
    return str(node._state_machine.current_state[1])


def test_a34_an_exception_is_an_error_with_traceback_and_last_line(capfd: pytest.CaptureFixture[str]) -> None:
    node = Fragile(ValueError('no such\ncamera'))
    assert node.trigger_configure() == TransitionCallbackReturn.ERROR
    assert node.last_error == 'ValueError: no such camera'
    assert state(node) == 'unconfigured'
    log = capfd.readouterr().err
    assert 'on_configure failed' in log
    assert re.search(r'File ".*test_lifecycle.py", line \d+, in on_configure', log)
    node.destroy_node()


def test_a34_the_node_works_once_the_cause_is_gone() -> None:
    node = Fragile(ValueError('x'))
    node.trigger_configure()
    node.failure = None
    assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    assert node.last_error == ''
    assert state(node) == 'inactive'
    assert node.ended == ['ValueError: x', 'ValueError: x', '']
    node.destroy_node()


@pytest.mark.parametrize('result', [TransitionCallbackReturn.FAILURE, TransitionCallbackReturn.ERROR])
def test_a_returned_failure_is_named(result: TransitionCallbackReturn) -> None:
    node = Fragile(result)
    assert node.trigger_configure() == result
    assert node.last_error == f'on_configure returned {result.name}'
    node.destroy_node()
