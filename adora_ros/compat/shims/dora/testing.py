"""``dora.testing``, here :mod:`adora_ros.testing`."""

from __future__ import annotations

from adora_ros.testing import MockNode

__all__ = ['MockNode']
