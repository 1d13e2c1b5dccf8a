"""When a look at events is over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from adora_ros.cli import look

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Ears:
    """Stands for a session; keeps who listens to what."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Callable[[Any], None]] = {}

    def subscribe(self, _kind: Any, topic: str, callback: Callable[[Any], None], _qos: Any) -> None:
        """Keep it."""
        self.callbacks[topic] = callback


def test_a_look_is_not_over_before_the_dataflow_has_been_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(look, 'time', SimpleNamespace(monotonic=lambda: now))
    ears: Any = Ears()
    shown: list[tuple[str, Any]] = []
    listener = look._Listener(ears, lambda name, message: shown.append((name, message)))
    now += 10.0  # as long as it took to find the dataflow
    flow: Any = SimpleNamespace(namespace='/flow', name='flow', run='uuid')
    listener.listen_to_all([flow])
    now += 2 * look.QUIET
    assert not listener.is_quiet()
    ears.callbacks['/flow/events']('started')
    assert not listener.is_quiet()
    now += 2 * look.QUIET
    assert listener.is_quiet()
    assert shown == [('flow', 'started')]


def test_a_dataflow_that_was_never_started_need_not_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(look, 'time', SimpleNamespace(monotonic=lambda: now))
    ears: Any = Ears()
    listener = look._Listener(ears, lambda _name, _message: None)
    now += 10.0
    idle: Any = SimpleNamespace(namespace='/idle', name='idle', run='')
    listener.listen_to_all([idle])
    assert not listener.is_quiet()
    now += 2 * look.QUIET
    assert listener.is_quiet()
