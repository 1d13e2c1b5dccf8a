"""The dataflows that run: found by the claims of their managers on this host, and by their topics elsewhere.

What is shown of a dataflow is what its managers say on their latched status topics. The ROS graph, which still has the
dead for a while and does not have the newcomers yet, is only asked for the names of topics.
"""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from adora_ros.cli.naming import Named, chosen
from adora_ros.cli.presence import NOTHING_RUNS, manager_claims, no_answer
from adora_ros.dataflow.names import manager_name
from adora_ros.errors import NoAnswerError, NotRunningError
from adora_ros.manager.diagnostics import read_status
from adora_ros.transport import dds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from adora_ros.cli.session import Session
    from adora_ros.manager.events import DataflowStatus, NodeStatus
    from adora_ros.transport.claims import Claim

LATCHED = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SETTLE = 1.5
"""Seconds in which managers on other machines are found; those that announce themselves rarely may take longer."""
GRAPH_PERIOD = 0.1
"""Seconds between two looks at the names of topics."""
STATUS = '/status'
TYPE = 'diagnostic_msgs/msg/DiagnosticArray'
GOING_ON = frozenset({'Pending', 'Running', 'Stopping'})
"""States of a dataflow that has processes."""


@dataclass(frozen=True, kw_only=True)
class Manager:
    """A manager, as it is known now.

    Attributes:
        name: Full name of its node.
        pid: Its process id, if it runs on this host.
        machine: The machine that it runs nodes of; empty if the dataflow has none.
        status: The state of the dataflow; None if it has not said so.
        nodes: The states of its nodes.
        heard_at: Steady time in seconds at which it said so.

    """

    name: str
    pid: int | None
    machine: str = ''
    status: DataflowStatus | None = None
    nodes: tuple[NodeStatus, ...] = ()
    heard_at: float = 0.0

    @property
    def namespace(self) -> str:
        """The namespace of its dataflow."""
        return self.name.rpartition('/')[0]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A dataflow with all of its managers, the first of which speaks for it.

    Attributes:
        namespace: Its namespace.
        managers: Its managers, at least one.

    """

    namespace: str
    managers: tuple[Manager, ...]

    @property
    def name(self) -> str:
        """Its name, with the namespaces above its own."""
        return self.namespace.lstrip('/')

    @property
    def status(self) -> DataflowStatus | None:
        """What the first of its managers that has said anything says."""
        return next((manager.status for manager in self.managers if manager.status is not None), None)

    @property
    def run(self) -> str:
        """The uuid of its run; empty if it is not known."""
        return self.status.run if self.status is not None else ''

    @property
    def absent(self) -> tuple[Manager, ...]:
        """The managers on other machines that nothing was heard of although others say that they run nodes of it."""
        told = {machine for manager in self.managers if manager.status for machine in manager.status.other_machines}
        names = {f'{self.namespace}/{manager_name(machine)}': machine for machine in sorted(told)}
        known = {manager.name for manager in self.managers}
        return tuple(Manager(name=name, pid=None, machine=names[name]) for name in names if name not in known)

    @property
    def is_complete(self) -> bool:
        """Whether all of its managers have said how they are."""
        return not self.absent and all(manager.status is not None for manager in self.managers)

    @property
    def nodes(self) -> tuple[tuple[Manager, NodeStatus], ...]:
        """All nodes, each with its manager."""
        return tuple((manager, node) for manager in self.managers for node in manager.nodes)


class Fleet:
    """Listens to all managers from its creation on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._managers: dict[tuple[str, str], Manager] = {}
        self._topics: set[str] = set()
        self._looked_at = 0.0
        self._began = time.monotonic()
        self._local_only = dds.is_loopback_only(os.environ)
        self._claims: tuple[Claim, ...] = ()

    def flows(self) -> tuple[Flow, ...]:
        """Return what is known now, ordered by name; a manager on this host that is gone is no longer there."""
        self._look()
        found: dict[str, list[Manager]] = {}
        for manager in (*self._heard(), *self._silent()):
            found.setdefault(manager.namespace, []).append(manager)
        return tuple(
            Flow(namespace=namespace, managers=tuple(sorted(managers, key=lambda manager: manager.name)))
            for namespace, managers in sorted(found.items())
        )

    def find_all(self, timeout: float) -> tuple[Flow, ...]:
        """Return all dataflows, as soon as every manager has said how it is, or after ``timeout`` seconds."""
        self._session.wait(lambda: self._is_found(None), timeout)
        return self.flows()

    def find(self, name: str | None, timeout: float, *, also_silent: bool = False) -> Flow:
        """Return the one dataflow that ``name`` means, with what all of its managers say.

        Args:
            name: Its name, or the beginning of its run's uuid; None for the only one.
            timeout: Seconds.
            also_silent: Whether to return one that does not answer, too.

        Raises:
            NotRunningError: there is none.
            NoAnswerError: it, or all that it may be, does not answer.
            AmbiguousNameError: there are several.

        """
        self._session.wait(lambda: self._is_found(name), timeout)
        flow = choose(self.flows(), name)
        silent = [manager for manager in flow.managers if manager.status is None]
        if silent and not also_silent:
            raise NoAnswerError(no_answer(silent[0], timeout))
        return flow

    def again(self, flow: Flow) -> Flow | None:
        """Return a dataflow as it is now, None if its managers are gone."""
        return next((other for other in self.flows() if other.namespace == flow.namespace), None)

    def is_local(self, flow: Flow) -> bool:
        """Return whether a manager of a dataflow runs on this host."""
        return any(claim.is_of(manager.name) for claim in self._claims for manager in flow.managers)

    def _is_found(self, name: str | None) -> bool:
        if not self._settled():
            return False
        flows = self.flows()
        named = [flow for flow in flows if name is not None and name.strip('/') == flow.name]
        return all(flow.is_complete for flow in named or flows)

    def _settled(self) -> bool:
        self._look()
        return self._local_only or time.monotonic() - self._began >= SETTLE

    def _look(self) -> None:
        """Subscribe to what there is to listen to."""
        now = time.monotonic()
        if now - self._looked_at < GRAPH_PERIOD:
            return
        self._looked_at = now
        self._claims = manager_claims()
        for claim in self._claims:
            self._listen(f'{claim.name.rpartition("/")[0]}{STATUS}')
        for topic, kinds in self._session.node.get_topic_names_and_types():
            if topic.endswith(STATUS) and kinds == [TYPE]:
                self._listen(topic)

    def _listen(self, topic: str) -> None:
        if topic not in self._topics:
            self._topics.add(topic)
            self._session.subscribe(DiagnosticArray, topic, self._taker(topic), LATCHED)

    def _taker(self, topic: str) -> Callable[[DiagnosticArray], None]:
        namespace = topic[: -len(STATUS)]

        def take(message: DiagnosticArray) -> None:
            try:
                status, nodes = read_status(message)
            except (KeyError, ValueError, IndexError):
                return  # somebody else's topic
            machine = message.status[-1].hardware_id
            self._managers[namespace, machine] = Manager(
                name=f'{namespace}/{manager_name(machine)}',
                pid=None,
                machine=machine,
                status=status,
                nodes=nodes,
                heard_at=time.monotonic(),
            )

        return take

    def _heard(self) -> list[Manager]:
        """Return the managers that said something, but for those of this host that are gone."""
        found = []
        for manager in self._managers.values():
            claim = next((claim for claim in self._claims if claim.is_of(manager.name)), None)
            if claim is not None or not self._local_only:
                found.append(dataclasses.replace(manager, pid=None if claim is None else claim.pid))
        return found

    def _silent(self) -> list[Manager]:
        """Return the managers of this host that have said nothing."""
        heard = [manager.name for manager in self._managers.values()]
        return [
            Manager(name=claim.name, pid=claim.pid)
            for claim in self._claims
            if not any(claim.is_of(name) for name in heard)
        ]


def choose(flows: Iterable[Flow], name: str | None) -> Flow:
    """Return the dataflow that ``name`` means.

    Raises:
        NotRunningError: there is none.
        AmbiguousNameError: there are several.

    """
    known = [Named(flow, flow.name, flow.run) for flow in flows]
    if name is None and not known:
        raise NotRunningError(NOTHING_RUNS)
    return chosen(known, name, what='running dataflow')
