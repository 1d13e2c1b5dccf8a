"""Lets scripts that were written for dora or adora run as they are.

The packages ``dora`` and ``adora`` in :data:`SHIMS` are on the import path of the processes that a dataflow starts,
and nowhere else: an installed dora is neither changed nor hidden from anybody else. In such a process they come first,
since the installed one can only talk to a dora daemon.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SHIMS = Path(__file__).parent / 'shims'
"""Folder with the packages ``dora`` and ``adora``."""

PATH_VARIABLE = 'PYTHONPATH'


def with_shims(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that finds the shims before anything else of those names."""
    path = env.get(PATH_VARIABLE)
    return {**env, PATH_VARIABLE: os.pathsep.join((str(SHIMS), path)) if path else str(SHIMS)}
