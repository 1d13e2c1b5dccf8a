"""The fixtures of the manager's tests."""

from __future__ import annotations

from manager.conftest import flow, observer, run

__all__ = ['flow', 'observer', 'run']
