"""The ``ros2`` part of a node: a bridge between its ports and ROS 2 topics, a service or an action."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import interfaces, names
from adora_ros.dataflow.problems import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.dataflow.bridgeschema import BridgeQosYaml, BridgeTopicYaml, BridgeYaml
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import NodeYaml
    from adora_ros.dataflow.yamltree import Loc

SUFFIX = '_ros2'
"""What the name of a node gets for that of its bridge's ROS node."""

SUBSCRIBE = 'subscribe'
CLIENT = 'client'
TOPICS = 'topics'
SERVICE = 'service'
ACTION = 'action'

MODES = ('topic', TOPICS, SERVICE, ACTION)
PORTS = {
    (SERVICE, CLIENT): (('request',), ('response',)),
    (SERVICE, 'server'): (('response',), ('request',)),
    (ACTION, CLIENT): (('goal',), ('feedback', 'result')),
    (ACTION, 'server'): (('feedback', 'result'), ('goal',)),
}
"""The inputs and outputs that a service or an action has, by mode and role."""
NEEDED = {'request', 'response', 'goal', 'result'}
"""Those that it cannot do without; an action client may also ignore its results."""
CANCEL = 'cancel'
"""Further port of an action: input of a client, output of a server."""


@dataclass(frozen=True, kw_only=True)
class BridgeTopic:
    """One topic of a bridge."""

    topic: str
    """Absolute name."""
    type: str
    """``package/msg/Name``."""
    direction: str
    """``subscribe`` or ``publish``."""
    ports: tuple[str, ...]
    """The outputs that carry it, or the inputs that are published on it."""
    qos: Mapping[str, Any] = field(default_factory=dict)
    """Fields for :func:`adora_ros.transport.qos.qos_profile`."""


@dataclass(frozen=True, kw_only=True)
class BridgeSpec:
    """A bridge to topics, or to one service or action."""

    mode: str = TOPICS
    """``topics``, ``service`` or ``action``."""
    topics: tuple[BridgeTopic, ...] = ()
    name: str = ''
    """Absolute name of the service or action."""
    type: str = ''
    """``package/srv/Name`` or ``package/action/Name``."""
    role: str = ''
    """``client`` or ``server``."""
    ports: Mapping[str, str] = field(default_factory=dict)
    """By part of a service or action (``request``, ``goal``, ...) the port that carries it, as far as there is one."""
    qos: Mapping[str, Any] | None = None
    """Fields for :func:`adora_ros.transport.qos.qos_profile` for a service or action; None for those of ROS."""
    namespace: str = '/'
    """Absolute namespace of the ROS node that talks to the rest of ROS."""
    node_name: str = ''
    """Its name."""

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> BridgeSpec:
        """Return the bridge that :func:`dataclasses.asdict` has written."""
        return cls(**{**written, 'topics': tuple(BridgeTopic(**topic) for topic in written['topics'])})


def resolve_bridge(
    node: NodeYaml, bridge: BridgeYaml, loc: Loc, place: tuple[str, str], machine: str | None, report: Report
) -> BridgeSpec:
    """Return the resolved bridge; what is in error is reported.

    Args:
        node: the node that it is of.
        bridge: as written.
        loc: place of ``ros2`` in the file.
        place: absolute namespace and ROS name of the node.
        machine: where the node runs, None for here; what is missing there is not an error here.
        report: takes the problems.

    """
    resolver = _Resolver(node, bridge, loc, machine, report)
    namespace, name = resolver.node_name(*place)
    return replace(resolver.resolve(), namespace=namespace, node_name=name)


class _Resolver:
    def __init__(self, node: NodeYaml, bridge: BridgeYaml, loc: Loc, machine: str | None, report: Report) -> None:
        self._bridge = bridge
        self._loc = loc
        self._machine = machine
        self._report = report
        self._inputs = list(node.inputs or ())
        self._outputs = [item if isinstance(item, str) else item.id for item in node.outputs or ()]

    def resolve(self) -> BridgeSpec:
        bridge = self._bridge
        given = [mode for mode in MODES if getattr(bridge, mode) is not None]
        if len(given) != 1:
            words = 'exclude each other; give one' if given else 'are missing; give one of them'
            named = ', '.join(f'`{mode}`' for mode in given or MODES)
            self._error((), f'{named} {words}')
            return BridgeSpec()
        self._without_effect()
        mode = given[0]
        if mode in {'topic', TOPICS}:
            return BridgeSpec(topics=self._topics())
        return self._exchange(mode)

    def _topics(self) -> tuple[BridgeTopic, ...]:
        bridge = self._bridge
        if bridge.topics is None:
            name = self._absolute(bridge.topic or '', 'topic')
            full = self._type(bridge.message_type, 'msg', ('message_type',), 'topic')
            ports = self._outputs if bridge.direction == SUBSCRIBE else self._inputs
            if not ports:
                self._error(('direction',), self._portless(bridge.direction))
            qos = bridge_qos(bridge.qos)
            return (BridgeTopic(topic=name, type=full, direction=bridge.direction, ports=tuple(ports), qos=qos),)
        if not bridge.topics:
            self._error(('topics',), '`topics` is empty; name at least one')
        return tuple(self._topic(item, index) for index, item in enumerate(bridge.topics))

    def _topic(self, item: BridgeTopicYaml, index: int) -> BridgeTopic:
        place = ('topics', index)
        subscribes = item.direction == SUBSCRIBE
        key, other = ('output', 'input') if subscribes else ('input', 'output')
        if getattr(item, other) is not None:
            words = f'`{other}` is for the other direction; `direction: {item.direction}` has an `{key}`'
            self._error((*place, other), words, key=True)
        port = getattr(item, key) or item.topic.lstrip('/').replace('/', '_')
        ports = self._outputs if subscribes else self._inputs
        if port not in ports:
            known = nearest(port, ports) or f'; it has {_listed(ports)}'
            self._error((*place, key), f'the node has no {key} `{port}`{known}')
        return BridgeTopic(
            topic=self._absolute(item.topic, *place, 'topic'),
            type=self._type(item.message_type, 'msg', (*place, 'message_type'), 'topic'),
            direction=item.direction,
            ports=(port,),
            qos=bridge_qos(item.qos or self._bridge.qos),
        )

    def _exchange(self, mode: str) -> BridgeSpec:
        bridge = self._bridge
        name = self._absolute(getattr(bridge, mode), mode)
        kind = 'srv' if mode == SERVICE else 'action'
        full = self._type(getattr(bridge, f'{mode}_type'), kind, (f'{mode}_type',), mode)
        if bridge.role is None:
            self._error((), '`role` is missing; `client` calls, `server` offers')
            return BridgeSpec()
        inputs, outputs = PORTS[mode, bridge.role]
        ports = {
            **self._assign('input', self._inputs, inputs, mode),
            **self._assign('output', self._outputs, outputs, mode),
        }
        qos = None if bridge.qos is None else {**bridge_qos(bridge.qos), 'reliability': 'reliable'}
        return BridgeSpec(
            mode=mode,
            name=name,
            type=full,
            role=bridge.role,
            ports=ports,
            qos=qos,
        )

    def _assign(self, way: str, given: list[str], parts: tuple[str, ...], mode: str) -> dict[str, str]:
        """Return the port for each part of a service or action: that of its name, else the only one there is."""
        cancels = mode == ACTION and (way == 'input') == (self._bridge.role == CLIENT)
        found = {part: part for part in (*parts, *((CANCEL,) if cancels else ())) if part in given}
        rest = [port for port in given if port not in found]
        if len(parts) == 1 and parts[0] not in found and len(rest) == 1:
            found[parts[0]] = rest.pop()
        optional = mode == ACTION and self._bridge.role == CLIENT and way == 'output' and found
        for part in parts:
            if part in NEEDED and part not in found and not optional:
                words = f'the {mode} {self._bridge.role} needs an {way} `{part}`{nearest(part, given)}'
                self._error((), words)
                return found
        for port in rest:
            known = (*parts, CANCEL) if cancels else parts
            self._error(
                (),
                f'the {mode} {self._bridge.role} has no use for the {way} `{port}`{nearest(port, known)}; '
                f'it knows {_listed(known)}',
            )
        return found

    def _type(self, text: str | None, kind: str, place: Loc, asking: str) -> str:
        if text is None:
            self._error((), f'`{asking}` needs a `{place[-1]}`, such as {interfaces.EXAMPLES[kind]}')
            return ''
        try:
            full = interfaces.full_type(text, kind)
        except ValueError as error:
            self._error(place, str(error))
            return ''
        try:
            interfaces.check_installed(full)
        except ValueError as error:
            if self._machine is None:
                self._error(place, str(error))
            else:
                words = f'{error} on this machine; `{self._machine}` must have it'
                self._report.warning((*self._loc, *place), words, key=False)
        return full

    def _absolute(self, text: str, *place: Any) -> str:
        name = f'/{text.removeprefix("/")}'
        try:
            names.check_absolute(name)
        except ValueError as error:
            self._error(place, str(error))
        return name

    def node_name(self, namespace: str, name: str) -> tuple[str, str]:
        """Return namespace and name of the bridge's ROS node; beside that of the dataflow unless they are given."""
        bridge = self._bridge
        if bridge.node_name is not None and not names.is_token(bridge.node_name):
            words = f'`{bridge.node_name}` is not a ROS node name; use letters, digits and _, no digit first'
            self._error(('node_name',), words)
        if bridge.namespace is None and bridge.node_name is None:
            return namespace, f'{name}{SUFFIX}'
        own = '/' if bridge.namespace in {None, '/'} else self._absolute(str(bridge.namespace), 'namespace')
        return own, bridge.node_name or name

    def _without_effect(self) -> None:
        bridge = self._bridge
        if bridge.transport is not None and bridge.transport.kind != 'dds':
            self._warn(('transport',), '`transport` has no effect here; RMW_IMPLEMENTATION chooses the middleware')
        settings: list[tuple[Loc, BridgeQosYaml | None]] = [(('qos',), bridge.qos)]
        settings += [(('topics', index, 'qos'), item.qos) for index, item in enumerate(bridge.topics or ())]
        for place, qos in settings:
            if qos is not None and qos.max_blocking_time is not None:
                self._warn((*place, 'max_blocking_time'), '`max_blocking_time` has no effect here; ROS 2 has none')
            if qos is not None and qos.liveliness == 'manual_by_participant':
                self._warn(
                    (*place, 'liveliness'), '`manual_by_participant` is gone from ROS 2; `automatic` is used instead'
                )

    def _portless(self, direction: str) -> str:
        if direction == SUBSCRIBE:
            return 'it subscribes, so it needs an output; list one in `outputs`'
        return 'it publishes, so it needs an input; give it one in `inputs`'

    def _error(self, place: Loc, words: str, *, key: bool = False) -> None:
        self._report.error((*self._loc, *place), words, key=key)

    def _warn(self, place: Loc, words: str) -> None:
        self._report.warning((*self._loc, *place), words)


def bridge_qos(written: BridgeQosYaml | None) -> dict[str, Any]:
    """Return a QoS of a bridge, with the defaults of dora, as fields for a profile."""
    fields: dict[str, Any] = {
        'reliability': 'reliable' if written is not None and written.reliable else 'best_effort',
        'depth': (written.keep_last if written is not None else None) or 1,
    }
    if written is None:
        return fields
    if written.keep_all:
        fields['history'] = 'keep_all'
    if written.durability is not None:
        fields['durability'] = written.durability
    if written.liveliness == 'manual_by_topic':
        fields['liveliness'] = written.liveliness
    if written.lease_duration is not None:
        fields['lease_duration'] = written.lease_duration
    return fields


def _listed(ports: list[str] | tuple[str, ...]) -> str:
    return ', '.join(f'`{port}`' for port in ports) or 'none'
