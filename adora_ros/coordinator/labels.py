"""Wall time as a label."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """Return the wall time in UTC, such as ``2030-01-02T03:04:05.678901Z``."""
    return datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ')
