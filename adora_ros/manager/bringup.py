"""Brings each new process to where its dataflow is: ready, configured, activated in its turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from adora_ros.dataflow import NodeKind, NodeSpec, graph
from adora_ros.errors import LifecycleError, TransitionFailedError
from adora_ros.manager.events import EventKind, Level
from adora_ros.manager.gate import StartGate
from adora_ros.manager.lifecycle import LifecycleDriver, Subscribers, drive
from adora_ros.transport.within import within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.incarnation import Incarnation
    from adora_ros.manager.means import Means

GATE_PATIENCE = 10.0
"""Seconds between two reminders of which nodes a start is waiting for."""
PROBES_PER_TIMEOUT = 4
"""How often a ``ros:`` node is asked for a proof of life within its ``health_check_timeout``."""
DEACTIVATE_SHARE = 0.25
"""Share of its ``stop_grace`` that a lifecycle node of somebody else's gets to deactivate before it is interrupted."""
LOG_DELAY = 0.05
"""Seconds in which what a node has logged before its answer arrives here."""
_CONFIGURED = {'inactive', 'activating', 'active'}


class Foreign(Protocol):
    """The way to one incarnation of a node that only speaks ROS."""

    @property
    def driver(self) -> LifecycleDriver | None:
        """The way to its lifecycle; None once it is known to have none."""

    async def wait_ready(self, *, lifecycle: bool | None) -> None:
        """Wait until the node answers.

        Raises:
            LifecycleError: it is said to have a lifecycle and does not answer as such a node.

        """

    async def prove_life(self) -> None:
        """Wait for an answer of the node's executor."""

    def close(self) -> None:
        """Give back what it takes."""


class RosLink(Protocol):
    """The way to nodes that only speak ROS."""

    def open(self, node: NodeSpec) -> Foreign:
        """Return the way to a new incarnation of a ``ros:`` node."""

    def listens(self, node: NodeSpec, topic: str) -> bool:
        """Return whether a node is seen to subscribe to a topic."""


class Owner(Protocol):
    """Whoever is told how far the bringing up has come."""

    def can_receive(self, incarnation: Incarnation) -> bool:
        """Return whether an input of a node can deliver; if none can, it has been told so where it listens."""

    def held(self, incarnation: Incarnation) -> None:
        """A node is configured and not activated, since all of its inputs have ended."""

    def configured(self, incarnation: Incarnation) -> None:
        """A node is about to be activated."""

    def up(self, incarnation: Incarnation) -> None:
        """A node works."""

    def not_up(self, incarnation: Incarnation, error: str) -> None:
        """A node cannot be brought up; the text is its own where there is one."""


class BringUp:
    """Knows the way from a spawned process to an active node, and back for nodes that only speak ROS.

    Args:
        dataflow: The dataflow.
        live: The current incarnation of each node that has a process.
        means: What the run works with.
        owner: Whoever is told.

    """

    def __init__(self, dataflow: Dataflow, live: Mapping[str, Incarnation], means: Means, *, owner: Owner) -> None:
        self._dataflow = dataflow
        self._live = live
        self._ros = means.ros
        self._owner = owner
        self._journal = means.journal
        self._last_complaint = means.pump.last_complaint
        self._peers = means.peers
        self._reception = means.reception
        if self._reception is not None:
            self._reception.begin(graph.neighbours(dataflow))
        self._loop = asyncio.get_running_loop()
        self._gate = StartGate(graph.sinks_first(dataflow))
        for node in dataflow.nodes:
            if node.kind is NodeKind.DYNAMIC:
                self._gate.passed(node.id)
        self._foreign: dict[str, Foreign] = {}
        self._reopened = asyncio.Event()
        self._stopping: set[asyncio.Task[None]] = set()
        self._reminder = self._loop.call_later(GATE_PATIENCE, self._remind)

    @property
    def is_complete(self) -> bool:
        """Whether each node has been activated once, or is not waited for."""
        return self._gate.is_passed

    def started(self, incarnation: Incarnation) -> None:
        """Take note of a new process, and bring it up unless it says by itself that it is ready."""
        if self._reception is not None:
            self._reception.expect(incarnation.spec.id, incarnation.child.pid)
        if incarnation.spec.kind is NodeKind.ROS:
            self.begin(incarnation)

    def begin(self, incarnation: Incarnation) -> None:
        """Bring a process up, once."""
        if self._reception is not None:
            self._reception.ready(incarnation.spec.id)
        if incarnation.bringing_up is None:
            incarnation.bringing_up = self._loop.create_task(self._bring_up(incarnation))

    def excuse(self, node: str) -> None:
        """Have nobody wait for a node any more."""
        self._pass(node)

    def peer_ready(self, node: str) -> None:
        """Note that a node elsewhere waits to be activated."""
        self._gate.arrived(node)

    def _pass(self, node: str) -> None:
        self._gate.passed(node)
        if self._reception is not None and self._gate.is_passed:
            self._reception.up()
        self._peers.note(node, ready=True, passed=True)

    def inputs_reopened(self) -> None:
        """Have nodes activated that were not because all of their inputs had ended, where that has changed."""
        self._reopened.set()

    def ended(self, node: str) -> None:
        """Give back what a process's bringing up took."""
        self._pass(node)
        if self._reception is not None:
            self._reception.leave(node)
        foreign = self._foreign.pop(node, None)
        if foreign is not None:
            foreign.close()

    def stop(self, incarnation: Incarnation, late: float = 0.0) -> None:
        """Have a process stopped by the ladder, which began ``late`` seconds ago, in the way that suits it."""
        if incarnation.bringing_up is not None:
            incarnation.bringing_up.cancel()
        foreign = self._foreign.get(incarnation.spec.id)
        driver = None if foreign is None or not incarnation.is_connected else foreign.driver
        grace = max(incarnation.spec.stop_grace - late, 0.0)
        if driver is None:
            incarnation.stop(grace)
        else:
            incarnation.stop(grace, ask=lambda: self._deactivate(incarnation, driver))

    def close(self) -> None:
        """Wait for nobody any more."""
        self._reminder.cancel()

    async def _bring_up(self, incarnation: Incarnation) -> None:
        try:
            await self._reach_active(incarnation)
        except LifecycleError as error:
            if not incarnation.is_drivable or self._owner.can_receive(incarnation):
                self._owner.not_up(incarnation, await self._explained(error, incarnation.spec))
        except Exception as error:  # noqa: BLE001 - whatever it is, the node must not stay half started
            self._owner.not_up(incarnation, f'internal error: {error!r}')

    async def _explained(self, error: LifecycleError, node: NodeSpec) -> str:
        """Return what went wrong, with what the node's log says if its answer does not say why."""
        if not isinstance(error, TransitionFailedError):
            return str(error)
        await asyncio.sleep(LOG_DELAY)
        complaint = self._last_complaint(node.id)
        return f'{error}: {complaint}' if complaint else f'{error} (see its log)'

    async def _reach_active(self, incarnation: Incarnation) -> None:
        driver = await self._driver(incarnation)
        probing = self._probe(incarnation)
        try:
            await self._activate(incarnation, driver)
            await asyncio.gather(*probing)
        finally:
            for probe in probing:
                probe.cancel()

    async def _activate(self, incarnation: Incarnation, driver: LifecycleDriver | None) -> None:
        node = incarnation.spec.id
        if driver is not None:
            await self._drive(incarnation, driver, 'configured')
        self._peers.note(node, ready=True, state=None)
        await self._gate.turn(node)
        if driver is not None:
            await self._inputs(incarnation)
        self._owner.configured(incarnation)
        if driver is not None:
            await self._drive(incarnation, driver, 'active')
        self._pass(node)
        self._owner.up(incarnation)

    def _probe(self, incarnation: Incarnation) -> tuple[asyncio.Task[None], ...]:
        """Ask a ``ros:`` node whose health is checked for proofs of life, from now on."""
        node = incarnation.spec
        foreign = self._foreign.get(node.id)
        if foreign is None or node.health_check_timeout is None:
            return ()
        return (self._loop.create_task(_probe(incarnation, foreign, node.health_check_timeout / PROBES_PER_TIMEOUT)),)

    async def _inputs(self, incarnation: Incarnation) -> None:
        """Wait until an input can deliver; a process that uses the Node API is told that none can, and ends."""
        if self._owner.can_receive(incarnation):
            return
        self._pass(incarnation.spec.id)
        self._owner.held(incarnation)
        while not self._owner.can_receive(incarnation):
            self._reopened.clear()
            await self._reopened.wait()

    async def _driver(self, incarnation: Incarnation) -> LifecycleDriver | None:
        """Return the way to the node's lifecycle; for a ``ros:`` node, once it is ready."""
        node = incarnation.spec
        if node.ros is None:
            return incarnation.driver if incarnation.is_drivable else None
        foreign = self._foreign[node.id] = self._ros.open(node)
        await foreign.wait_ready(lifecycle=node.ros.lifecycle)
        incarnation.connect()
        return foreign.driver

    async def _drive(self, incarnation: Incarnation, driver: LifecycleDriver, target: str) -> None:
        incarnation.transition_begins()
        try:
            await drive(driver, target, subscribers=self._subscribers(incarnation.spec))
        finally:
            incarnation.transition_ends()

    def _subscribers(self, node: NodeSpec) -> Subscribers:
        """Return the consumers that a node waits for: those whose current process subscribes, as far as is known."""
        found: dict[str, dict[str, int]] = {}
        for edge in graph.edges(self._dataflow):
            if edge.source_node == node.id and self._subscribes(edge.target_node, edge.input):
                live = self._live.get(edge.target_node)
                name = self._dataflow.node(edge.target_node).full_name
                found.setdefault(edge.output, {})[name] = 0 if live is None else live.child.pid
        return found

    def _subscribes(self, node_id: str, input_id: str) -> bool:
        consumer = self._live.get(node_id)
        if consumer is None:
            return self._peers.takes_part(node_id)
        node = consumer.spec
        if node.kind is not NodeKind.ROS:
            return consumer.driver.last_state in _CONFIGURED
        topic = node.input(input_id).topic
        return node.id in self._foreign and topic is not None and self._ros.listens(node, topic)

    def _deactivate(self, incarnation: Incarnation, driver: LifecycleDriver) -> None:
        task = self._loop.create_task(self._deactivate_then_interrupt(incarnation, driver))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def _deactivate_then_interrupt(self, incarnation: Incarnation, driver: LifecycleDriver) -> None:
        try:
            await within(incarnation.spec.stop_grace * DEACTIVATE_SHARE, drive(driver, 'inactive'))
        except (LifecycleError, asyncio.TimeoutError) as error:
            text = f'not deactivated: {error}'
            self._journal.write(EventKind.WARNING, text, node=incarnation.spec.id, incarnation=incarnation.number)
        incarnation.interrupt()

    def _described(self, node: str) -> str:
        machine = self._peers.machine(node)
        return node if machine is None else f'{node} (machine {machine or "that takes the rest"})'

    def _remind(self) -> None:
        if self._gate.is_open:
            return
        absent = ', '.join(self._described(node) for node in sorted(self._gate.absent))
        text = f'waiting for {absent} to become ready (startup_timeout would bound this)'
        self._journal.write(EventKind.WARNING, text, level=Level.WARN)
        self._reminder = self._loop.call_later(GATE_PATIENCE, self._remind)


async def _probe(incarnation: Incarnation, foreign: Foreign, period: float) -> None:
    """Ask a ``ros:`` node for a proof of life once a period, for as long as it lives."""
    while True:
        await foreign.prove_life()
        incarnation.alive()
        await asyncio.sleep(period)
