"""The runs that have left logs on this host, those that go on among them."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from adora_ros.cli.naming import Named, chosen
from adora_ros.errors import NotRunningError
from adora_ros.manager.runfile import RunFacts, is_live, read_run
from adora_ros.transport.rundir import RUN_FILE, log_root


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A run and where its logs are."""

    folder: Path
    facts: RunFacts

    @property
    def is_live(self) -> bool:
        """Whether it goes on."""
        return is_live(self.folder)


def roots() -> tuple[Path, ...]:
    """Return the folders in which dataflows have theirs, see :func:`adora_ros.transport.rundir.dataflow_folder`."""
    return log_root(), Path(tempfile.gettempdir()) / f'adora_ros_{os.getuid()}'


def all_runs() -> list[PastRun]:
    """Return all runs, the latest first."""
    found = []
    for root in roots():
        for file in root.glob(f'*/*/{RUN_FILE}'):
            facts = read_run(file.parent)
            if facts is not None:
                found.append(PastRun(folder=file.parent, facts=facts))
    return sorted(found, key=lambda run: run.facts.started, reverse=True)


def find_run(name: str | None) -> PastRun:
    """Return the run that a name means: the last one of a dataflow, or the one with a uuid that begins so.

    Args:
        name: Name of the dataflow or the beginning of a uuid; None for the last run of all.

    Raises:
        NotRunningError: there is none.
        AmbiguousNameError: several uuids begin so.

    """
    runs = all_runs()
    if not runs:
        msg = f'there are no runs in {log_root()}; set ROS_LOG_DIR to where the manager had its logs'
        raise NotRunningError(msg)
    latest: dict[str, PastRun] = {}
    for run in runs:
        latest.setdefault(run.facts.dataflow, run)
    if name is None:
        return runs[0]
    if name.strip('/') in latest:
        return latest[name.strip('/')]
    known = [Named(run, run.facts.dataflow, run.facts.uuid) for run in runs]
    return chosen(known, name, what='run')
