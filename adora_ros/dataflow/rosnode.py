"""The ``ros`` part of a node."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import names, programs
from adora_ros.dataflow.model import NodeSource, RosSpec
from adora_ros.dataflow.values import expand

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from pathlib import Path

    from adora_ros.dataflow.model import NodeSpec
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import RosYaml
    from adora_ros.dataflow.yamltree import Loc

_REMAPPED = re.compile(r'[A-Za-z0-9_/~{}*:\\]+')
_SCALARS = (bool, int, float, str)


def resolve_ros(
    ros: RosYaml,
    loc: Loc,
    directory: Path,
    env: Mapping[str, str],
    namespace: str,
    name: str,
    machine: str | None,
    report: Report,
) -> RosSpec:
    """Return the resolved ROS node; what is in error is reported.

    Args:
        ros: as written.
        loc: place of ``ros`` in the file.
        directory: folder of the file.
        env: environment of the node's process.
        namespace: absolute namespace of the node.
        name: ROS name of the node.
        machine: where the node runs, None for here; what is missing there is not an error here.
        report: takes the problems.

    """
    executable = expand(ros.executable, env, strict=False)
    path = programs.absolute(executable, directory)
    try:
        if ros.package is None:
            path = programs.find_program(executable, directory, env)
        else:
            path = programs.find_in_package(ros.package, executable)
    except ValueError as error:
        key = 'executable' if ros.package is None or 'no executable' in str(error) else 'package'
        _missing((*loc, key), str(error), machine, report)
    return RosSpec(
        executable=path,
        package=ros.package,
        namespace=namespace,
        name=name,
        parameters=_parameters(ros, loc, directory, env, machine, report),
        remappings=_remappings(ros, loc, report),
        arguments=_arguments(ros, loc, report),
        lifecycle=None if ros.lifecycle in {None, 'auto'} else bool(ros.lifecycle),
    )


def check_ports(
    ros: RosYaml, spec: NodeSpec, given_topics: Container[tuple[str, str]], loc: Loc, report: Report
) -> None:
    """Report the ports that no remapping can bind to their topic, and the remappings that contradict a port."""
    unbound = [
        ('outputs', port.id) for port in spec.outputs if (spec.id, port.id) not in given_topics and not port.by_manager
    ]
    unbound += [('inputs', port.id) for port in spec.inputs if isinstance(port.source, NodeSource)]
    for kind, port_id in unbound:
        if not names.is_port_name(port_id):
            words = f'`{port_id}` of {kind} is not a ROS name, which a port of a `ros` node must be; use letters and _'
            report.error((*loc, kind), words, key=True)
    port_ids = {port.id for port in spec.outputs} | {port.id for port in spec.inputs}
    for old in ros.remappings or ():
        if old in port_ids:
            words = f'`{old}` is a port of this node; give the port the `topic` instead'
            report.error((*loc, 'ros', 'remappings', old), words, key=True)


def _missing(loc: Loc, words: str, machine: str | None, report: Report) -> None:
    if machine is None:
        report.error(loc, words)
    else:
        report.warning(loc, f'{words} on this machine; `{machine}` must have it', key=False)


def _remappings(ros: RosYaml, loc: Loc, report: Report) -> dict[str, str]:
    for old, new in (ros.remappings or {}).items():
        if not _REMAPPED.fullmatch(old) or not _REMAPPED.fullmatch(new):
            report.error((*loc, 'remappings', old), f'`{old}` to `{new}` is not a remapping of ROS names', key=True)
    return dict(ros.remappings or {})


def _arguments(ros: RosYaml, loc: Loc, report: Report) -> tuple[str, ...]:
    if not isinstance(ros.arguments, str):
        return tuple(ros.arguments or ())
    try:
        return tuple(shlex.split(ros.arguments))
    except ValueError as error:
        report.error((*loc, 'arguments'), f'`arguments` is not quoted as in a shell: {str(error).lower()}')
        return ()


def _parameters(
    ros: RosYaml, loc: Loc, directory: Path, env: Mapping[str, str], machine: str | None, report: Report
) -> Mapping[str, Any] | Path | None:
    place = (*loc, 'parameters')
    if ros.parameters is None:
        return None
    if isinstance(ros.parameters, str):
        text = expand(ros.parameters, env, strict=False)
        try:
            return programs.find_file(text, directory)
        except ValueError as error:
            _missing(place, str(error), machine, report)
            return programs.absolute(text, directory)
    flat: dict[str, Any] = {}
    _flatten(ros.parameters, '', place, flat, report)
    return flat


def _flatten(written: Mapping[str, Any], prefix: str, loc: Loc, flat: dict[str, Any], report: Report) -> None:
    for key, value in written.items():
        place = (*loc, key)
        name = f'{prefix}{key}'
        if key == 'ros__parameters':
            report.error(
                place, '`ros__parameters` belongs to a parameter file; write the parameters themselves', key=True
            )
            continue
        if isinstance(value, dict):
            _flatten(value, f'{name}.', place, flat, report)
            continue
        problem = _unfit(value)
        if problem is not None:
            report.error(place, f'parameter `{name}` {problem}')
        elif name in flat:
            report.error(place, f'parameter `{name}` is given twice', key=True)
        else:
            flat[name] = value


def _unfit(value: Any) -> str | None:
    """Return why a value cannot be a ROS parameter."""
    if isinstance(value, list):
        if not value:
            return 'is an empty list, whose type ROS 2 cannot tell; leave it out'
        if len({type(item) for item in value}) > 1 or not isinstance(value[0], _SCALARS):
            return 'must be a list of texts, of numbers of one kind, or of true and false'
        return next((words for item in value if (words := _unfit(item))), None)
    if not isinstance(value, _SCALARS):
        return 'has no value'
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return 'does not fit into 64 bits'
    return None
