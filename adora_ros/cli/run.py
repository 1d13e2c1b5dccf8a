"""``adora run``: begins to load the warm process before it imports anything itself, so that both take place at once."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from adora_ros.warm.process import begin

if TYPE_CHECKING:
    import argparse


def run_file(arguments: argparse.Namespace) -> int:
    """Run a dataflow file to its end.

    Raises:
        DataflowError: it cannot be run.
        AdoraError: the manager cannot run; the text says why.

    """
    process = begin()
    gc.disable()  # until all is imported: what is imported is no garbage
    from adora_ros.cli.foreground import options_of, run  # noqa: PLC0415 - see above

    return run(options_of(arguments, arguments.file), arguments, process)
