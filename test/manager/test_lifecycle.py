"""Driving a lifecycle: legal transitions only, deadlines, and a look at the state after every failure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from adora_ros.errors import LifecycleError, LifecycleTimeoutError
from adora_ros.manager import lifecycle
from adora_ros.manager.lifecycle import drive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.manager.lifecycle import Subscribers

LEGAL = {
    ('unconfigured', 'configure'): 'inactive',
    ('inactive', 'activate'): 'active',
    ('active', 'deactivate'): 'inactive',
}
"""The part of the ROS 2 lifecycle that a manager asks for."""


class FakeNode:
    """A node that answers as told.

    Args:
        state: Where it begins.
        fail: Transitions that fail, and the state that they leave behind.
        hang: Transitions that never answer, and the state that they leave behind.
        settle: States that it passes through by itself, one a look.

    """

    def __init__(
        self,
        state: str = 'unconfigured',
        *,
        fail: Mapping[str, str] | None = None,
        hang: Mapping[str, str] | None = None,
        settle: tuple[str, ...] = (),
    ) -> None:
        self.current = state
        self.asked: list[str] = []
        self.subscribers: list[Subscribers] = []
        self.mute = False
        self._fail = fail or {}
        self._hang = hang or {}
        self._settle = list(settle)

    async def state(self) -> str:
        """Return the state."""
        if self.mute:
            await asyncio.Event().wait()
        if self._settle:
            self.current = self._settle.pop(0)
        return self.current

    async def change(self, transition: str, subscribers: Subscribers) -> None:
        """Perform a transition as told."""
        assert (self.current, transition) in LEGAL, f'illegal: {transition} in {self.current}'
        self.asked.append(transition)
        self.subscribers.append(subscribers)
        if transition in self._hang:
            self.current = self._hang[transition]
            await asyncio.Event().wait()
        if transition in self._fail:
            self.current = self._fail[transition]
            msg = f'{transition} says no'
            raise LifecycleError(msg)
        self.current = LEGAL[self.current, transition]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, 'POLL', 0.001)
    monkeypatch.setattr(lifecycle, 'STATE_DEADLINE', 0.05)


def run(node: FakeNode, target: str, deadline: float = 0.1) -> None:
    asyncio.run(asyncio.wait_for(drive(node, target, subscribers={'out': {'/df/n': 7}}, deadline=deadline), 5.0))


@pytest.mark.parametrize(
    ('state', 'target', 'asked'),
    [
        ('unconfigured', 'configured', ['configure']),
        ('unconfigured', 'active', ['configure', 'activate']),
        ('unconfigured', 'inactive', []),
        ('inactive', 'configured', []),
        ('inactive', 'active', ['activate']),
        ('inactive', 'inactive', []),
        ('active', 'configured', []),
        ('active', 'active', []),
        ('active', 'inactive', ['deactivate']),
        ('finalized', 'inactive', []),
    ],
)
def test_a33_only_what_is_missing_is_asked_for(state: str, target: str, asked: list[str]) -> None:
    node = FakeNode(state)
    run(node, target)
    assert node.asked == asked


@pytest.mark.parametrize('target', ['configured', 'active'])
@pytest.mark.parametrize('state', ['finalized', 'unknown'])
def test_a33_a_state_that_no_legal_transition_leaves_is_an_error(state: str, target: str) -> None:
    node = FakeNode(state)
    with pytest.raises(LifecycleError, match=f'node is {state}, from where it cannot become {target}'):
        run(node, target)
    assert node.asked == []


def test_a33_a_transition_under_way_is_waited_for() -> None:
    node = FakeNode('configuring', settle=('configuring', 'configuring', 'inactive'))
    run(node, 'active')
    assert node.asked == ['activate']


def test_the_subscribers_are_passed_on() -> None:
    node = FakeNode('inactive')
    run(node, 'active')
    assert node.subscribers == [{'out': {'/df/n': 7}}]


def test_a_failed_transition_is_an_error_with_the_text_of_the_node() -> None:
    node = FakeNode(fail={'configure': 'unconfigured'})
    with pytest.raises(LifecycleError, match='configure says no'):
        run(node, 'active')
    assert node.asked == ['configure']


def test_a_call_that_failed_though_the_state_advanced_has_succeeded() -> None:
    node = FakeNode(fail={'configure': 'inactive', 'activate': 'active'})
    run(node, 'active')
    assert node.asked == ['configure', 'activate']


def test_a_call_without_an_answer_though_the_state_advanced_has_succeeded() -> None:
    node = FakeNode(hang={'configure': 'inactive'})
    run(node, 'active')
    assert node.asked == ['configure', 'activate']


def test_a_hung_transition_ends_at_its_deadline() -> None:
    node = FakeNode(hang={'configure': 'configuring'})
    with pytest.raises(LifecycleTimeoutError, match=r'configure did not end within 0\.1 s'):
        run(node, 'active')
    assert node.asked == ['configure']


def test_a_transition_that_somebody_else_hangs_in_ends_at_the_deadline() -> None:
    node = FakeNode('activating')
    with pytest.raises(LifecycleTimeoutError, match=r'node is still activating after 0\.1 s'):
        run(node, 'active')
    assert node.asked == []


def test_a_node_that_does_not_tell_its_state_is_an_error() -> None:
    node = FakeNode()
    node.mute = True
    with pytest.raises(LifecycleTimeoutError, match=r'no answer to get_state within 0\.05 s'):
        run(node, 'active')


def test_a_node_that_falls_back_is_not_asked_for_ever() -> None:
    class FallingBack(FakeNode):
        async def change(self, transition: str, subscribers: Subscribers) -> None:
            await super().change(transition, subscribers)
            self.current = 'unconfigured'

    node = FallingBack()
    with pytest.raises(LifecycleError, match='node is unconfigured again after configure'):
        run(node, 'active')
    assert node.asked == ['configure']


def test_who_is_cancelled_together_with_the_answer_does_not_go_on() -> None:
    class Answering(FakeNode):
        def __init__(self) -> None:
            super().__init__()
            self.told, self.answer = asyncio.Event(), asyncio.Event()

        async def change(self, transition: str, subscribers: Subscribers) -> None:
            await super().change(transition, subscribers)
            self.told.set()
            await self.answer.wait()

    async def exit_with_the_answer() -> list[str]:
        node = Answering()
        driving = asyncio.ensure_future(drive(node, 'active'))
        await node.told.wait()
        node.answer.set()
        driving.cancel()
        await asyncio.wait({driving})
        assert driving.cancelled()
        return node.asked

    assert asyncio.run(exit_with_the_answer()) == ['configure']
