"""Fixtures for dataflows that really run."""

from __future__ import annotations

from manager.conftest import flow, run

__all__ = ['flow', 'run']
