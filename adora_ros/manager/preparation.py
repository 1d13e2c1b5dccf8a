"""What a manager prepares before it runs a dataflow."""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError
from adora_ros.manager.environment import RunContext
from adora_ros.manager.runfile import RunFacts
from adora_ros.manager.sharedmemory import SharedMemory
from adora_ros.transport import dds
from adora_ros.transport.rundir import dataflow_folder, make_run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.options import Options

UNKNOWN_PARTICIPANTS = 64
"""Processes to provide for while no dataflow is loaded."""


def new_context(options: Options, dataflow: Dataflow, env: Mapping[str, str]) -> RunContext:
    """Return what all nodes of a new run have in common, and make its folder.

    Args:
        options: What the manager was told.
        dataflow: What to run.
        env: Variables for all nodes, below those of the options.

    Raises:
        ManagerError: the folder cannot be made.

    """
    run_id = options.run_id or str(uuid.uuid4())
    return RunContext(
        dataflow=dataflow,
        run_id=run_id,
        folder=make_run_folder(dataflow, run_id),
        machine=options.machine,
        env={**env, **options.env},
        use_sim_time=options.use_sim_time,
        memory=SharedMemory(run_id, dataflow.shared_memory_limit),
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


def dds_environment(options: Options, dataflow: Dataflow | None) -> dict[str, str]:
    """Return the variables that select the Fast DDS profile, for this process and those of all nodes.

    Raises:
        ManagerError: the profile cannot be written.

    """
    nodes = () if dataflow is None else dataflow.nodes
    if not dds.wants_profile(os.environ):
        return {}
    participants = len(nodes) + 1 if nodes else UNKNOWN_PARTICIPANTS
    try:
        return dds.write_profile(dataflow_folder(options.dataflow_name), participants, os.environ)
    except OSError as error:
        msg = f'{error.filename}: {error.strerror}; set ROS_LOG_DIR to a folder that can be written'
        raise ManagerError(msg) from error


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
