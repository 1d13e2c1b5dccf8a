"""Keys that are understood but cannot be followed yet (errors) or have no effect here (warnings)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.dataflow.origins import DYNAMIC

if TYPE_CHECKING:
    from adora_ros.dataflow.portschema import InputYaml
    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.schema import DeployYaml, NodeYaml, RootYaml
    from adora_ros.dataflow.yamltree import Loc

NOT_YET = {
    'hub': 'install the node yourself and give its `path`',
}
"""Keys of a node that are not supported yet, each with what to do instead."""
KINDS = ('hub',)
"""Those of them that say what a node is, in place of ``path`` and ``ros``."""

_NO_EFFECT = {
    'shared_memory_pool_size': 'set `shared_memory_limit` at the top level',
}
_NOT_DYNAMIC = (
    *('args', 'env', 'cpu_affinity', 'warm', 'send_stdout_as', 'send_logs_as', 'min_log_level', 'max_log_size'),
    *('restart_policy', 'max_restarts', 'restart_delay', 'max_restart_delay', 'restart_window'),
    *('health_check_timeout', 'startup_timeout', 'stop_grace', 'finish_grace_secs'),
)
"""Keys of a node that are about a process which the manager starts, and may end."""
_ROS_INPUT_KEYS = ('queue_size', 'queue_policy', 'input_timeout', 'first_message_timeout')


def unsupported(node: NodeYaml, loc: Loc, report: Report) -> bool:
    """Report what a node asks for that is not supported yet; return whether there was any."""
    found = [name for name in NOT_YET if getattr(node, name) is not None]
    for name in found:
        report.error((*loc, name), f'`{name}` is not supported yet; {NOT_YET[name]}', key=True)
    if node.params is not None:
        report.error((*loc, 'params'), '`params` are for a `module`; use `args` or `env`', key=True)
    return bool(found)


def without_effect(root: RootYaml, report: Report) -> None:
    """Warn about the keys of the top level that have no effect."""
    if root.debug is not None and root.debug.enable_debug_inspection:
        report.warning(('debug',), '`debug` has no effect here; every output is a ROS topic, see `ros2 topic echo`')
    _deploy(root.deploy, ('deploy',), report)
    _deploy(root.unstable_deploy, ('_unstable_deploy',), report)


def node_without_effect(node: NodeYaml, loc: Loc, report: Report) -> None:
    """Warn about the keys of a node that have no effect."""
    for name, instead in _NO_EFFECT.items():
        if getattr(node, name):
            report.warning((*loc, name), f'`{name}` has no effect here; {instead}')
    _dynamic(node, loc, report)
    for name, framing in (node.output_framing or {}).items():
        if framing == 'raw':
            words = '`raw` has no effect here; bytes travel as Arrow IPC, and arrive as what they are'
            report.warning((*loc, 'output_framing', name), words)
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


def _dynamic(node: NodeYaml, loc: Loc, report: Report) -> None:
    if node.path != DYNAMIC:
        return
    for name in _NOT_DYNAMIC:
        if getattr(node, name) is not None:
            report.warning((*loc, name), f'`{name}` has no effect on a node that somebody else starts')


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
