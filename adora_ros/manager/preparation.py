"""What a manager prepares before it runs a dataflow."""

from __future__ import annotations

import asyncio
import os
import uuid
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from adora_ros.manager.environment import RunContext, run_mark
from adora_ros.manager.foreign import ForeignNodes
from adora_ros.manager.linetopics import open_lines
from adora_ros.manager.means import Means
from adora_ros.manager.peers import open_peers
from adora_ros.manager.processes import PosixProcesses
from adora_ros.manager.runfile import RunFacts
from adora_ros.manager.sharedmemory import SharedMemory
from adora_ros.transport.rundir import make_run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.discovery import Discovery
    from adora_ros.manager.journal import Journal
    from adora_ros.manager.logs import LogPump
    from adora_ros.manager.options import Options
    from adora_ros.manager.ros import ManagerThread
    from adora_ros.manager.warm import WarmStarts


def new_context(options: Options, dataflow: Dataflow, discovery: Discovery) -> RunContext:
    """Return what all nodes of a new run have in common, and make its folder.

    Args:
        options: What the manager was told.
        dataflow: What to run.
        discovery: How the nodes find each other.

    Raises:
        ManagerError: the folder or a file in it cannot be made.

    """
    run_id = options.run_id or str(uuid.uuid4())
    local = options.share(dataflow)
    mark = run_mark(run_id, options.machine, is_share=len(local) < len(dataflow.nodes))
    folder = make_run_folder(dataflow, run_id)
    return RunContext(
        dataflow=dataflow,
        run_id=run_id,
        folder=folder,
        machine=options.machine,
        env={**discovery.node_environment(dataflow, folder), **options.env},
        use_sim_time=options.use_sim_time,
        memory=SharedMemory(mark, dataflow.shared_memory_limit),
        local=local,
    )


def new_means(
    context: RunContext,
    ros: ManagerThread,
    pump: LogPump,
    journal: Journal,
    warm: WarmStarts | None,
    discovery: Discovery,
) -> Means:
    """Return what a run works with; for the event loop."""
    return Means(
        processes=PosixProcesses(),
        pump=pump,
        journal=journal,
        ros=ForeignNodes(ros),
        lines=open_lines(context, ros.node, journal, asyncio.get_running_loop()),
        peers=open_peers(ros.node, context),
        warm=warm,
        reception=discovery.reception,
    )


def run_facts(options: Options, context: RunContext) -> RunFacts:
    """Return what the folder of a run that starts now is to say of it."""
    return RunFacts(
        uuid=context.run_id,
        dataflow=context.dataflow.name,
        file=str(options.file.absolute()),
        manager=f'{options.namespace}/{options.node_name}',
        domain=os.environ.get('ROS_DOMAIN_ID') or '0',
        machine=context.machine,
        pid=os.getpid(),
        started=label(),
    )


def label() -> str:
    """Return the wall time in UTC as ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec='milliseconds')


@contextmanager
def variables(env: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a while."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
