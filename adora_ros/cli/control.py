"""The commands that change what runs: ``stop``, ``restart`` and ``node restart|stop|start``."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from adora_ros.cli.fleet import GOING_ON, Flow
from adora_ros.cli.machines import want_stopped
from adora_ros.cli.naming import Named, chosen
from adora_ros.cli.presence import joined, no_answer
from adora_ros.cli.records import may_be_there
from adora_ros.dataflow.names import ros_name
from adora_ros.errors import CommandError, NoAnswerError, NotRunningError

if TYPE_CHECKING:
    import argparse

    from adora_ros.cli.fleet import Fleet, Manager
    from adora_ros.cli.session import Session
    from adora_ros.manager.events import NodeStatus

GUARDIAN = 2.0
"""Seconds by which nodes may outlive a manager that was killed."""


def stop(arguments: argparse.Namespace) -> int:
    """Stop dataflows and wait until nothing of them is left.

    Raises:
        NotRunningError: there is no such dataflow.
        NoAnswerError: a manager does not answer.
        CommandError: a manager refuses.

    """
    with joined(arguments.dataflow) as (session, fleet):
        for flow in _targets(fleet, arguments):
            _stop(session, fleet, flow, arguments)
    return 0


def restart(arguments: argparse.Namespace) -> int:
    """Stop a dataflow and start it again, as its managers have loaded it.

    Raises:
        NotRunningError: there is no such dataflow.
        NoAnswerError: a manager does not answer.
        CommandError: it could not be started again.

    """
    with joined(arguments.dataflow) as (session, fleet):
        flow = fleet.find(arguments.dataflow, arguments.timeout)
        before = flow.run
        _limit_grace(session, flow, arguments)
        requests = {f'{manager.name}/restart': Trigger.Request() for manager in flow.managers}
        for name, answer in _ask(session, fleet, flow, Trigger, requests, arguments.timeout).items():
            if answer is None or not answer.success:
                reason = 'its manager has ended' if answer is None else answer.message
                msg = f'{flow.name} was not restarted ({name}): {reason}'
                raise CommandError(msg)
        after = _up_again(session, fleet, flow, before, arguments.timeout)
        sys.stdout.write(f'restarted {flow.name}: {after.run}\n')
    return 0


def node_command(arguments: argparse.Namespace) -> int:
    """Restart, stop or start one node.

    Raises:
        NotRunningError: there is no such node.
        NoAnswerError: its manager does not answer.
        CommandError: its manager refuses.

    """
    verb: str = arguments.verb
    with joined(arguments.dataflow) as (session, fleet):
        flow, manager, node = find_node(fleet, arguments.node, arguments.dataflow, arguments.timeout)
        service = f'{manager.name}/{ros_name(node.node)}/{verb}'
        try:
            answer = session.call(Trigger, service, Trigger.Request(), arguments.timeout)
        except NoAnswerError as error:
            msg = f'node {node.node}: {no_answer(manager, arguments.timeout)}'
            raise NoAnswerError(msg) from error
    if not answer.success:
        msg = f'node {node.node} of {flow.name}: {answer.message}'
        raise CommandError(msg)
    sys.stdout.write(f'{answer.message}\n')
    return 0


def find_node(fleet: Fleet, node: str, dataflow: str | None, timeout: float) -> tuple[Flow, Manager, NodeStatus]:
    """Return a node of a running dataflow.

    Args:
        fleet: What runs.
        node: Its id.
        dataflow: Name of the dataflow; None for the only one that has such a node.
        timeout: Seconds.

    Raises:
        NotRunningError: there is no such node.
        NoAnswerError: a manager that may have it does not answer.
        AmbiguousNameError: several dataflows have one.

    """
    flows = (fleet.find(dataflow, timeout),) if dataflow is not None else fleet.find_all(timeout)
    silent = [manager for flow in flows for manager in flow.managers if manager.status is None]
    found = [
        Named((flow, manager, status), flow.name, flow.run)
        for flow in flows
        for manager, status in flow.nodes
        if status.node == node
    ]
    if not found and silent:
        msg = f'node {node}: {no_answer(silent[0], timeout)}'
        raise NoAnswerError(msg)
    if not found:
        known = ', '.join(sorted({status.node for flow in flows for _, status in flow.nodes})) or 'none'
        msg = f'no node `{node}` in {dataflow or "any running dataflow"}; there is {known}'
        raise NotRunningError(msg)
    return chosen(found, None, what=f'dataflow with a node `{node}`')


def _targets(fleet: Fleet, arguments: argparse.Namespace) -> tuple[Flow, ...]:
    if not arguments.all:
        return (fleet.find(arguments.dataflow, arguments.timeout, also_silent=arguments.force),)
    flows = [flow for flow in fleet.find_all(arguments.timeout) if flow.status is None or _goes_on(flow)]
    if not flows:
        msg = 'no dataflow is running'
        raise NotRunningError(msg)
    return tuple(flows)


def _stop(session: Session, fleet: Fleet, flow: Flow, arguments: argparse.Namespace) -> None:
    silent = [manager for manager in flow.managers if manager.status is None]
    if silent and not arguments.force:
        raise NoAnswerError(no_answer(silent[0], arguments.timeout))
    for manager in silent:
        _kill(session, fleet, manager, arguments.timeout)
    alive = Flow(namespace=flow.namespace, managers=tuple(m for m in flow.managers if m not in silent))
    if not alive.managers:
        return
    if not _goes_on(alive):
        state = 'waiting to be started' if alive.status is None else alive.status.state
        msg = f'{flow.name} is not running: it is {state}'
        raise NotRunningError(msg)
    _limit_grace(session, alive, arguments)
    if any(manager.machine for manager in alive.managers) and may_be_there():
        want_stopped(flow.run, arguments.timeout)
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    requests = {f'{manager.name}/change_state': request for manager in alive.managers}
    answers = _ask(session, fleet, alive, ChangeState, requests, arguments.timeout)
    last = fleet.again(alive) or alive
    for name, answer in answers.items():
        if answer is not None and not answer.success and _goes_on(last):
            msg = f'{flow.name} was not stopped: {name} refused'
            raise CommandError(msg)
    if alive.status is not None and not alive.status.stays:
        session.wait(lambda: fleet.again(alive) is None or not fleet.is_local(alive), arguments.timeout)
    error = '' if last.status is None else last.status.error
    sys.stdout.write(f'stopped {flow.name} ({flow.run})' + (f': failed: {error}\n' if error else '\n'))


def _kill(session: Session, fleet: Fleet, manager: Manager, timeout: float) -> None:
    """End a manager that does not answer, and with it its nodes."""
    if manager.pid is None:
        raise NoAnswerError(no_answer(manager, timeout))
    try:
        os.kill(manager.pid, signal.SIGKILL)
    except PermissionError as error:
        msg = f'{manager.name} (pid {manager.pid}) belongs to another user; ask as that one'
        raise CommandError(msg) from error
    except ProcessLookupError:
        pass
    namespace = manager.namespace
    session.wait(lambda: all(flow.namespace != namespace for flow in fleet.flows()), timeout)
    time.sleep(GUARDIAN)
    sys.stdout.write(f'killed {manager.name} (pid {manager.pid}), which did not answer, and its nodes\n')


def _limit_grace(session: Session, flow: Flow, arguments: argparse.Namespace) -> None:
    """Tell the managers how long their nodes have, if the command line says so."""
    grace = 0.0 if arguments.force else arguments.grace_duration
    if grace is None:
        return
    request = SetParameters.Request(parameters=[Parameter('stop_grace', value=float(grace)).to_parameter_msg()])
    requests = {f'{manager.name}/set_parameters': request for manager in flow.managers}
    session.call_all(SetParameters, requests, arguments.timeout)


def _ask(
    session: Session, fleet: Fleet, flow: Flow, kind: Any, requests: dict[str, Any], timeout: float
) -> dict[str, Any]:
    """Ask managers for what may take long, and wait for as long as they say that they live.

    Returns:
        The answers; None for a manager that ended without one.

    Raises:
        NoAnswerError: a manager has been silent for ``timeout`` seconds.

    """
    futures = session.send_all(kind, requests, timeout)
    began = time.monotonic()
    names = dict(zip(requests, (manager.name for manager in flow.managers), strict=True))

    def waits_for() -> list[str]:
        current = fleet.again(flow)
        there = {} if current is None else {manager.name: manager for manager in current.managers}
        left = [service for service, future in futures.items() if not future.done() and names[service] in there]
        for service in left:
            manager = there[names[service]]
            if time.monotonic() - max(began, manager.heard_at) > timeout:
                raise NoAnswerError(no_answer(manager, timeout))
        return left

    session.wait(lambda: not waits_for(), float('inf'))
    return {service: future.result() if future.done() else None for service, future in futures.items()}


def _up_again(session: Session, fleet: Fleet, flow: Flow, before: str, timeout: float) -> Flow:
    """Wait until a dataflow that was started again is up.

    Raises:
        CommandError: it is not, and never will be.
        NoAnswerError: its manager has fallen silent.

    """
    current: Flow | None = flow

    def is_decided() -> bool:
        nonlocal current
        current = fleet.again(flow)
        if current is None or current.status is None:
            return True
        if time.monotonic() - min(manager.heard_at for manager in current.managers) > timeout:
            raise NoAnswerError(no_answer(current.managers[0], timeout))
        return current.run != before and current.status.state != 'Pending'

    session.wait(is_decided, float('inf'))
    if current is None or current.status is None or current.status.error:
        reason = 'its manager has ended' if current is None or current.status is None else current.status.error
        msg = f'{flow.name} was restarted, and failed: {reason}'
        raise CommandError(msg)
    return current


def _goes_on(flow: Flow) -> bool:
    return any(manager.status is not None and manager.status.state in GOING_ON for manager in flow.managers)
