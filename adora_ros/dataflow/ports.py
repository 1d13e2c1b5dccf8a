"""Outputs, inputs and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import names
from adora_ros.dataflow.model import (
    DEFAULT_QUEUE_SIZE,
    InputSpec,
    LogSource,
    NodeSource,
    OutputSpec,
    QosSpec,
    QueuePolicy,
    TimerSource,
    TopicSource,
)
from adora_ros.dataflow.portschema import InputYaml, ListedOutputYaml, OutputYaml, QosYaml, TopicYaml
from adora_ros.dataflow.problems import nearest
from adora_ros.dataflow.sources import check_data_id, parse_source

if TYPE_CHECKING:
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import NodeYaml
    from adora_ros.dataflow.yamltree import Loc

PROFILES = {
    'default': QosSpec(reliability='reliable', durability='volatile', history='keep_last', depth=10),
    'reliable': QosSpec(reliability='reliable'),
    'sensor_data': QosSpec(reliability='best_effort', durability='volatile', history='keep_last', depth=5),
    'latched': QosSpec(reliability='reliable', durability='transient_local', history='keep_last', depth=1),
}
"""The QoS profiles by name; ``sensor_data`` and ``default`` are those of rmw."""


@dataclass
class Wiring:
    """Who owns which names, filled node by node."""

    namespace: str
    """``/<dataflow>``."""
    outputs: dict[str, dict[str, OutputSpec]] = field(default_factory=dict)
    """By node and output."""
    output_locs: dict[tuple[str, str], Loc] = field(default_factory=dict)
    given_topics: set[tuple[str, str]] = field(default_factory=set)
    """The outputs whose topic is given in the YAML."""
    doubtful: set[tuple[str, str]] = field(default_factory=set)
    """The outputs whose type is in error."""
    single_operators: dict[str, str] = field(default_factory=dict)
    """By node the id of its only operator, which consumers leave out of the names of its outputs."""
    ros_nodes: set[str] = field(default_factory=set)
    open_nodes: set[str] = field(default_factory=set)
    """Nodes whose outputs are not fully known, because a part of them is in error."""
    nodes_lost: bool = False
    """Whether there are nodes whose id is not known."""

    def publishers(self, topic: str) -> list[tuple[str, str]]:
        """Return each node and output that publishes on a topic."""
        return [
            (node, output.id)
            for node, ports in self.outputs.items()
            for output in ports.values()
            if output.topic == topic
        ]


def add_outputs(wiring: Wiring, node: NodeYaml, loc: Loc, node_name: str, namespace: str, report: Report) -> None:
    """Resolve the outputs of one node into ``wiring``."""
    ports = wiring.outputs.setdefault(node.id, {})
    for output_id, spec, place in _listed(node, (*loc, 'outputs')):
        key = isinstance(node.outputs, dict)
        try:
            check_data_id(output_id)
        except ValueError as error:
            report.error(place, str(error), key=key)
            wiring.open_nodes.add(node.id)
            continue
        if output_id in ports:
            first = report.line(wiring.output_locs[(node.id, output_id)])
            report.error(place, f'output `{output_id}` is given twice; the first is on line {first}')
            continue
        topic = _topic(spec.topic, place, namespace, node_name, report) if spec.topic is not None else None
        ports[output_id] = OutputSpec(
            id=output_id,
            topic=topic or names.output_topic(wiring.namespace, node_name, output_id),
            type=_type(spec.type, (*place, 'type'), report),
            qos=qos_spec(spec.qos),
            inline=spec.inline == 'always',
            by_manager=output_id in {node.send_stdout_as, node.send_logs_as},
        )
        if spec.inline == 'always' and spec.type is not None:
            report.warning((*place, 'inline'), '`inline` has no effect on an output with a `type`; it always is')
        _check_printed(ports[output_id], place, report)
        wiring.output_locs[(node.id, output_id)] = place
        if spec.topic is not None:
            wiring.given_topics.add((node.id, output_id))
        if spec.type is not None and ports[output_id].type is None:
            wiring.doubtful.add((node.id, output_id))


def check_topics(wiring: Wiring, reserved: dict[str, str], report: Report) -> None:
    """Report outputs that would share a topic though their topics are not both given, or not be of one type."""
    owners: dict[str, tuple[str, str]] = {}
    for node_id, ports in wiring.outputs.items():
        for output in ports.values():
            place = wiring.output_locs[(node_id, output.id)]
            if output.topic in reserved:
                report.error(place, f'the topic `{output.topic}` is that of {reserved[output.topic]}; choose another')
            if len(output.topic) > names.TOPIC_LIMIT:
                report.error(place, f'the topic `{output.topic}` is longer than {names.TOPIC_LIMIT} characters')
            owner = owners.setdefault(output.topic, (node_id, output.id))
            if owner != (node_id, output.id):
                _check_shared(wiring, owner, (node_id, output.id), report)


def _check_shared(wiring: Wiring, owner: tuple[str, str], other: tuple[str, str], report: Report) -> None:
    first, second = wiring.outputs[owner[0]][owner[1]], wiring.outputs[other[0]][other[1]]
    place = wiring.output_locs[other]
    where = f'on line {report.line(wiring.output_locs[owner])}'
    if not {owner, other} <= wiring.given_topics:
        both = f'outputs `{"/".join(owner)}` ({where}) and `{"/".join(other)}`'
        report.error(place, f'{both} both become the topic `{second.topic}`; rename one')
    elif first.type != second.type:
        types = f'{second.type or "Arrow"} here and {first.type or "Arrow"} {where}'
        report.error(place, f'the topic `{second.topic}` is {types}; one topic has one type')


def resolve_inputs(
    wiring: Wiring, node: NodeYaml, loc: Loc, node_name: str, namespace: str, report: Report
) -> tuple[InputSpec, ...]:
    """Return the inputs of one node; those in error are reported and left out."""
    found = []
    for input_id, written in (node.inputs or {}).items():
        place = (*loc, 'inputs', input_id)
        try:
            check_data_id(input_id)
        except ValueError as error:
            report.error(place, str(error), key=True)
            continue
        long = InputYaml(source=written) if isinstance(written, str) else written
        port = _Port(wiring, node, long, place, report)
        spec = port.resolve(input_id, node_name, namespace, short=isinstance(written, str))
        if spec is not None:
            found.append(spec)
    return tuple(found)


@dataclass
class _Port:
    wiring: Wiring
    node: NodeYaml
    long: InputYaml
    loc: Loc
    report: Report

    def resolve(self, input_id: str, node_name: str, namespace: str, *, short: bool) -> InputSpec | None:
        source_loc = self.loc if short else (*self.loc, 'source')
        bound = self._bound_topic()
        if bound is not None:
            return self._from_topic(input_id, *bound, node_name=node_name, namespace=namespace)
        if not isinstance(self.long.source, str):
            return None
        try:
            source = parse_source(self.long.source)
        except ValueError as error:
            self.report.error(source_loc, str(error))
            return None
        if isinstance(source, LogSource):
            return self._from_logs(input_id, source, source_loc, node_name)
        if isinstance(source, TimerSource):
            return self._from_timer(input_id, source, source_loc)
        return self._from_node(input_id, source, source_loc)

    def _bound_topic(self) -> tuple[TopicYaml, Loc] | None:
        long = self.long
        if isinstance(long.source, TopicYaml):
            for name in ('topic', 'type', 'qos'):
                if getattr(long, name) is not None:
                    self.report.error((*self.loc, name), f'`{name}` is also in `source`; give it once', key=True)
            return long.source, (*self.loc, 'source')
        if long.topic is None:
            if long.source is None:
                self.report.error(self.loc, 'it needs a `source` (node/output or a timer) or a `topic`')
            return None
        if long.source is not None:
            self.report.error((*self.loc, 'topic'), '`topic` and `source` exclude each other; give one', key=True)
            return None
        return TopicYaml(topic=long.topic, type=long.type, qos=long.qos), self.loc

    def _from_topic(
        self, input_id: str, bound: TopicYaml, loc: Loc, *, node_name: str, namespace: str
    ) -> InputSpec | None:
        topic = _topic(bound.topic, loc, namespace, node_name, self.report)
        if topic is None:
            return None
        own = self._spec(
            input_id,
            source=TopicSource(topic=topic),
            topic=topic,
            type=_type(bound.type, (*loc, 'type'), self.report),
            qos=qos_spec(bound.qos),
        )
        publishers = self.wiring.publishers(topic)
        for node_id, output_id in publishers:
            own = self._agree(own, node_id, output_id, loc)
        if len(publishers) == 1:
            return replace(own, source=NodeSource(node=publishers[0][0], output=publishers[0][1]))
        return replace(own, source=TopicSource(topic=topic, type=own.type, qos=own.qos))

    def _from_timer(self, input_id: str, source: TimerSource, loc: Loc) -> InputSpec | None:
        if self.node.ros is not None:
            self.report.error(loc, 'a timer cannot feed a `ros` node, which has no Node API; use a timer of its own')
            return None
        for name in ('type', 'qos'):
            if getattr(self.long, name) is not None:
                self.report.error((*self.loc, name), f'a timer has no `{name}`; remove it', key=True)
        return self._spec(input_id, source=source, topic=None, type=None, qos=None)

    def _from_logs(self, input_id: str, source: LogSource, loc: Loc, node_name: str) -> InputSpec | None:
        if self.node.ros is not None:
            self.report.error(loc, 'log lines cannot feed a `ros` node, which has no Node API; subscribe to /rosout')
            return None
        for name in ('type', 'qos'):
            if getattr(self.long, name) is not None:
                self.report.error((*self.loc, name), f'log lines have no `{name}`; remove it', key=True)
        if source.node is not None and source.node not in self.wiring.outputs and not self.wiring.nodes_lost:
            near = nearest(source.node, self.wiring.outputs)
            self.report.error(loc, f'there is no node `{source.node}`{near}')
        topic = names.output_topic(self.wiring.namespace, node_name, f'{names.LOGS}/{input_id}')
        return self._spec(input_id, source=source, topic=topic, type=None, qos=None)

    def _from_node(self, input_id: str, source: NodeSource, loc: Loc) -> InputSpec | None:
        ports = self.wiring.outputs.get(source.node)
        if ports is None:
            if not self.wiring.nodes_lost:
                known = list(self.wiring.outputs)
                self.report.error(loc, f'there is no node `{source.node}`{nearest(source.node, known)}')
            return None
        operator = self.wiring.single_operators.get(source.node)
        if operator is not None and f'{operator}/{source.output}' in ports:
            source = NodeSource(node=source.node, output=f'{operator}/{source.output}')
        output = ports.get(source.output)
        if output is None:
            if source.node not in self.wiring.open_nodes:
                self.report.error(loc, _no_output(source, list(ports)))
            return None
        own = self._spec(
            input_id,
            source=source,
            topic=output.topic,
            type=_type(self.long.type, (*self.loc, 'type'), self.report),
            qos=qos_spec(self.long.qos),
        )
        return self._agree(own, source.node, source.output, self.loc)

    def _spec(self, input_id: str, **given: Any) -> InputSpec:
        size = DEFAULT_QUEUE_SIZE if self.long.queue_size is None else self.long.queue_size
        if size == 0:
            self.report.warning((*self.loc, 'queue_size'), '`queue_size: 0` keeps the newest message, as 1 does')
        return InputSpec(
            id=input_id,
            queue_size=max(size, 1),
            queue_policy=QueuePolicy(self.long.queue_policy or QueuePolicy.DROP_OLDEST),
            input_timeout=self.long.input_timeout,
            first_message_timeout=self.long.first_message_timeout,
            **given,
        )

    def _agree(self, own: InputSpec, node_id: str, output_id: str, loc: Loc) -> InputSpec:
        """Take over what the output says and report where the two contradict each other."""
        output = self.wiring.outputs[node_id][output_id]
        if (node_id, output_id) in self.wiring.doubtful:
            return own
        edge = f'output `{node_id}/{output_id}`'
        from_ros, to_ros = node_id in self.wiring.ros_nodes and not output.by_manager, self.node.ros is not None
        type_loc = (*loc, 'type')
        if own.type is None and output.type is None:
            if from_ros and not to_ros:
                self.report.error(loc, f'{edge} of a `ros` node has no message type; give one of the two a `type`')
            elif to_ros and not from_ros:
                self.report.error(loc, f'a `ros` node cannot read Arrow values; give {edge} a `type`')
        elif own.type is not None and output.type is None and not from_ros:
            self.report.error(
                type_loc, f'{edge} carries Arrow values, not {own.type}; give it that `type`, or none here'
            )
        elif own.type is not None and output.type is not None and own.type != output.type:
            self.report.error(type_loc, f'{edge} is of type {output.type}, not {own.type}')
        self._agree_qos(own.qos, output.qos, edge, loc, known=not from_ros or output.qos is not None)
        return replace(own, type=own.type or output.type, qos=_inherit(own.qos, output.qos))

    def _agree_qos(self, asked: QosSpec | None, offered: QosSpec | None, edge: str, loc: Loc, *, known: bool) -> None:
        if asked is None or not known:
            return
        offer = offered or QosSpec()
        for name, strong, weak in (
            ('reliability', 'reliable', 'best_effort'),
            ('durability', 'transient_local', 'volatile'),
        ):
            default = 'reliable' if name == 'reliability' else 'volatile'
            if getattr(asked, name) == strong and (getattr(offer, name) or default) == weak:
                self.report.error((*loc, 'qos'), f'{edge} is {weak}, so a {strong} input never gets a message from it')


def qos_spec(written: str | QosYaml | None) -> QosSpec | None:
    """Return a QoS as the fields that it gives."""
    if written is None:
        return None
    if isinstance(written, str):
        return PROFILES[written]
    base = PROFILES[written.profile] if written.profile else QosSpec()
    return replace(
        base,
        reliability=written.reliability or base.reliability,
        durability=written.durability or base.durability,
        history=written.history or base.history,
        depth=written.depth or base.depth,
    )


def _inherit(own: QosSpec | None, output: QosSpec | None) -> QosSpec | None:
    if output is None:
        return own
    asked = own or QosSpec()
    merged = replace(
        asked,
        reliability=asked.reliability or output.reliability,
        durability=asked.durability or output.durability,
    )
    return merged if merged.as_dict() else None


def _check_printed(output: OutputSpec, loc: Loc, report: Report) -> None:
    if output.by_manager and output.type is not None:
        report.error((*loc, 'type'), f'output `{output.id}` carries what the node prints, as Arrow text; remove `type`')
    if output.id.split('/')[0] == names.LOGS:
        report.error(loc, f'the id of an output must not begin with `{names.LOGS}/`; rename it')


def _listed(node: NodeYaml, loc: Loc) -> list[tuple[str, OutputYaml, Loc]]:
    if isinstance(node.outputs, dict):
        return [(name, spec or OutputYaml(), (*loc, name)) for name, spec in node.outputs.items()]
    return [
        (item.id, item, (*loc, index)) if isinstance(item, ListedOutputYaml) else (item, OutputYaml(), (*loc, index))
        for index, item in enumerate(node.outputs or ())
    ]


def _topic(text: str, loc: Loc, namespace: str, node_name: str, report: Report) -> str | None:
    try:
        return names.resolve_topic(text, namespace, node_name)
    except ValueError as error:
        report.error((*loc, 'topic'), str(error))
        return None


def _type(text: str | None, loc: Loc, report: Report) -> str | None:
    if text is None:
        return None
    try:
        return names.message_type(text)
    except ValueError as error:
        report.error(loc, str(error))
        return None


def _no_output(source: NodeSource, known: list[str]) -> str:
    near = nearest(source.output, known)
    way_out = near or f'; it has {", ".join(f"`{name}`" for name in known)}' if known else '; it has no outputs'
    return f'node `{source.node}` has no output `{source.output}`{way_out}'
