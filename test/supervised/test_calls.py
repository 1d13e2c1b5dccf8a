"""Services that do not answer: every call ends, and forgets what it waited for."""

from __future__ import annotations

import ast
import asyncio
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import GetState

import adora_ros
from adora_ros.errors import LifecycleTimeoutError
from adora_ros.manager import lifecycle
from adora_ros.manager.foreign import ServiceDriver, ask_until_answered
from adora_ros.manager.ros import ManagerThread
from supervised.harness import SLACK, Stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from manager.observer import Observer

BLOCKING = {'call', 'wait_for_service', 'spin_until_future_complete'}
"""What rclpy offers that waits for ever unless it is told not to."""


class Idle:
    """A manager that does nothing."""

    def __init__(self) -> None:
        self.on_configure: Callable[[], object] = lambda: None

    def configure(self) -> str:
        self.on_configure()
        return ''

    def activate(self) -> str:
        return ''

    def deactivate(self) -> str:
        return ''

    def cleanup(self) -> str:
        return ''

    def shutdown(self) -> str:
        return ''

    def keep(self, *, through_stop: bool) -> None:
        pass

    def give_up(self, error: str) -> None:
        pass

    def command(self, verb: str, node: str) -> str:
        return f'{verb} {node}'


@pytest.fixture
def control() -> Idle:
    return Idle()


@pytest.fixture
def ros(ros_domain: int, control: Idle) -> Iterator[ManagerThread]:  # noqa: ARG001 - the domain outlives the thread
    thread = ManagerThread('manager', '/calls', control=control, machine='')
    yield thread
    thread.close()


def pending(client: Any) -> int:
    return len(client._pending_requests)


def test_a47_a_call_without_a_server_ends_and_is_forgotten(ros: ManagerThread) -> None:
    client: Any = ros.node.create_client(GetState, '/nobody/get_state')
    watch = Stopwatch()
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(ros.call(client, GetState.Request(), 0.2))
    assert 0.2 <= watch() < 0.2 + SLACK
    assert pending(client) == 0


def test_a47_a_question_that_is_given_up_is_forgotten(ros: ManagerThread) -> None:
    client: Any = ros.node.create_client(GetState, '/nobody/get_state')
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(ask_until_answered(ros, client, GetState.Request()), 0.6))
    assert pending(client) == 0


def test_a47_a_transition_of_a_node_that_is_gone_ends_and_is_forgotten(
    ros: ManagerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, 'STATE_DEADLINE', 0.4)
    driver = ServiceDriver(ros, '/nobody')
    with pytest.raises(LifecycleTimeoutError, match=r'no answer to get_state within 0\.4 s'):
        asyncio.run(lifecycle.drive(driver, 'active', deadline=0.5))
    assert (pending(driver._get), pending(driver._change)) == (0, 0)
    driver.close()


def test_a47_nothing_in_the_package_calls_a_service_without_a_deadline() -> None:
    endless, asking, forgetting = [], set(), set()
    package = Path(adora_ros.__file__).parent
    for file in sorted(package.rglob('*.py')):
        for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in BLOCKING and not node.args and not node.keywords:
                endless.append(f'{file.name}:{node.lineno}')
            if node.func.attr == 'call_async':
                asking.add(file.relative_to(package).as_posix())
            if node.func.attr == 'remove_pending_request':
                forgetting.add(file.relative_to(package).as_posix())
    assert not endless
    # The command line asks in a process that ends with its answer, or without one.
    assert asking - forgetting == {'cli/session.py'}


def test_the_answer_to_a_transition_is_sent_even_if_the_manager_ends_with_it(control: Idle, observer: Observer) -> None:
    """The ROS thread is held up, so that the answer and the end wait behind each other."""
    ros = ManagerThread('manager', '/calls', control=control, machine='')

    def end() -> None:
        ros.node.transitions.submit(lambda: None).result()
        ros.close()

    def configure() -> None:
        ros.executor.create_task(time.sleep, 0.3)
        time.sleep(0.05)
        ending.start()

    ending = threading.Thread(target=end)
    control.on_configure = configure
    assert observer.change_state('/calls/manager', Transition.TRANSITION_CONFIGURE)
    ending.join(20.0)
    assert not ending.is_alive()


def test_the_state_of_the_manager_is_told_during_a_long_transition(
    ros: ManagerThread, control: Idle, observer: Observer
) -> None:
    del ros
    release = threading.Event()
    control.on_configure = lambda: release.wait(20.0)
    done: list[bool] = []
    asked = threading.Thread(
        target=lambda: done.append(observer.change_state('/calls/manager', Transition.TRANSITION_CONFIGURE))
    )
    asked.start()
    state = 'unconfigured'
    deadline = time.monotonic() + 10.0
    while state == 'unconfigured' and time.monotonic() < deadline:
        state = observer.state('/calls/manager')
    assert state == 'configuring'
    assert done == []
    release.set()
    asked.join(20.0)
    assert done == [True]
    assert observer.state('/calls/manager') == 'inactive'
