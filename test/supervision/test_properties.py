"""What holds for every graph and every order of events."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from adora_ros.dataflow.model import Dataflow, NodeSpec, OnGiveUp, RestartPolicy, RestartSpec, RestartStrategy
from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    Effect,
    Exit,
    ExitCause,
    GaveUp,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    NodeUp,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
    Spawn,
    StopDataflow,
    StopProcess,
)
from supervision.build import CLEAN, CRASH, KILLED_AFTER_GRACE, NO_SPAWN, SEGV, Run, dataflow, node, spawned

if TYPE_CHECKING:
    from collections.abc import Callable

EXITS = st.sampled_from(
    [
        CLEAN,
        CRASH,
        SEGV,
        NO_SPAWN,
        KILLED_AFTER_GRACE,
        Exit(cause=ExitCause.HEALTH_CHECK, signal='SIGKILL'),
        Exit(cause=ExitCause.STARTUP_TIMEOUT, signal='SIGKILL'),
        Exit(cause=ExitCause.TRANSITION, code=1),
    ]
)
TIMES = st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0, 3.0, 10.0, 59.0, 60.0, 61.0, 500.0])
RESTARTS = st.builds(
    RestartSpec,
    policy=st.sampled_from(RestartPolicy),
    max_restarts=st.integers(0, 3),
    delay=st.sampled_from([None, 0.0, 0.5, 7.0]),
    max_delay=st.sampled_from([None, 0.2, 3.0]),
    window=st.sampled_from([None, 1.0, 20.0, 100.0]),
)


@st.composite
def _dataflows(draw: st.DrawFn) -> Dataflow:
    ids = [f'n{i}' for i in range(draw(st.integers(1, 5)))]
    sources = st.sampled_from([*(f'{node_id}/out' for node_id in ids), 'timer', '/scan'])
    nodes: list[NodeSpec] = []
    for node_id in ids:
        inputs = draw(st.dictionaries(st.sampled_from(['x', 'y', 'z']), sources, max_size=3))
        give_up = draw(st.sampled_from([OnGiveUp.IGNORE, OnGiveUp.IGNORE, OnGiveUp.STOP_DATAFLOW]))
        nodes.append(node(node_id, inputs, restart=draw(RESTARTS), on_give_up=give_up))
    strategy = draw(st.sampled_from(RestartStrategy))
    return dataflow(*nodes, strategy=strategy, exit_when_nodes_finish=draw(st.booleans()))


class _Model:
    """What a reader of the effects alone knows of one node."""

    def __init__(self, spec: NodeSpec) -> None:
        self.spec = spec
        self.incarnations: list[int] = []
        self.alive = False
        self.announced: RestartAnnounced | None = None
        self.ended: NodeState | None = None
        self.is_kept_down = False
        self.closed: set[str] = set()
        self.spawned_at = 0.0
        self.due = 0.0
        self.up_at: float | None = None
        self.died_early = False
        self.reset_budget()

    def reset_budget(self) -> None:
        """Begin a budget, as a node does that is started for the first time or by an operator."""
        self.window: list[float] = []
        self.doublings = 0
        self.early_deaths = 0
        self.last_delay: float | None = None

    def die(self, now: float) -> None:
        """Note the end of an incarnation."""
        self.alive = False
        self.died_early = now - self.spawned_at < 1.0
        healthy = 0.0 if self.up_at is None else now - self.up_at
        if healthy >= max(60.0, 2 * (self.last_delay or 0.0)):
            self.doublings = 0

    def expect_restart(self, now: float) -> tuple[int, float]:
        """Return number and delay of the restart that is announced at ``now``."""
        spec = self.spec.restart
        if spec.window is not None and self.window and now - self.window[0] > spec.window:
            self.window = []
            self.doublings = 0
        self.window.append(now)
        self.early_deaths = self.early_deaths + 1 if self.died_early and self.last_delay is not None else 0
        cap = math.inf if spec.max_delay is None else spec.max_delay
        if spec.delay is not None:
            delay = min(cap, spec.delay * 2 ** min(self.doublings, 16))
        else:
            delay = min(cap, 5.0, 0.1 * 2 ** (self.early_deaths - 1)) if self.early_deaths else 0.0
        self.doublings += 1
        self.last_delay = delay
        return len(self.window), delay


class Supervision(RuleBasedStateMachine):
    """Feeds random events to a run of a random dataflow and checks every effect against what came before it."""

    run: Run
    nodes: dict[str, _Model]

    @initialize(flow=_dataflows(), starts=st.sampled_from([True, True, True, False]))
    def build(self, flow: Dataflow, *, starts: bool) -> None:
        self.flow = flow
        self.run = Run(flow)
        self.nodes = {spec.id: _Model(spec) for spec in flow.nodes}
        self.stop_asked = False
        self.ends = 0
        self.starts_after_end = 0
        self.checks: dict[type, Callable[[Any], None]] = {
            Spawn: self._check_spawn,
            StopProcess: self._check_stop_process,
            ProcessEnded: self._check_process_ended,
            RestartAnnounced: self._check_restart_announced,
            RestartCancelled: self._check_restart_cancelled,
            GaveUp: self._check_gave_up,
            NodeUp: self._check_node_up,
            NodeEnded: self._check_node_ended,
            NodeFailedNotice: self._check_node_failed,
            InputClosedNotice: self._check_input_closed,
            AllInputsClosedNotice: self._check_all_inputs_closed,
            StopDataflow: self._check_stop_dataflow,
            DataflowEnded: self._check_dataflow_ended,
        }
        if starts:
            self.start()

    @rule()
    def start(self) -> None:
        self._check(self.run.start())

    @rule(data=st.data())
    def up(self, data: st.DataObject) -> None:
        starting = [node_id for node_id in sorted(self.nodes) if self.run.state(node_id) is NodeState.STARTING]
        node_id = data.draw(st.sampled_from(starting or sorted(self.nodes)))
        before = self.run.state(node_id)
        effects = self.run.up(node_id)
        assert (len(effects) == 1) == (before is NodeState.STARTING)
        self._check(effects)

    @precondition(lambda self: any(model.alive for model in self.nodes.values()))
    @rule(data=st.data(), end=EXITS, after=TIMES)
    def exit(self, data: st.DataObject, end: Exit, after: float) -> None:
        alive = sorted(node_id for node_id, model in self.nodes.items() if model.alive)
        node_id = data.draw(st.sampled_from(alive))
        effects = self.run.exit(node_id, end, after=after)
        assert effects[0] == ProcessEnded(node_id, self.nodes[node_id].incarnations[-1], end)
        self._check(effects)

    @rule(data=st.data(), end=EXITS)
    def old_news(self, data: st.DataObject, end: Exit) -> None:
        node_id = data.draw(st.sampled_from(sorted(self.nodes)))
        model = self.nodes[node_id]
        current = model.incarnations[-1] if model.incarnations else -1
        old = data.draw(st.integers(-1, current - 1 if model.alive else current))
        before = self.run.supervisor.snapshots()
        assert self.run.supervisor.exited(node_id, old, end, self.run.now) == ()
        if not model.alive or old != current:
            assert self.run.supervisor.up(node_id, old, self.run.now) == ()
        assert self.run.supervisor.snapshots() == before

    @rule(seconds=TIMES)
    def wait(self, seconds: float) -> None:
        until = self.run.now + seconds
        while (due := self.run.supervisor.next_due()) is not None and due <= until:
            self.run.now = max(self.run.now, due)
            effects = self.run.tick()
            assert spawned(effects), 'something was due'
            self._check(effects)
        self.run.now = until

    @rule()
    def tick(self) -> None:
        self._check(self.run.tick())

    @precondition(lambda self: any(model.incarnations for model in self.nodes.values()))
    @rule(data=st.data(), often=st.integers(0, 6))
    def stop(self, data: st.DataObject, often: int) -> None:
        """Stop, in one of seven cases, so that most runs get long before they end."""
        if often == 0:
            self._stop()
        elif self.stop_asked:
            assert self.run.stop() == []
        else:
            node_id = data.draw(st.sampled_from(sorted(self.nodes)))
            self.nodes[node_id].is_kept_down |= self.nodes[node_id].ended is None
            self._check(self.run.stop_node(node_id))

    @rule(data=st.data())
    def start_node(self, data: st.DataObject) -> None:
        self._operate(data, self.run.start_node)

    @rule(data=st.data())
    def restart_node(self, data: st.DataObject) -> None:
        self._operate(data, self.run.restart_node)

    @invariant()
    def states_agree(self) -> None:
        for node_id, shot in self.run.supervisor.snapshots().items():
            model = self.nodes[node_id]
            assert shot.state.has_process == model.alive
            assert (shot.state is NodeState.BACKOFF) == (model.announced is not None)
            assert shot.due == (model.due if model.announced is not None else None)
            assert (shot.state if shot.state.is_final else None) is model.ended
            assert shot.restarts == max(0, len(model.incarnations) - 1)
            assert set(self.run.supervisor.closed_inputs(node_id)) >= model.closed
        finals = all(shot.state.is_final for shot in self.run.supervisor.snapshots().values())
        assert self.run.supervisor.ended == finals

    @precondition(lambda self: not self.stop_asked)
    @invariant()
    def inputs_are_closed_exactly_when_nothing_more_can_come(self) -> None:
        for node_id, shot in self.run.supervisor.snapshots().items():
            ports = self.nodes[node_id].spec.inputs
            if self.flow.exit_when_nodes_finish:
                ports = tuple(port for port in ports if port.topic is not None)
            sources = [self.nodes.get(getattr(port.source, 'node', '')) for port in ports]
            over = [model is not None and model.ended is not None and not model.is_kept_down for model in sources]
            assert shot.inputs_closed == (bool(over) and all(over))

    def teardown(self) -> None:
        """Let the run end: afterwards nothing may be left open."""
        self._stop()
        for node_id, model in self.nodes.items():
            if model.alive:
                self._check(self.run.exit(node_id, CLEAN))
        assert self.run.wait(1e7) == []
        assert all(model.announced is None for model in self.nodes.values())
        assert self.ends == 1 + self.starts_after_end
        assert not any(model.alive for model in self.nodes.values())
        result = self.run.supervisor.result()
        assert sorted(f.node for f in result.failures) == sorted(
            node_id for node_id, model in self.nodes.items() if model.ended is NodeState.FAILED
        )
        consequences = [failure.consequence for failure in result.failures]
        assert consequences == sorted(consequences)

    def _operate(self, data: st.DataObject, action: Callable[[str], list[Effect]]) -> None:
        node_id = data.draw(st.sampled_from(sorted(self.nodes)))
        model = self.nodes[node_id]
        if model.ended is not None and not self.stop_asked:
            self.starts_after_end += self.run.supervisor.ended
            model.reset_budget()
            for other in self.nodes.values():
                other.closed -= _fed_by(other.spec, node_id)
        self._check(action(node_id))

    def _stop(self) -> None:
        self.stop_asked = True
        self._check(self.run.stop())

    def _check(self, effects: list[Effect]) -> None:
        for effect in effects:
            self.checks[type(effect)](effect)
        for asked in effects:
            if isinstance(asked, StopDataflow) and not self.stop_asked:
                self._stop()

    def _check_spawn(self, effect: Spawn) -> None:
        assert not self.stop_asked, 'spawn after a stop'
        model = self.nodes[effect.node]
        assert not model.alive, 'two incarnations at once'
        assert effect.incarnation == len(model.incarnations)
        model.incarnations.append(effect.incarnation)
        model.alive = True
        model.announced = None
        model.ended = None
        model.is_kept_down = False
        model.spawned_at = self.run.now
        model.up_at = None

    def _check_stop_process(self, effect: StopProcess) -> None:
        model = self.nodes[effect.node]
        assert model.alive
        assert effect.incarnation == model.incarnations[-1]

    def _check_process_ended(self, effect: ProcessEnded) -> None:
        model = self.nodes[effect.node]
        assert model.alive
        assert effect.incarnation == model.incarnations[-1]
        model.die(self.run.now)

    def _check_restart_announced(self, effect: RestartAnnounced) -> None:
        model = self.nodes[effect.node]
        assert model.announced is None, 'announced twice'
        assert not model.alive
        model.announced = effect
        model.due = self.run.now + effect.delay
        if effect.number == 0:
            assert effect.delay == 0.0
            return
        spec = model.spec.restart
        assert spec.policy is not RestartPolicy.NEVER
        assert (effect.number, effect.delay) == model.expect_restart(self.run.now)
        assert spec.max_restarts == 0 or effect.number <= spec.max_restarts

    def _check_restart_cancelled(self, effect: RestartCancelled) -> None:
        model = self.nodes[effect.node]
        assert model.announced is not None, 'cancelled what was not announced'
        model.announced = None

    def _check_gave_up(self, effect: GaveUp) -> None:
        model = self.nodes[effect.node]
        assert 0 < model.spec.restart.max_restarts == effect.restarts == len(model.window)

    def _check_node_up(self, effect: NodeUp) -> None:
        assert self.nodes[effect.node].alive
        self.nodes[effect.node].up_at = self.run.now
        consumers = {n for n, model in self.nodes.items() if _fed_by(model.spec, effect.node) and model.ended is None}
        assert Counter(effect.consumers) == Counter(consumers if effect.incarnation > 0 else ())

    def _check_node_ended(self, effect: NodeEnded) -> None:
        model = self.nodes[effect.node]
        assert not model.alive
        assert model.announced is None
        assert model.ended is None, 'ended twice'
        model.ended = effect.state

    def _check_node_failed(self, effect: NodeFailedNotice) -> None:
        assert self.nodes[effect.node].ended is NodeState.FAILED
        consumer = self.nodes[effect.consumer]
        assert set(effect.inputs) == _fed_by(consumer.spec, effect.node)
        assert not consumer.closed & set(effect.inputs), 'told after the inputs closed'

    def _check_input_closed(self, effect: InputClosedNotice) -> None:
        model = self.nodes[effect.consumer]
        assert model.ended is None, 'told to a node that has ended'
        assert effect.input not in model.closed, 'closed twice'
        model.closed.add(effect.input)

    def _check_all_inputs_closed(self, effect: AllInputsClosedNotice) -> None:
        model = self.nodes[effect.consumer]
        assert model.ended is None
        for port in model.spec.inputs:
            source = getattr(port.source, 'node', None)
            if source is None:
                assert port.topic is None
                assert self.flow.exit_when_nodes_finish
            else:
                assert self.nodes[source].ended is not None

    def _check_stop_dataflow(self, effect: StopDataflow) -> None:
        model = self.nodes[effect.node]
        assert model.ended is NodeState.FAILED
        assert model.spec.on_give_up is OnGiveUp.STOP_DATAFLOW

    def _check_dataflow_ended(self, _: DataflowEnded) -> None:
        assert all(model.ended is not None for model in self.nodes.values())
        self.ends += 1


def _fed_by(spec: NodeSpec, source: str) -> set[str]:
    return {port.id for port in spec.inputs if getattr(port.source, 'node', None) == source}


TestSupervision = Supervision.TestCase
TestSupervision.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
