"""What managers of one dataflow on several machines tell each other of their nodes.

Each publishes on ``/<dataflow>/shares`` how all of its nodes are: ``std_msgs/String`` with one JSON object, latched.
It is the state and not the news, so that a machine which was cut off has missed nothing that still matters when it
is back, and one that starts later learns what there is. What each has heard of the others is part of it, so that one
that is done knows when it may leave.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from adora_ros.manager.peerlog import listen_to_machines
from adora_ros.supervision import NodeState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rclpy.node import Node

    from adora_ros.manager.environment import RunContext

TOPIC = 'shares'
WRITER_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
READER_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True, kw_only=True)
class PeerNode:
    """How a node is, as far as other machines have to know.

    Attributes:
        life: Identifies the run of the manager that says so.
        incarnation: Number of the last incarnation that was configured, -1 before the first.
        ready: Whether its first incarnation waits to be activated, or nobody is to wait for that any more.
        passed: Whether it was activated once, or nobody is to wait for that any more.
        restarts: How many restarts were announced that the restart strategy extends to other nodes.
        state: Its final state; None while it has none.
        reason: Why it is in that.
        for_good: Whether nobody is to start it again.

    """

    life: str = ''
    incarnation: int = -1
    ready: bool = False
    passed: bool = False
    restarts: int = 0
    state: NodeState | None = None
    reason: str = ''
    for_good: bool = True


class Owner(Protocol):
    """Whoever is told how the nodes of other machines are; called on the event loop."""

    def peer_changed(self, node: str, before: PeerNode, after: PeerNode) -> None:
        """A node elsewhere is not as it was."""

    def machine_changed(self, text: str, *, lost: Iterable[str]) -> None:
        """The coordinator says that a machine is lost, with the nodes that it has told of, or back."""


class PeerLink(Protocol):
    """The way to the managers of other machines that run shares of the same dataflow."""

    def listen(self, owner: Owner) -> None:
        """Tell an owner from now on, and say that this machine is there."""

    def note(self, node: str, **fields: object) -> None:
        """Note how a node here is; what others decide over is not ours to tell."""

    def restarts(self, node: str, number: int) -> None:
        """Note an announced restart; the restart strategy extends those with a number above 0 to other nodes."""

    def takes_part(self, node: str) -> bool:
        """Return whether a node elsewhere has been configured and not ended."""

    def machine(self, node: str) -> str | None:
        """Return the machine of a node elsewhere, None for one here; it is empty where it is not known yet."""

    def going_on(self) -> tuple[str, ...]:
        """Return the other machines, as far as they are known, that have nodes which have not ended."""

    async def close(self, patience: float) -> None:
        """Leave once the others know the last, or after some seconds."""


class Alone:
    """For a dataflow that runs on this machine alone."""

    def listen(self, owner: Owner) -> None:
        """There is nobody to listen to."""

    def note(self, node: str, **fields: object) -> None:
        """There is nobody to tell."""

    def restarts(self, node: str, number: int) -> None:
        """There is nobody to tell."""

    def takes_part(self, node: str) -> bool:
        """There are no nodes elsewhere."""
        del node
        return False

    def machine(self, node: str) -> str | None:
        """There are no nodes elsewhere."""
        del node
        return None

    def going_on(self) -> tuple[str, ...]:
        """There are no nodes elsewhere."""
        return ()

    async def close(self, patience: float) -> None:
        """There is nothing to leave."""


def open_peers(node: Node, context: RunContext) -> PeerLink:
    """Return the way to the managers that run the other shares of a dataflow."""
    if len(context.local) == len(context.dataflow.nodes):
        return Alone()
    elsewhere = {each.id: each.machine or '' for each in context.dataflow.nodes if each.id not in context.local}
    return Peers(node, context.machine, context.local, elsewhere)


class Peers:
    """Tells other machines of the nodes here, and keeps what they tell of theirs, on the event loop.

    Args:
        node: The manager's node.
        machine: Name of this machine.
        local: Ids of the nodes here.
        elsewhere: The machines that other nodes name, by their ids; empty where they name none.

    """

    def __init__(self, node: Node, machine: str, local: Collection[str], elsewhere: Mapping[str, str]) -> None:
        self._node = node
        self._machine = machine
        self._loop = asyncio.get_running_loop()
        self._life = uuid.uuid4().hex
        self._own = {each: PeerNode(life=self._life) for each in local}
        self._others: dict[str, PeerNode] = {}
        self._machines = dict(elsewhere)
        self._owner: Owner | None = None
        self._due = False
        self._seq = 0
        self._heard: dict[str, int] = {}
        self._acknowledged: dict[str, int] = {}
        self._lives: dict[str, str] = {}
        self._silent = set(elsewhere)
        self._moved = asyncio.Event()
        self._publisher = node.create_publisher(String, TOPIC, WRITER_QOS)
        self._subscriptions: list[Any] = [
            node.create_subscription(String, TOPIC, self._receive, READER_QOS),
            listen_to_machines(node, machine, self._on_machine),
        ]

    def listen(self, owner: Owner) -> None:
        """Tell an owner from now on, and say that this machine is there."""
        self._owner = owner
        self._change()

    def note(self, node: str, **fields: object) -> None:
        """Note how a node here is; what others decide over is not ours to tell."""
        if node not in self._own:
            return
        after = dataclasses.replace(self._own[node], **fields)  # type: ignore[arg-type] # as dataclasses has it
        if after != self._own[node]:
            self._own[node] = after
            self._change()

    def restarts(self, node: str, number: int) -> None:
        """Note an announced restart; see :meth:`PeerLink.restarts`."""
        if number > 0:
            self.note(node, restarts=self._own[node].restarts + 1)

    def takes_part(self, node: str) -> bool:
        """Return whether a node elsewhere has been configured and not ended."""
        other = self._others.get(node, PeerNode())
        return other.ready and other.state is None

    def machine(self, node: str) -> str | None:
        """Return the machine of a node elsewhere; see :meth:`PeerLink.machine`."""
        return self._machines.get(node)

    def going_on(self) -> tuple[str, ...]:
        """Return the machines of nodes elsewhere that have not ended; see :meth:`PeerLink.going_on`."""
        nodes = (node for node in self._machines if self._others.get(node, PeerNode()).state is None)
        return tuple(sorted({self._machines[node] for node in nodes} - {''}))

    async def close(self, patience: float) -> None:
        """Stay until the others know how the nodes here have ended, then leave.

        Args:
            patience: Seconds to wait at most, also for those that nothing has been heard of yet.

        """
        try:
            await asyncio.wait_for(self._until_all_know(), patience)
        except asyncio.TimeoutError:
            self._node.get_logger().debug(f'{TOPIC}: not everybody has heard the last of it')
        self._owner = None
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._node.destroy_publisher(self._publisher)

    async def _until_all_know(self) -> None:
        while self._silent or any(seq < self._seq for seq in self._acknowledged.values()):
            self._moved.clear()
            await self._moved.wait()

    def _change(self) -> None:
        self._seq += 1
        self._publish_soon()

    def _publish_soon(self) -> None:
        """Publish everything that happens within a moment at once."""
        if not self._due and self._owner is not None:
            self._due = True
            self._loop.call_soon(self._publish)

    def _publish(self) -> None:
        self._due = False
        if self._owner is None:
            return
        nodes = {name: dataclasses.asdict(each) for name, each in self._own.items()}
        share = {
            'machine': self._machine,
            'life': self._life,
            'seq': self._seq,
            'heard': self._heard,
            'left': all(each.state is not None for each in self._own.values()),
            'nodes': nodes,
        }
        try:
            self._publisher.publish(String(data=json.dumps(share, separators=(',', ':'))))
        except RuntimeError as error:
            self._node.get_logger().warning(f'{TOPIC}: not published: {error}', throttle_duration_sec=5.0)

    def _on_machine(self, machine: str, text: str, heard: bool) -> None:  # noqa: FBT001 - as call_soon passes it on
        self._loop.call_soon_threadsafe(self._take_machine, machine, text, heard)

    def _take_machine(self, machine: str, text: str, heard: bool) -> None:  # noqa: FBT001
        if self._owner is not None:
            lost = () if heard else [node for node, where in self._machines.items() if where == machine]
            self._silent.difference_update(lost)
            self._moved.set()
            self._owner.machine_changed(text, lost=lost)

    def _receive(self, message: Any) -> None:
        self._loop.call_soon_threadsafe(self._take, message.data)

    def _take(self, text: str) -> None:
        try:
            data = json.loads(text)
            machine, life, seq = str(data['machine']), str(data['life']), int(data['seq'])
            acknowledged, left = int(data['heard'].get(self._life, 0)), bool(data['left'])
            nodes = {str(name): _peer_node(fields) for name, fields in data['nodes'].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._node.get_logger().warning(f'{TOPIC}: {error!r}: {text[:200]}', throttle_duration_sec=5.0)
            return
        if life == self._life or self._owner is None:
            return
        self._silent.difference_update(nodes)
        former, self._lives[machine] = self._lives.get(machine, life), life
        if former != life:
            self._acknowledged.pop(former, None)  # that manager was killed, and hears nothing any more
        self._acknowledged[life] = acknowledged
        if left:
            del self._acknowledged[life]  # it may be gone before it can say so
        if seq > self._heard.get(life, 0):
            self._heard[life] = seq
            self._publish_soon()
        self._moved.set()
        for name, after in nodes.items():
            before = self._others.get(name, PeerNode())
            self._others[name], self._machines[name] = after, machine
            if after != before and name not in self._own:
                self._owner.peer_changed(name, before, after)


def _peer_node(fields: dict[str, Any]) -> PeerNode:
    state = fields['state']
    return PeerNode(**{**fields, 'state': None if state is None else NodeState(state)})
