"""Dataflows without YAML, and a supervised run on a fake clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adora_ros.dataflow.model import (
    Dataflow,
    InputSpec,
    NodeKind,
    NodeSource,
    NodeSpec,
    OnGiveUp,
    OutputSpec,
    RestartPolicy,
    RestartSpec,
    RestartStrategy,
    Source,
    TimerSource,
    TopicSource,
)
from adora_ros.supervision import DataflowSupervisor, Effect, Exit, ExitCause, NodeState, Spawn, StopProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar('T')

NEVER = RestartSpec(policy=RestartPolicy.NEVER)
ON_FAILURE = RestartSpec(policy=RestartPolicy.ON_FAILURE)
ALWAYS = RestartSpec(policy=RestartPolicy.ALWAYS)

CLEAN = Exit(cause=ExitCause.CLEAN, code=0)
CRASH = Exit(cause=ExitCause.ERROR, code=1)
SEGV = Exit(cause=ExitCause.SIGNAL, signal='SIGSEGV')
KILLED_AFTER_GRACE = Exit(cause=ExitCause.SIGNAL, signal='SIGKILL', after_grace=True)
NO_SPAWN = Exit(cause=ExitCause.SPAWN, detail='No such file: /robot/camera')


def on_failure(
    *, max_restarts: int = 0, delay: float | None = None, max_delay: float | None = None, window: float | None = None
) -> RestartSpec:
    """Return an ``on-failure`` restart specification."""
    return RestartSpec(
        policy=RestartPolicy.ON_FAILURE, max_restarts=max_restarts, delay=delay, max_delay=max_delay, window=window
    )


def node(
    node_id: str,
    inputs: Mapping[str, str] | None = None,
    *,
    restart: RestartSpec = NEVER,
    on_give_up: OnGiveUp = OnGiveUp.IGNORE,
) -> NodeSpec:
    """Return a node with one output ``out``.

    Args:
        node_id: Its id.
        inputs: Source by input id: ``node/output``, ``timer`` or a topic such as ``/scan``.
        restart: How it is restarted.
        on_give_up: What its final failure does to the rest.

    """
    return NodeSpec(
        id=node_id,
        name=node_id,
        full_name=f'/flow/{node_id}',
        kind=NodeKind.PATH,
        path=f'{node_id}.py',
        inputs=tuple(_input(input_id, source) for input_id, source in (inputs or {}).items()),
        outputs=(OutputSpec(id='out', topic=f'/flow/{node_id}/out'),),
        restart=restart,
        on_give_up=on_give_up,
    )


def dataflow(
    *nodes: NodeSpec,
    strategy: RestartStrategy = RestartStrategy.ONE_FOR_ONE,
    exit_when_nodes_finish: bool = False,
) -> Dataflow:
    """Return a dataflow of ``nodes``."""
    return Dataflow(
        name='flow',
        namespace='/flow',
        file=Path('/robot/flow.yml'),
        descriptor={},
        nodes=nodes,
        restart_strategy=strategy,
        exit_when_nodes_finish=exit_when_nodes_finish,
    )


def _input(input_id: str, text: str) -> InputSpec:
    source: Source
    if text == 'timer':
        source, topic = TimerSource(period=0.1, text='dora/timer/millis/100'), None
    elif text.startswith('/'):
        source, topic = TopicSource(topic=text, type='std_msgs/msg/String'), text
    else:
        node_id, output = text.split('/')
        source, topic = NodeSource(node=node_id, output=output), f'/flow/{text}'
    return InputSpec(id=input_id, source=source, topic=topic)


def only(effects: Iterable[Effect], kind: type[T]) -> list[T]:
    """Return the effects of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


class Run:
    """One supervised run.

    Its clock starts at 1,000 s, since a steady clock has no meaningful zero. Every method returns the effects of that
    call alone; ``effects`` holds all of them.
    """

    def __init__(self, flow: Dataflow, *, up: bool = False) -> None:
        """Supervise ``flow``; ``up`` starts it and brings all of its nodes up."""
        self.now = 1000.0
        self.supervisor = DataflowSupervisor(flow)
        self.effects: list[Effect] = []
        if up:
            self.start()
            for spec in flow.nodes:
                self.up(spec.id)

    def start(self) -> list[Effect]:
        """Start all nodes."""
        return self._note(self.supervisor.start(self.now))

    def up(self, node_id: str) -> list[Effect]:
        """Report the current incarnation as working."""
        return self._note(self.supervisor.up(node_id, self.incarnation(node_id), self.now))

    def exit(self, node_id: str, end: Exit, *, after: float = 0.0) -> list[Effect]:
        """Report the end of the current incarnation, ``after`` seconds from now."""
        self.now += after
        return self._note(self.supervisor.exited(node_id, self.incarnation(node_id), end, self.now))

    def tick(self) -> list[Effect]:
        """Let what is due happen."""
        return self._note(self.supervisor.tick(self.now))

    def wait(self, seconds: float) -> list[Effect]:
        """Let time pass, and what becomes due happen when it does."""
        until = self.now + seconds
        seen: list[Effect] = []
        while (due := self.supervisor.next_due()) is not None and due <= until:
            self.now = max(self.now, due)
            seen += self.tick()
        self.now = until
        return seen

    def stop(self) -> list[Effect]:
        """Stop the dataflow."""
        return self._note(self.supervisor.stop())

    def stop_node(self, node_id: str) -> list[Effect]:
        """Stop one node as an operator."""
        return self._note(self.supervisor.stop_node(node_id))

    def start_node(self, node_id: str) -> list[Effect]:
        """Start one node as an operator."""
        return self._note(self.supervisor.start_node(node_id, self.now))

    def restart_node(self, node_id: str) -> list[Effect]:
        """Restart one node as an operator."""
        return self._note(self.supervisor.restart_node(node_id, self.now))

    def state(self, node_id: str) -> NodeState:
        """Return where a node is."""
        return self.supervisor.state(node_id)

    def incarnation(self, node_id: str) -> int:
        """Return the number of the current or last incarnation."""
        return self.supervisor.snapshots()[node_id].incarnation

    def spawned(self, node_id: str) -> list[int]:
        """Return the numbers of all incarnations that were spawned."""
        return [effect.incarnation for effect in only(self.effects, Spawn) if effect.node == node_id]

    def obey(self, end: Exit = CLEAN) -> list[Effect]:
        """Let every process that is to stop end, in the order of the dataflow."""
        stopping = [n for n, shot in self.supervisor.snapshots().items() if shot.state is NodeState.STOPPING]
        return [effect for node_id in stopping for effect in self.exit(node_id, end)]

    def _note(self, effects: Iterable[Effect]) -> list[Effect]:
        seen = list(effects)
        self.effects += seen
        return seen


def stopped(effects: Iterable[Effect]) -> list[str]:
    """Return the nodes whose processes are to end, in order."""
    return [effect.node for effect in only(effects, StopProcess)]


def spawned(effects: Iterable[Effect]) -> list[str]:
    """Return the nodes that are spawned, in order."""
    return [effect.node for effect in only(effects, Spawn)]
