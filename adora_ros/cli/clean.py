"""``clean``: removes what runs that are over have left behind."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.cli.runs import all_runs, roots
from adora_ros.errors import CommandError
from adora_ros.manager.sharedmemory import dead_folders, remove_folder
from adora_ros.transport import dds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

DRAFT_AGE = 86400.0
"""Seconds after which the console text of a manager that never ran anything is of no use."""
MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Remains:
    """Something that can be removed.

    Attributes:
        path: Where it is.
        what: What it is.
        size: Its bytes.
        remove: Removes it.

    """

    path: Path
    what: str
    size: int
    remove: Callable[[], None]


def clean(arguments: argparse.Namespace) -> int:
    """Remove old logs, and shared memory of processes that are dead.

    Raises:
        CommandError: something could not be removed; the rest is.

    """
    verb = 'would remove' if arguments.dry_run else 'removed'
    failures = []
    count = size = 0
    for remains in _find(arguments.older_than):
        try:
            if not arguments.dry_run:
                remains.remove()
        except FileNotFoundError:
            continue  # somebody else has removed it
        except OSError as error:
            failures.append(f'{remains.path}: {error.strerror}')
            continue
        count, size = count + 1, size + remains.size
        sys.stdout.write(f'{verb} {remains.path} ({remains.what}, {remains.size / MIB:.1f} MiB)\n')
    things = 'thing' if count == 1 else 'things'
    sys.stdout.write(f'{verb} {count} {things}, {size / MIB:.1f} MiB\n')
    if failures:
        msg = f'not removed: {"; ".join(failures)}'
        raise CommandError(msg)
    return 0


def _find(older_than: float) -> Iterator[Remains]:
    yield from _logs(older_than)
    for lock in dds.dead_segments():
        segment = lock.with_name(lock.name.removesuffix('_el'))
        yield Remains(
            path=segment,
            what='shared memory of a dead ROS process',
            size=_size(segment),
            remove=lambda lock=lock: dds.remove_segment(lock),  # type: ignore[misc] # mypy and default values
        )
    for folder in dead_folders():
        yield Remains(
            path=folder,
            what='shared memory of a run that is over',
            size=_size(folder),
            remove=lambda folder=folder: remove_folder(folder),  # type: ignore[misc] # as above
        )


def _logs(older_than: float) -> Iterator[Remains]:
    now = time.time()
    for run in reversed(all_runs()):
        if not run.is_live and now - _last_change(run.folder, now) > older_than:
            ended = run.facts.ended or 'without having noted its end'
            yield Remains(
                path=run.folder,
                what=f'logs of {run.facts.dataflow}, ended {ended[:19]}' if run.facts.ended else f'logs, {ended}',
                size=_size(run.folder),
                remove=lambda folder=run.folder: shutil.rmtree(folder),  # type: ignore[misc] # as above
            )
    for root in roots():
        for draft in root.glob('*/start-*.log'):
            if now - _changed(draft, now) > DRAFT_AGE:
                yield Remains(path=draft, what='of a start that failed', size=_size(draft), remove=draft.unlink)


def _last_change(folder: Path, now: float) -> float:
    """Return the wall time at which something in a folder was last written; ``now`` if it is gone."""
    try:
        return max(_changed(path, now) for path in (folder, *folder.iterdir()))
    except FileNotFoundError:
        return now


def _changed(path: Path, now: float) -> float:
    """Return the wall time at which a file or folder was last written; ``now`` if it is gone."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return now


def _size(path: Path) -> int:
    try:
        if path.is_dir():
            return sum(_size(entry) for entry in path.iterdir())
        return path.stat().st_size
    except OSError:
        return 0
