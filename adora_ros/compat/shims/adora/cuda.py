"""As in dora."""

from __future__ import annotations

import dora.cuda  # noqa: F401 - raises
