"""What a shell completes on the command line, through argcomplete."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from adora_ros.cli.presence import manager_claims
from adora_ros.manager.runfile import is_live
from adora_ros.transport.rundir import RUN_FILE, log_root

if TYPE_CHECKING:
    import argparse

SUFFIXES = ('.yml', '.yaml')


def answer_shell(parser: argparse.ArgumentParser) -> None:
    """Complete the line of a shell that asks for it, and end; return at once if none does."""
    if '_ARGCOMPLETE' not in os.environ:
        return
    try:
        import argcomplete  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 - only a shell needs it
    except ModuleNotFoundError:
        return
    argcomplete.autocomplete(parser)


def complete_dataflow(prefix: str, **_context: Any) -> list[str]:
    """Return the folders and YAML files that a path may go on to."""
    folder, _, start = prefix.rpartition('/')
    place = f'{folder}/' if '/' in prefix else ''
    try:
        entries = sorted(os.scandir(os.path.expanduser(place) or '.'), key=lambda entry: entry.name)  # noqa: PTH111
    except OSError:
        return []
    names = [f'{entry.name}/' if entry.is_dir() else entry.name for entry in entries]
    return [f'{place}{name}' for name in names if name.startswith(start) and name.endswith(('/', *SUFFIXES))]


def complete_running(prefix: str, **_context: Any) -> list[str]:
    """Return the names of dataflows that run on this host."""
    names = {claim.name.rpartition('/')[0].lstrip('/') for claim in manager_claims()}
    return sorted(name for name in names if name.startswith(prefix))


def complete_node(prefix: str, **_context: Any) -> list[str]:
    """Return the ids of the nodes of dataflows that run on this host."""
    names: set[str] = set()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        for file in log_root().glob(f'*/*/{RUN_FILE}'):
            if is_live(file.parent):
                described = json.loads((file.parent / 'dataflow.json').read_text(encoding='utf-8'))
                names.update(node['id'] for node in described['nodes'])
    return sorted(name for name in names if name.startswith(prefix))


def complete_run(prefix: str, **_context: Any) -> list[str]:
    """Return the names of dataflows that have logs on this host."""
    try:
        names = [entry.parent.parent.name for entry in log_root().glob(f'*/*/{RUN_FILE}')]
    except OSError:
        return []
    return sorted({name for name in names if name.startswith(prefix)})
