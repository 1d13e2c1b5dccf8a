"""Keys that are understood but cannot be followed yet (errors) or have no effect here (warnings)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import DeployYaml, InputYaml, NodeYaml, RootYaml
    from adora_ros.dataflow.yamltree import Loc

NOT_YET = {
    'hub': 'install the node yourself and give its `path`',
}
"""Keys of a node that are not supported yet, each with what to do instead."""
KINDS = ('hub',)
"""Those of them that say what a node is, in place of ``path`` and ``ros``."""

_NO_EFFECT = {
    'input_types': 'give an input a `type` to check ROS message types',
    'output_types': 'give an output a `type` to check ROS message types',
    'output_metadata': 'metadata is not checked',
    'output_framing': 'values always travel as Arrow IPC',
    'pattern': 'metadata is not checked',
    'shared_memory_pool_size': 'set `shared_memory_limit` at the top level',
}
_ROS_INPUT_KEYS = ('queue_size', 'queue_policy', 'input_timeout', 'first_message_timeout')


def unsupported(node: NodeYaml, loc: Loc, report: Report) -> bool:
    """Report what a node asks for that is not supported yet; return whether there was any."""
    found = [name for name in NOT_YET if getattr(node, name) is not None]
    for name in found:
        report.error((*loc, name), f'`{name}` is not supported yet; {NOT_YET[name]}', key=True)
    if node.params is not None:
        report.error((*loc, 'params'), '`params` are for a `module`; use `args` or `env`', key=True)
    path = node.path or ''
    special = {
        'dynamic': 'let the dataflow start the program',
    }
    if path in special:
        report.error((*loc, 'path'), f'`path: {path}` is not supported yet; {special[path]}')
    else:
        return bool(found)
    return True


def without_effect(root: RootYaml, report: Report) -> None:
    """Warn about the keys of the top level that have no effect."""
    if root.strict_types:
        report.warning(
            ('strict_types',), '`strict_types` has no effect here; types are checked where ports have a `type`'
        )
    if root.type_rules:
        report.warning(('type_rules',), '`type_rules` has no effect here; ROS message types are equal or differ')
    if root.debug is not None and root.debug.enable_debug_inspection:
        report.warning(('debug',), '`debug` has no effect here; every output is a ROS topic, see `ros2 topic echo`')
    _deploy(root.deploy, ('deploy',), report)
    _deploy(root.unstable_deploy, ('_unstable_deploy',), report)


def node_without_effect(node: NodeYaml, loc: Loc, report: Report) -> None:
    """Warn about the keys of a node that have no effect."""
    for name, instead in _NO_EFFECT.items():
        if getattr(node, name):
            report.warning((*loc, name), f'`{name}` has no effect here; {instead}')
    _deploy(node.deploy, (*loc, 'deploy'), report)
    _deploy(node.unstable_deploy, (*loc, '_unstable_deploy'), report)
    if node.ros2 is not None and node.args is not None:
        report.warning((*loc, 'args'), '`args` has no effect on a `ros2` node, which takes none')
    if node.ros is not None:
        if node.args is not None:
            report.warning((*loc, 'args'), '`args` has no effect on a `ros` node; use `arguments` in `ros`')
        for name, port in (node.inputs or {}).items():
            if not isinstance(port, str):
                _ros_input(port, (*loc, 'inputs', name), report)


def _ros_input(port: InputYaml, loc: Loc, report: Report) -> None:
    for key in _ROS_INPUT_KEYS:
        if getattr(port, key) is not None:
            report.warning((*loc, key), f'`{key}` has no effect on a `ros` node, which reads its topics by itself')


def _deploy(deploy: DeployYaml | None, loc: Loc, report: Report) -> None:
    if deploy is None:
        return
    given = {'working_dir': deploy.working_dir, 'labels': deploy.labels, 'distribute': deploy.distribute}
    for name, value in given.items():
        if value and value != 'local':
            report.warning((*loc, name), f'`{name}` has no effect here; only `machine` has')
