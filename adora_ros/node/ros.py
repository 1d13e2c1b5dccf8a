"""The ROS side of a dataflow node: its lifecycle, publishers and subscriptions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy, qos_policy_name_from_kind

from adora_ros.inputs import StopCause
from adora_ros.node.inbox import Inbox, Phase
from adora_ros.node.lifecycle import LifecycleNode
from adora_ros.node.output import Output
from adora_ros.transport.answers import Answers
from adora_ros.transport.contract import NodeConfig, NodeOp, capacity, shortened
from adora_ros.transport.payloads import PayloadWriter
from adora_ros.transport.ports import PayloadCounts, PortCodec, open_port
from adora_ros.transport.qos import qos_profile
from adora_ros.transport.rtps import is_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rclpy.qos import QoSProfile

MATCH_DEADLINE = 5.0
"""Seconds that an activation waits for the subscribers of the outputs before it goes on without them."""

MATCH_DEADLINE_FAR = 20.0
"""The same where they are on other machines: over a link that loses every fifth packet, Fast DDS has taken 7 s."""

NAMES_DEADLINE = 1.0
"""Seconds after which a subscriber whose node is not known yet is taken for one of those that are waited for: over such
a link it has taken 10 s longer until names were known."""

MATCH_POLL = 0.002
"""Seconds between two looks at the graph."""

UNKNOWN = '_NODE_NAME_UNKNOWN_'
"""Name that the graph has for a node which is not known yet (``rmw_dds_common``)."""

_TARGETS = {'configure': 'inactive', 'activate': 'active', 'deactivate': 'inactive'}
_ORIGINS = {'configure': 'unconfigured', 'activate': 'inactive', 'deactivate': 'active'}


class DataflowNode(LifecycleNode):
    """A node of a dataflow.

    Everything here but the constructor runs in the executor's thread, so that transitions asked for by the manager
    and by ``ros2 lifecycle set`` cannot cross.

    Args:
        config: what the manager says about this node.
        inbox: takes the messages.
        send: sends a packet to the manager.
        counts: told what goes wrong with large values.

    """

    def __init__(
        self, config: NodeConfig, inbox: Inbox, send: Callable[..., None], counts: PayloadCounts | None = None
    ) -> None:
        self._config = config
        self._inbox = inbox
        self._send = send
        self._counts = counts
        self._reported = 'unconfigured'
        self._inputs: list[Any] = []
        self._expected: Mapping[str, Mapping[str, int]] = {}
        self.codecs: dict[str, PortCodec] = {}
        """Codec per input, from the first configuration on."""
        self.outputs: dict[str, Output] = {}
        """Outputs by id, from the first configuration on."""
        self.defer: Callable[[Callable[[], None]], object] = lambda _: None
        """Runs a function in the executor's thread, after what is under way there."""
        super().__init__(
            config.name,
            namespace=config.namespace,
            use_global_arguments=False,
            parameter_overrides=[Parameter('use_sim_time', value=True)] if config.use_sim_time else [],
        )
        self.answers = Answers()
        """Watches the service that may end the node."""
        self.answers.watch(self, self._service_change_state)

    @property
    def state(self) -> str:
        """Name of the lifecycle state."""
        return str(self._state_machine.current_state[1])

    def drive(self, request_id: int, transition: str, subscribers: Mapping[str, Mapping[str, int]]) -> None:
        """Perform a transition that the manager asks for, and answer.

        A transition to the state that the node is in already succeeds and does nothing.
        """
        error = ''
        if transition not in _TARGETS:
            error = f'unknown transition {transition!r}: use {", ".join(_TARGETS)}'
        elif self.state == _TARGETS[transition]:
            pass
        elif self.state != _ORIGINS[transition]:
            error = f'cannot {transition} in state {self.state}'
        elif transition == 'activate' and self._inbox.phase is Phase.STOPPING:
            error = 'cannot activate a node that is stopping'
        else:
            self._expected = subscribers
            trigger: Callable[[], TransitionCallbackReturn] = getattr(self, f'trigger_{transition}')
            if trigger() != TransitionCallbackReturn.SUCCESS:
                error = self.last_error or f'{transition} failed, see the log of the node'
        self._send(NodeOp.REPLY, id=request_id, ok=not error, state=self.state, error=shortened(error))
        self.report_state()

    def stand_down(self) -> None:
        """Leave the active state because the dataflow stops."""
        if self.state == 'active':
            self.trigger_deactivate()
            self.report_state()

    def report_state(self) -> None:
        """Tell the manager the state, if it changed since the last time; in the active one, begin delivery.

        In that order: a user's loop that hangs at once must not keep the manager waiting for the end of a transition.
        """
        state = self.state
        if state != self._reported:
            self._reported = state
            self._send(NodeOp.STATE, state=state)
            if state == 'active':
                self._inbox.activate()

    def on_transition_end(self) -> None:
        """See the base class."""
        self.defer(self.report_state)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Create publishers and subscriptions."""
        for number, output in enumerate(self._config.outputs):
            profile = qos_profile(output.qos, depth=output.depth)
            codec = open_port(output.type, writer=self._writer(number, profile), counts=self._counts)
            port = self.outputs.setdefault(
                output.id, Output(output.id, codec, self._config.incarnation, far=output.far)
            )
            port.publisher = self.create_publisher(codec.message_type, output.topic, profile)
        for item in self._config.inputs:
            if item.topic is not None:
                codec = self.codecs[item.id] = open_port(item.type, counts=self._counts)
                depth = capacity(item.queue_size, item.queue_policy)
                self._subscribe(item.id, item.topic, codec, qos_profile(item.qos, depth=depth))
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Wait for the subscribers of the outputs."""
        if self._inbox.phase is Phase.STOPPING:
            return TransitionCallbackReturn.FAILURE
        self._await_subscribers()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Pause delivery."""
        self._inbox.pause()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy publishers and subscriptions."""
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop, as if the dataflow did."""
        self._inbox.stop(StopCause.MANUAL)
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give back what a failed configuration has created."""
        self._release()
        return super().on_error(state)

    def _release(self) -> None:
        for output in self.outputs.values():
            publisher, output.publisher = output.publisher, None
            if publisher is not None:
                self.destroy_publisher(publisher)
        while self._inputs:
            self.destroy_subscription(self._inputs.pop())

    def _writer(self, number: int, profile: QoSProfile) -> PayloadWriter | None:
        """Return where an output puts large values; None if they travel inside the messages."""
        config = self._config
        if config.payload_folder is None or config.outputs[number].inline:
            return None
        return PayloadWriter(
            Path(config.payload_folder) / f'{config.name}.{config.incarnation}.{number}',
            limit=config.payload_limit,
            keep=profile.depth,
            latched=profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        )

    def _subscribe(self, input_id: str, topic: str, codec: PortCodec, profile: QoSProfile) -> None:
        # A callback that asks for the MessageInfo as well breaks the EventsExecutor of Kilted and Jazzy.
        def receive(message: bytes) -> None:
            received = codec.receive(message)
            if received is not None:
                self._inbox.message(input_id, received, flush=codec.flushes(received))

        def incompatible(info: Any) -> None:
            policy = qos_policy_name_from_kind(info.last_policy_kind).lower()
            text = (
                f'input {input_id!r}: a publisher of {topic} offers a weaker {policy} than this input asks for and is '
                'not heard; adapt the `qos` of the input'
            )
            self.get_logger().error(text)
            self._send(NodeOp.WARNING, text=text)

        events = SubscriptionEventCallbacks(incompatible_qos=incompatible)
        subscription = self.create_subscription(
            codec.message_type, topic, receive, profile, raw=True, event_callbacks=events
        )
        self._inputs.append(subscription)

    def _await_subscribers(self) -> None:
        missing = self._missing()
        patience = MATCH_DEADLINE_FAR if any(self.outputs[output].far for output in missing) else MATCH_DEADLINE
        began = time.monotonic()
        while missing and (waited := time.monotonic() - began) < patience and self._inbox.phase is not Phase.STOPPING:
            time.sleep(MATCH_POLL)
            missing = self._missing(by_name=waited < NAMES_DEADLINE)
        if missing and self._inbox.phase is not Phase.STOPPING:
            self.get_logger().warning(
                f'not connected within {patience:g} s, first messages to them may be lost: '
                + ', '.join(f'{node} ({output})' for output, nodes in missing.items() for node in nodes)
            )

    def _missing(self, *, by_name: bool = True) -> dict[str, tuple[str, ...]]:
        """Return the expected subscribers that are not connected, per output.

        The name of a subscriber's node comes later than its endpoint, which bears the id of its process. With the name
        the subscriber knows of this node, too; without it, what it has missed is sent again where delivery is reliable.

        Args:
            by_name: Whether the nodes of all of them have to be known.

        """
        missing = {}
        for output_id, expected in self._expected.items():
            output = self.outputs.get(output_id)
            if output is None:
                continue
            endpoints = self.get_subscriptions_info_by_topic(output.publisher.topic_name)
            present = {_full_name(endpoint) for endpoint in endpoints}
            is_reliable = output.publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE
            guids = [bytes(endpoint.endpoint_gid) for endpoint in endpoints if is_reliable]
            absent = tuple(
                name
                for name, pid in expected.items()
                if name not in present and not (pid and any(is_of(guid, pid) for guid in guids))
            )
            unnamed = 0 if by_name else sum(endpoint.node_name == UNKNOWN for endpoint in endpoints)
            if len(absent) > unnamed or output.publisher.get_subscription_count() < len(expected):
                missing[output_id] = absent or tuple(expected)
        return missing


def _full_name(endpoint: Any) -> str:
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'
