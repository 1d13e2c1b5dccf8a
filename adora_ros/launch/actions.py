"""Launch actions."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from launch import Substitution
from launch.actions import ExecuteProcess
from launch.frontend import expose_action
from launch.substitutions import LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch.utilities.type_utils import normalize_typed_substitution, perform_typed_substitution

from adora_ros.launch.events import DataflowEvent, DataflowFinished, InputClosed, NodeFailed, NodeRestarted
from adora_ros.launch.programs import program
from adora_ros.launch.stream import EventServer, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch import LaunchContext, LaunchDescriptionEntity, SomeSubstitutionsType
    from launch.frontend import Entity, Parser

EXECUTABLE = 'manager'
DEFAULT_LADDER = 15.0
"""Seconds that the stop of a dataflow takes at most, as long as its manager has not said otherwise."""
MANAGER_MARGIN = 10.0
"""Seconds that the manager gets beyond the stop of its dataflow."""
SIGKILL_TIMEOUT = 10.0
"""Seconds from SIGTERM to SIGKILL for a manager that does not end."""
DRAIN = 2.0
"""Seconds after the end of the manager's process for its last events to be read."""
INTERRUPTED = {0, 130, 143}
"""Exit codes of a manager whose nodes all went well, or were stopped before one could fail."""
_TEXTS = ('name', 'machine', 'namespace', 'log_level')
_FLAGS = ('use_sim_time', 'autostart')
_TIMEOUTS = ('sigterm_timeout', 'sigkill_timeout')
_NOT_OURS = ['cmd', 'name', 'shell', 'respawn', 'respawn_max_retries', 'respawn_delay', *_TIMEOUTS]


@expose_action('dataflow')
class Dataflow(ExecuteProcess):  # type: ignore[misc]
    """Runs a dataflow under a manager of its own until it ends or launch shuts down.

    Emits the events of :mod:`adora_ros.launch.events` besides those of a process. When launch shuts down, or is killed,
    the nodes are stopped in order. When a node fails launch goes on, and exits with a code other than 0 at its end.
    """

    def __init__(  # noqa: PLR0913 - each is an attribute of <dataflow>
        self,
        *,
        file: SomeSubstitutionsType,
        name: SomeSubstitutionsType = '',
        machine: SomeSubstitutionsType = '',
        namespace: SomeSubstitutionsType = '',
        use_sim_time: bool | SomeSubstitutionsType = False,
        log_level: SomeSubstitutionsType = '',
        autostart: bool | SomeSubstitutionsType = True,
        sigterm_timeout: SomeSubstitutionsType | None = None,
        sigkill_timeout: SomeSubstitutionsType | None = None,
        **kwargs: Any,
    ) -> None:
        """Prepare the action; an empty text stands for the default.

        Args:
            file: The dataflow, a YAML file.
            name: Name of the dataflow; by default the file's stem.
            machine: Name of this machine in ``deploy.machine``.
            namespace: ROS namespace above that of the dataflow, which is its name.
            use_sim_time: Whether the nodes take their ROS time from ``/clock``.
            log_level: ``debug``, ``info``, ``warn``, ``error`` or ``fatal``, for the manager; ``debug`` also shows its
                events of that level.
            autostart: Whether to start at once; else the manager waits, unconfigured, to be driven by its lifecycle
                services.
            sigterm_timeout: Seconds from the shutdown to SIGTERM for the manager; by default the launch configuration
                of that name, else longer than the stop of the dataflow can take.
            sigkill_timeout: Seconds from SIGTERM to SIGKILL for the manager; by default the launch configuration of
                that name, else 10.
            kwargs: As for :class:`launch.actions.ExecuteProcess`; ``output`` is ``screen`` by default.

        """
        self.ladder = DEFAULT_LADDER
        """Seconds that the stop of the dataflow takes at most."""
        self._file = normalize_to_list_of_substitutions(file)
        given = {'name': name, 'machine': machine, 'namespace': namespace, 'log_level': log_level}
        self._texts = {key: normalize_to_list_of_substitutions(value) for key, value in given.items()}
        self._use_sim_time = _flag(use_sim_time)
        self._autostart = _flag(autostart)
        self._path = ''
        self._error = ''
        self._finished: asyncio.Future[None] | None = None
        super().__init__(
            cmd=[],
            name=EXECUTABLE,
            sigterm_timeout=[_Timeout('sigterm_timeout', sigterm_timeout, lambda: self.ladder + MANAGER_MARGIN)],
            sigkill_timeout=[_Timeout('sigkill_timeout', sigkill_timeout, lambda: SIGKILL_TIMEOUT)],
            **{'output': 'screen', **kwargs},
        )

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> tuple[type[Dataflow], dict[str, Any]]:
        """Read a ``<dataflow>``; its attributes are the arguments of the constructor."""
        _, kwargs = super().parse(entity, parser, ignore=_NOT_OURS)
        kwargs['file'] = parser.parse_substitution(entity.get_attr('file'))
        for key in (*_TEXTS, *_TIMEOUTS):
            text = entity.get_attr(key, optional=True)
            if text is not None:
                kwargs[key] = parser.parse_substitution(text)
        for key in _FLAGS:
            flag = entity.get_attr(key, data_type=bool, optional=True)
            if flag is not None:
                kwargs[key] = parser.parse_if_substitutions(flag)
        return cls, kwargs

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        """Start the manager."""
        self._server = EventServer(lambda record: self._take(record, context))
        command = [*program(EXECUTABLE), *self._arguments(context), '--events', self._server.address]
        self.cmd.extend(normalize_to_list_of_substitutions(argument) for argument in command)
        entities: list[LaunchDescriptionEntity] | None = super().execute(context)
        ended = super().get_asyncio_future()
        if ended is None:
            self._server.close()
        else:
            self._finished = context.asyncio_loop.create_future()
            self._attending = context.asyncio_loop.create_task(self._attend(ended, self._finished, context))
        return entities

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return what is done once the manager has ended and its last event has been emitted."""
        return self._finished

    def _arguments(self, context: LaunchContext) -> Iterator[str]:
        self._path = perform_substitutions(context, self._file)
        yield from ('--dataflow', self._path)
        texts = {key: perform_substitutions(context, value) for key, value in self._texts.items()}
        level = texts.pop('log_level')
        for key, text in texts.items():
            if text:
                yield from (f'--{key}', text)
        if perform_typed_substitution(context, self._use_sim_time, bool):
            yield '--use-sim-time'
        if not perform_typed_substitution(context, self._autostart, bool):
            yield '--no-autostart'
        if level.lower() == 'debug':
            yield '--verbose'
        if level:
            yield from ('--ros-args', '--log-level', level, '--')

    def _shutdown_process(self, context: LaunchContext, *, send_sigint: bool) -> Any:
        """Stop through the event stream: a second SIGINT beside that of the terminal would cut the stop short."""
        del send_sigint
        self._server.stop()
        return super()._shutdown_process(context, send_sigint=False)

    async def _attend(
        self, ended: asyncio.Future[None], finished: asyncio.Future[None], context: LaunchContext
    ) -> None:
        """Emit what happens until the manager has ended, then what became of it."""
        serving = context.asyncio_loop.create_task(self._server.serve())
        try:
            await ended
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(serving, DRAIN)
            self._finish(context)
        finally:
            serving.cancel()
            self._server.close()
            finished.set_result(None)

    def _finish(self, context: LaunchContext) -> None:
        code = self.return_code
        failed = code not in INTERRUPTED
        reason = self._error or f'its manager ended with {code}'
        text = f'dataflow {self._path} failed: {reason}' if failed else f'dataflow {self._path} finished'
        context.emit_event_sync(DataflowFinished(action=self, text=text, return_code=code, error=self._error))
        if failed:
            # LaunchService exits with 1 after an error on its loop, and does not shut down because of it.
            context.asyncio_loop.call_exception_handler({'message': text})

    def _take(self, record: Record, context: LaunchContext) -> None:
        kind, details = record['kind'], record['details']
        if kind == 'DATAFLOW_STARTING':
            self.ladder = float(details['stop_within'])
            self._error = ''
        elif kind == 'DATAFLOW_ENDED':
            self._error = details['error']
        for event in _events(self, record):
            context.emit_event_sync(event)


def _events(action: Dataflow, record: Record) -> Iterator[DataflowEvent]:
    """Yield what launch is told of an event of the manager."""
    kind, details = record['kind'], record['details']
    about = {'action': action, 'node': record['node'], 'text': record['text']}
    if kind == 'NODE_RESTARTED':
        yield NodeRestarted(**about, incarnation=record['incarnation'])
    elif kind == 'NODE_ENDED' and details['state'] == 'failed':
        yield NodeFailed(**about, error=details['reason'])
    elif kind == 'INPUT_CLOSED':
        yield InputClosed(**about, input_id=details['input'], source=details['source'])


def _flag(value: bool | SomeSubstitutionsType) -> Any:  # noqa: FBT001 - it is data
    """Return what :func:`perform_typed_substitution` takes for a yes or no, which may be given as text."""
    return normalize_typed_substitution(
        value if isinstance(value, bool) else normalize_to_list_of_substitutions(value), bool
    )


class _Timeout(Substitution):  # type: ignore[misc]
    """Seconds that are known late: as given, else as configured, else by a rule."""

    def __init__(self, name: str, given: SomeSubstitutionsType | None, rule: Any) -> None:
        super().__init__()
        self._given = normalize_to_list_of_substitutions('' if given is None else given)
        self._configured = LaunchConfiguration(name, default='')
        self._rule = rule

    def describe(self) -> str:
        """Return what it is."""
        return 'longer than the dataflow takes to stop'

    def perform(self, context: LaunchContext) -> str:
        """Return the seconds."""
        given = perform_substitutions(context, self._given) or perform_substitutions(context, [self._configured])
        return given or str(self._rule())
