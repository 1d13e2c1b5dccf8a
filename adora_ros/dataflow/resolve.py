"""From the model of the file to the frozen dataflow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import names, notices, ports, programs, values
from adora_ros.dataflow.bridge import resolve_bridge
from adora_ros.dataflow.lint import lint
from adora_ros.dataflow.model import (
    DEFAULT_HEALTH_CHECK_INTERVAL,
    DEFAULT_ROTATED_FILES,
    DEFAULT_STOP_GRACE,
    Dataflow,
    NodeKind,
    NodeSpec,
    OnGiveUp,
    RestartPolicy,
    RestartSpec,
    RestartStrategy,
)
from adora_ros.dataflow.operators import DEFAULT_ID, resolve_operators
from adora_ros.dataflow.origins import DYNAMIC, Program, ProgramFinder, build_lines
from adora_ros.dataflow.problems import nearest
from adora_ros.dataflow.reserved import RESERVED
from adora_ros.dataflow.rosnode import check_ports, resolve_ros
from adora_ros.dataflow.sources import LOG_LEVELS, check_node_id
from adora_ros.dataflow.typecheck import check_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.dataflow.bridge import BridgeSpec
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import DeployYaml, NodeYaml
    from adora_ros.dataflow.validate import Draft
    from adora_ros.dataflow.yamltree import Loc

MANAGER = 'manager'
"""ROS name of the manager in the namespace of the dataflow; ``manager_<machine>`` is one too."""
COORDINATOR = ('/adora/coordinator', '/adora/store')
"""Full names of the coordinator's nodes."""


_UNFIT = re.compile(r'[=\0\s]')


class Resolver:
    """Resolves one file; every problem goes to the report."""

    def __init__(
        self,
        draft: Draft,
        report: Report,
        *,
        name: str,
        namespace: str,
        env: Mapping[str, str],
        built: bool,
    ) -> None:
        """Prepare to resolve ``draft``.

        Args:
            draft: the model of the file.
            report: takes the problems.
            name: ROS-safe name of the dataflow.
            namespace: its absolute namespace.
            env: variables on top of the root's ``env``.
            built: whether what has to be built, cloned or downloaded must be there.

        """
        self._draft = draft
        self._report = report
        self._name = name
        self._namespace = namespace
        self._file = programs.absolute(str(report.tree.file), Path.cwd())
        self._built = built
        self._finder = ProgramFinder(self._file.parent, self._file.name, built=built, report=report)
        self._outer = {**os.environ, **env}
        root_env = self._env(draft.root.env or {}, ('env',))
        self._env_of_all = {**root_env, **env}
        self._wiring = ports.Wiring(namespace=self._namespace, nodes_lost=draft.nodes_lost)
        self._places: dict[str, tuple[str, str]] = {}
        """By node id its namespace and name."""

    def resolve(self) -> Dataflow:
        """Return the dataflow; what is in error is reported and left out."""
        root = self._draft.root
        if not root.nodes and not self._draft.nodes_lost:
            self._report.error(('nodes',), '`nodes` is empty; a dataflow needs at least one node')
        notices.without_effect(root, self._report)
        for index, node in self._name_nodes():
            self._add_outputs(node, ('nodes', index))
        reserved = {f'{self._namespace}/{name}': f'the {name} of the dataflow' for name in ('events', 'status')}
        ports.check_topics(self._wiring, reserved, self._report)
        nodes = {index: self._node(node, ('nodes', index)) for index, node in self._draft.numbered()}
        lint(self._draft, nodes, self._report)
        check_types(self._draft, nodes, self._file.parent, self._report)
        return Dataflow(
            name=self._name,
            namespace=self._namespace,
            file=self._file,
            descriptor=self._report.data,
            nodes=tuple(nodes.values()),
            env=self._env_of_all,
            health_check_interval=_given(root.health_check_interval, DEFAULT_HEALTH_CHECK_INTERVAL),
            restart_strategy=RestartStrategy(root.restart_strategy or RestartStrategy.ONE_FOR_ONE),
            shared_memory_limit=self._size(root.shared_memory_limit, ('shared_memory_limit',), zero=True),
            exit_when_nodes_finish=bool(root.exit_when_nodes_finish),
            warnings=self._report.warnings,
        )

    def _name_nodes(self) -> list[tuple[int, NodeYaml]]:
        """Give each node its ROS name; return those whose id occurs for the first time."""
        named: list[tuple[int, NodeYaml]] = []
        owners: dict[str, tuple[str, int]] = {}
        ids: dict[str, int] = {}
        for index, node in self._draft.numbered():
            loc = ('nodes', index, 'id')
            try:
                check_node_id(node.id)
            except ValueError as error:
                self._report.error(loc, str(error))
            if node.id in ids:
                self._report.error(loc, f'this id is given twice; the first is on line {ids[node.id]}')
                continue
            ids[node.id] = self._report.line(loc)
            named.append((index, node))
            place = self._place(node, loc)
            self._places[node.id] = place
            full_name = f'{place[0].rstrip("/")}/{place[1]}'
            if place[0] == self._namespace and (place[1] == MANAGER or place[1].startswith(f'{MANAGER}_')):
                self._report.error(loc, f'`{full_name}` is reserved for the manager; rename the node')
            if full_name in COORDINATOR:
                self._report.error(loc, f'`{full_name}` is reserved for the coordinator; rename the node')
            first = owners.setdefault(full_name, (node.id, ids[node.id]))
            if first[0] != node.id:
                both = f'`{first[0]}` (on line {first[1]}) and `{node.id}`'
                self._report.error(loc, f'{both} both become the ROS name `{full_name}`; rename one')
        return named

    def _place(self, node: NodeYaml, loc: Loc) -> tuple[str, str]:
        namespace, name = self._namespace, names.ros_name(node.id)
        if len(name) > names.NODE_NAME_LIMIT:
            self._report.error(loc, f'the id is longer than {names.NODE_NAME_LIMIT} characters')
        if node.ros is None:
            return namespace, name
        ros_loc = (*loc[:-1], 'ros')
        if node.ros.name is not None:
            if names.is_token(node.ros.name):
                name = node.ros.name
            else:
                words = f'`{node.ros.name}` is not a ROS node name; use letters, digits and _, no digit first'
                self._report.error((*ros_loc, 'name'), words)
        if node.ros.namespace is not None:
            try:
                namespace = self._absolute_namespace(node.ros.namespace)
            except ValueError as error:
                self._report.error((*ros_loc, 'namespace'), str(error))
        return namespace, name

    def _absolute_namespace(self, text: str) -> str:
        if text == '/':
            return text
        namespace = text if text.startswith('/') else f'{self._namespace}/{text}'
        names.check_absolute(namespace)
        return namespace

    def _add_outputs(self, node: NodeYaml, loc: Loc) -> None:
        if node.ros is not None:
            self._wiring.ros_nodes.add(node.id)
        if node.operator is not None:
            self._wiring.single_operators[node.id] = node.operator.id or DEFAULT_ID
        foreign = any(getattr(node, kind) is not None for kind in notices.KINDS)
        if foreign or not self._draft.is_whole(loc[1], 'outputs', 'operator', 'operators', '?'):
            self._wiring.open_nodes.add(node.id)
        namespace, name = self._places[node.id]
        ports.add_outputs(self._wiring, node, loc, name, namespace, self._report)

    def _node(self, node: NodeYaml, loc: Loc) -> NodeSpec:
        report = self._report
        notices.node_without_effect(node, loc, report)
        namespace, name = self._places[node.id]
        env = {**self._env_of_all, **self._env(node.env or {}, (*loc, 'env'))}
        machine = self._machine(node, loc)
        program = self._program(node, loc, env, machine)
        inputs = ports.resolve_inputs(self._wiring, node, loc, name, namespace, report)
        outputs = tuple(self._wiring.outputs[node.id].values())
        ros = None
        if node.ros is not None:
            ros = resolve_ros(
                node.ros, (*loc, 'ros'), self._file.parent, {**self._outer, **env}, namespace, name, machine, report
            )
        spec = NodeSpec(
            id=node.id,
            name=name,
            full_name=f'{namespace.rstrip("/")}/{name}',
            label=node.name,
            description=node.description,
            kind=_kind(node),
            path=None if program is None else program.path,
            program=None if program is None else program.program,
            args=() if program is None else program.args,
            origin=None if program is None else program.origin,
            build=build_lines(node.build),
            env=env,
            ros=ros,
            operators=resolve_operators(
                node, loc, self._file.parent, {**self._outer, **env}, report, built=self._built
            ),
            bridge=self._bridge(node, loc, machine),
            inputs=inputs,
            outputs=outputs,
            restart=_restart(node),
            health_check_timeout=node.health_check_timeout if _kind(node) is not NodeKind.DYNAMIC else None,
            startup_timeout=node.startup_timeout if _kind(node) is not NodeKind.DYNAMIC else None,
            stop_grace=_given(node.stop_grace, _given(self._draft.root.stop_grace, DEFAULT_STOP_GRACE)),
            finish_grace=node.finish_grace_secs,
            on_give_up=OnGiveUp(node.on_give_up or OnGiveUp.IGNORE),
            max_log_size=self._size(node.max_log_size, (*loc, 'max_log_size')),
            max_rotated_files=node.max_rotated_files or DEFAULT_ROTATED_FILES,
            send_stdout_as=node.send_stdout_as,
            send_logs_as=node.send_logs_as,
            min_log_level=self._level(node.min_log_level, (*loc, 'min_log_level')),
            cpu_affinity=tuple(dict.fromkeys(node.cpu_affinity or ())),
            warm=_warm(node.warm, self._draft.root.warm),
            machine=machine,
        )
        if node.ros is not None:
            check_ports(node.ros, spec, self._wiring.given_topics, loc, report)
        return spec

    def _bridge(self, node: NodeYaml, loc: Loc, machine: str | None) -> BridgeSpec | None:
        if node.ros2 is None:
            return None
        loc = (*loc, 'ros2')
        bridge = resolve_bridge(node, node.ros2, loc, self._places[node.id], machine, self._report)
        own = (bridge.namespace, bridge.node_name)
        for other, place in self._places.items():
            if own == place:
                full_name = f'{own[0].rstrip("/")}/{own[1]}'
                self._report.error(loc, f'its ROS node `{full_name}` is that of node `{other}`; give a `node_name`')
        return bridge

    def _program(self, node: NodeYaml, loc: Loc, env: Mapping[str, str], machine: str | None) -> Program | None:
        refused = notices.unsupported(node, loc, self._report)
        kinds = [key for key in ('path', 'ros', 'ros2') if getattr(node, key) is not None]
        if len(kinds) > 1:
            words = f'{" and ".join(f"`{key}`" for key in kinds)} exclude each other; give one'
            self._report.error((*loc, kinds[-1]), words, key=True)
        if node.path is None:
            whole = self._draft.is_whole(loc[1], 'path', 'ros', 'ros2', 'operator', 'operators', '?', *notices.NOT_YET)
            if _kind(node) is NodeKind.PATH and not refused and whole:
                self._report.error(loc, 'it has nothing to run; give it a `path`, or `ros` for an existing ROS 2 node')
        return None if refused else self._finder.find(node, loc, {**self._outer, **env}, machine)

    def _env(self, written: Mapping[str, Any], loc: Loc) -> dict[str, str]:
        env: dict[str, str] = {}
        for name, value in written.items():
            if not name or _UNFIT.search(name):
                self._report.error((*loc, name), f'`{name}` is not the name of an environment variable', key=True)
                continue
            if name in RESERVED:
                self._report.warning((*loc, name), f'`{name}` has no effect in a dataflow; {RESERVED[name]}')
                continue
            try:
                env[name] = (
                    values.expand(value, self._outer, strict=True) if isinstance(value, str) else values.env_text(value)
                )
            except ValueError as error:
                self._report.error((*loc, name), str(error))
        return env

    def _size(self, written: Any, loc: Loc, *, zero: bool = False) -> int | None:
        if written is None:
            return None
        try:
            size = values.byte_size(written)
        except ValueError as error:
            self._report.error(loc, str(error))
            return None
        if size == 0 and not zero:
            self._report.error(loc, f'`{loc[-1]}` must be above 0')
        return size

    def _level(self, written: str | None, loc: Loc) -> str | None:
        if written is None:
            return None
        level = written.lower()
        if level not in LOG_LEVELS:
            words = f'`{written}` is not a log level; use {", ".join(LOG_LEVELS)}{nearest(level, LOG_LEVELS)}'
            self._report.error(loc, words)
        return level

    def _machine(self, node: NodeYaml, loc: Loc) -> str | None:
        root = self._draft.root
        own = self._deploy(node.deploy, node.unstable_deploy, loc)
        common = self._deploy(root.deploy, root.unstable_deploy, ())
        for deploy in (own, common):
            if deploy is not None and deploy.machine is not None:
                return deploy.machine
        return None

    def _deploy(self, deploy: DeployYaml | None, older: DeployYaml | None, loc: Loc) -> DeployYaml | None:
        if deploy is not None and older is not None:
            self._report.error((*loc, '_unstable_deploy'), '`deploy` is given too; remove the older name', key=True)
        return deploy or older


def _given(value: float | None, default: float) -> float:
    return default if value is None else value


def _kind(node: NodeYaml) -> NodeKind:
    if node.path == DYNAMIC:
        return NodeKind.DYNAMIC
    if node.ros is not None:
        return NodeKind.ROS
    if node.ros2 is not None:
        return NodeKind.BRIDGE
    return NodeKind.PATH if node.operator is None and node.operators is None else NodeKind.OPERATORS


def _restart(node: NodeYaml) -> RestartSpec:
    if _kind(node) is NodeKind.DYNAMIC:
        return RestartSpec()
    return RestartSpec(
        policy=RestartPolicy(node.restart_policy or RestartPolicy.NEVER),
        max_restarts=node.max_restarts or 0,
        delay=node.restart_delay,
        max_delay=node.max_restart_delay,
        window=node.restart_window,
    )


def _warm(own: Any, common: Any) -> bool | None:
    chosen = common if own is None else own
    return None if chosen is None or chosen == 'auto' else bool(chosen)
