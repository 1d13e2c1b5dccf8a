"""Fixtures for nodes and managers that misbehave."""

from __future__ import annotations

from manager.conftest import flow, observer, run

__all__ = ['flow', 'observer', 'run']
