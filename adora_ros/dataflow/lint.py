"""Warnings about settings that are valid and do not do what they seem to."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from adora_ros.dataflow.model import NodeKind, NodeSource, NodeSpec, RestartPolicy, TimerSource
from adora_ros.dataflow.programs import PYTHON_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.dataflow.report import Report
    from adora_ros.dataflow.validate import Draft
    from adora_ros.dataflow.yamltree import Loc

_EXPONENT_LIMIT = 16
_WORDS = re.compile(r'[a-z]+')
_EXCHANGES = {'service-server', 'service-client', 'action-server', 'action-client'}
_EXCHANGE_KEYS = {'request_id', 'goal_id'}
_EXCHANGE_WORDS = {'request', 'response', 'reply', 'goal', 'cancel', 'result', 'feedback'}
"""Names that dora's own examples give to the outputs of services and actions."""
_RESTART_KEYS = ('max_restarts', 'restart_delay', 'max_restart_delay', 'restart_window')


def lint(draft: Draft, nodes: Mapping[int, NodeSpec], report: Report) -> None:
    """Warn about each such setting of a dataflow, whose nodes are given by their index in the file."""
    exchanging = _marked_exchanges(draft) | _named_exchanges(nodes)
    for index, written in draft.numbered():
        node = nodes[index]
        loc: Loc = ('nodes', index)
        if node.kind is not NodeKind.DYNAMIC and draft.is_whole(index, 'restart_policy', *_RESTART_KEYS):
            _restart(node, {key for key in _RESTART_KEYS if getattr(written, key) is not None}, loc, report)
        _inputs(node, exchanging, loc, report)
        if written.warm is True and (node.program is None or node.program.suffix != PYTHON_SUFFIX):
            report.warning((*loc, 'warm'), '`warm` has no effect here; only a `path` to a Python script starts warm')
        if not draft.is_whole(index, 'outputs'):
            continue
        for key in ('send_stdout_as', 'send_logs_as'):
            output = getattr(node, key)
            if output is not None and output not in {port.id for port in node.outputs}:
                report.warning((*loc, key), f'`{key}: {output}` names no output of the node; add it to `outputs`')


def shortest_giving_up(*, delay: float, max_delay: float | None, max_restarts: int) -> float:
    """Return the seconds from the first restart to the exit that exhausts ``max_restarts``, if no process lives at all.

    The first delay does not count: the window of a limit begins with the first restart.
    """
    cap = math.inf if max_delay is None else max_delay
    early = range(1, min(max_restarts, _EXPONENT_LIMIT + 1))
    late = max(0, max_restarts - 1 - len(early))
    return math.fsum(min(cap, delay * 2.0**n) for n in early) + late * min(cap, delay * 2.0**_EXPONENT_LIMIT)


def _restart(node: NodeSpec, given: set[str], loc: Loc, report: Report) -> None:
    restart = node.restart
    if restart.policy is RestartPolicy.NEVER:
        for key in sorted(given):
            report.warning((*loc, key), f'`{key}` has no effect: `restart_policy` is `never`')
        return
    if restart.max_delay is not None and restart.delay is None:
        report.warning((*loc, 'max_restart_delay'), '`max_restart_delay` has no effect without `restart_delay`')
    if restart.window is not None and not restart.max_restarts:
        report.warning((*loc, 'restart_window'), '`restart_window` has no effect without `max_restarts`')
    if restart.policy is RestartPolicy.ALWAYS and not restart.delay:
        report.warning(
            (*loc, 'restart_policy'),
            '`restart_policy: always` without `restart_delay` starts the node again at once whenever it ends',
        )
    if restart.delay and restart.max_restarts and restart.window is not None:
        needed = shortest_giving_up(delay=restart.delay, max_delay=restart.max_delay, max_restarts=restart.max_restarts)
        if needed > restart.window:
            report.warning(
                (*loc, 'max_restarts'),
                f'`max_restarts: {restart.max_restarts}` can never be reached: the delays alone take {needed:.10g} s, '
                f'but `restart_window` starts anew after {restart.window:g} s, so the node is restarted for ever; '
                'lower `max_restarts` or `restart_delay`, or raise `restart_window`',
            )


def _inputs(node: NodeSpec, exchanging: set[str], loc: Loc, report: Report) -> None:
    for port in node.inputs:
        if node.kind is NodeKind.OPERATORS and isinstance(port.source, NodeSource) and port.source.node == node.id:
            report.warning(
                (*loc, 'inputs', port.id),
                'an operator of the same node feeds it, so that the node never ends by itself; make one of them a node',
            )
        place = (*loc, 'inputs', port.id, 'input_timeout')
        if port.input_timeout is None:
            continue
        if isinstance(port.source, TimerSource) and port.source.period >= port.input_timeout:
            report.warning(
                place,
                f'`input_timeout: {port.input_timeout:g}` closes the input between two ticks of its timer, which are '
                f'{port.source.period:g} s apart',
            )
        if str(port.source) in exchanging:
            report.warning(
                place,
                '`input_timeout` on an input of requests or replies: it closes whenever nobody asks for a while; '
                'put the timeout on the call',
            )


def _marked_exchanges(draft: Draft) -> set[str]:
    """Return the outputs, as ``node/output``, that the file marks as carrying requests or replies."""
    found = set()
    for _, node in draft.numbered():
        outputs = node.outputs or ()
        ids = [item if isinstance(item, str) else item.id for item in outputs] if isinstance(outputs, list) else outputs
        marked = {name for name, keys in (node.output_metadata or {}).items() if _EXCHANGE_KEYS & set(keys)}
        found |= {f'{node.id}/{name}' for name in ids if node.pattern in _EXCHANGES or name in marked}
    return found


def _named_exchanges(nodes: Mapping[int, NodeSpec]) -> set[str]:
    """Return the outputs between two nodes that feed each other whose names are those of requests or replies."""
    fed = {
        (port.source.node, node.id)
        for node in nodes.values()
        for port in node.inputs
        if isinstance(port.source, NodeSource)
    }
    return {
        str(port.source)
        for node in nodes.values()
        for port in node.inputs
        if isinstance(port.source, NodeSource)
        and (node.id, port.source.node) in fed
        and _EXCHANGE_WORDS & set(_WORDS.findall(port.source.output.lower()))
    }
