"""What a manager is told, whom it tells, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from adora_ros.dataflow import Dataflow, load, loads
from adora_ros.dataflow.names import dataflow_namespace, manager_name, ros_name
from adora_ros.dataflow.share import share
from adora_ros.errors import ManagerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adora_ros.manager.events import ManagerEvent, NodeStatus
    from adora_ros.manager.logs import Stream
    from adora_ros.supervision import Result


class Listener(Protocol):
    """Whoever shows what a manager does. Must not block."""

    def event(self, event: ManagerEvent) -> None:
        """Take one event; called on the event loop."""

    def output(self, node: str, stream: Stream, lines: list[bytes]) -> None:
        """Take complete lines that a node printed, without their ends; called on the log thread."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to run and how.

    Attributes:
        file: The dataflow file.
        place: Path that the file is taken to have, from whose folder relative paths count; by default its own.
        run_id: The uuid of the first run; by default a new one.
        rest: Whether a machine with a name also runs the nodes that name none.
        name: Name of the dataflow; by default the file's stem.
        machine: Name of this machine in ``deploy.machine``.
        outer_namespace: ROS namespace above that of the dataflow; empty for none.
        use_sim_time: Whether the nodes take their ROS time from ``/clock``.
        env: Variables for all nodes, over those of the dataflow.
        autostart: Whether to start at once and end with the dataflow; else the node waits, unconfigured, to be driven.
        exit_when_nodes_finish: Whether timers keep nodes going; None for what the dataflow says.
        stop_after: Seconds from the activation after which the dataflow is stopped; None for never.

    """

    file: Path
    place: Path | None = None
    run_id: str = ''
    rest: bool = False
    name: str | None = None
    machine: str = ''
    outer_namespace: str = ''
    use_sim_time: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    autostart: bool = True
    stop_after: float | None = None
    exit_when_nodes_finish: bool | None = None

    def load(self) -> Dataflow:
        """Return the dataflow, for the manager that runs a share of it.

        Raises:
            DataflowError: it cannot be run, or has no node for this machine.

        """
        dataflow = self.load_for_all()
        self.share(dataflow)
        return dataflow

    def load_for_all(self) -> Dataflow:
        """Return the dataflow, whatever machines its nodes are for.

        Raises:
            DataflowError: it cannot be run.

        """
        name, namespace = self.name, self.outer_namespace
        ends = self.exit_when_nodes_finish
        overrides = {} if ends is None else {'exit_when_nodes_finish': ends}
        if self.place is None:
            return load(self.file, name=name, namespace=namespace, env=self.env, overrides=overrides)
        text = self.file.read_text(encoding='utf-8')
        return loads(text, path=self.place, name=name, namespace=namespace, env=self.env, overrides=overrides)

    def share(self, dataflow: Dataflow) -> frozenset[str]:
        """Return the ids of the nodes of a dataflow that this machine runs.

        Raises:
            DataflowError: there are none.

        """
        return share(dataflow, self.machine, rest=self.rest)

    @property
    def dataflow_name(self) -> str:
        """The ROS-safe name of the dataflow."""
        return ros_name(self.name or self.file.stem)

    @property
    def namespace(self) -> str:
        """The absolute namespace of the dataflow and of the manager.

        Raises:
            ManagerError: ROS 2 does not accept the namespace above it.

        """
        try:
            return dataflow_namespace(self.outer_namespace, self.dataflow_name)
        except ValueError as error:
            msg = f'--namespace: {error}'
            raise ManagerError(msg) from error

    @property
    def node_name(self) -> str:
        """The name of the manager's node."""
        return manager_name(self.machine)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a manager ended.

    Attributes:
        exit_code: 0 all well, 1 a node failed, 128 + n after signal n that interrupted a run without failures.
        result: How the last run went; None if there was none.
        statuses: The last state of every node.
        folder: Where the logs of the last run are; None if there was none.

    """

    exit_code: int
    result: Result | None
    statuses: tuple[NodeStatus, ...]
    folder: Path | None
