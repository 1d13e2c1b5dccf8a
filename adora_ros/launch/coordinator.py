"""The coordinator as a launch action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from launch.actions import ExecuteProcess
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from adora_ros.launch.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch import LaunchContext, LaunchDescriptionEntity, SomeSubstitutionsType

EXECUTABLE = 'coordinator'
LINGER = 30.0
"""Seconds that a coordinator waits, when launch shuts down, for the dataflows beside it to end."""
MARGIN = 10.0
"""Seconds that it gets beyond that until SIGTERM, and from there to SIGKILL."""
_OPTIONS = ('store', 'recovery')
_PARAMETERS = ('machine_timeout', 'recovery_timeout')


class Coordinator(ExecuteProcess):  # type: ignore[misc]
    """Runs a coordinator until launch shuts down; the dataflows beside it are recorded to their end."""

    def __init__(
        self,
        *,
        store: SomeSubstitutionsType = '',
        recovery: SomeSubstitutionsType = '',
        machine_timeout: SomeSubstitutionsType = '',
        recovery_timeout: SomeSubstitutionsType = '',
        log_level: SomeSubstitutionsType = '',
        **kwargs: Any,
    ) -> None:
        """Prepare the action; an empty text stands for the default.

        Args:
            store: ``memory``, ``sqlite`` or ``sqlite:PATH``.
            recovery: ``adopt`` or ``fail``, for the dataflows that were not final when the last coordinator ended.
            machine_timeout: Seconds of silence after which a machine is gone.
            recovery_timeout: Seconds that managers have to report to a coordinator that was restarted.
            log_level: ``debug``, ``info``, ``warn``, ``error`` or ``fatal``.
            kwargs: As for :class:`launch.actions.ExecuteProcess`; ``output`` is ``screen`` by default.

        """
        given = {
            'store': store,
            'recovery': recovery,
            'machine_timeout': machine_timeout,
            'recovery_timeout': recovery_timeout,
            'log_level': log_level,
        }
        self._texts = {key: normalize_to_list_of_substitutions(value) for key, value in given.items()}
        timeouts = {'sigterm_timeout': str(LINGER + MARGIN), 'sigkill_timeout': str(MARGIN)}
        super().__init__(cmd=[], name=EXECUTABLE, **{'output': 'screen', **timeouts, **kwargs})

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        """Start the coordinator."""
        command = [*program(EXECUTABLE), *self._arguments(context)]
        self.cmd.extend(normalize_to_list_of_substitutions(argument) for argument in command)
        entities: list[LaunchDescriptionEntity] | None = super().execute(context)
        return entities

    def _shutdown_process(self, context: LaunchContext, *, send_sigint: bool) -> Any:
        """Send SIGINT in any case: a signal to launch alone has not reached the coordinator."""
        del send_sigint
        return super()._shutdown_process(context, send_sigint=True)

    def _arguments(self, context: LaunchContext) -> Iterator[str]:
        texts = {key: perform_substitutions(context, value) for key, value in self._texts.items()}
        for key in _OPTIONS:
            if texts[key]:
                yield from (f'--{key}', texts[key])
        yield from ('--linger', f'{LINGER:g}')
        yield '--ros-args'
        for key in _PARAMETERS:
            if texts[key]:
                yield from ('-p', f'{key}:={_decimal(texts[key])}')
        if texts['log_level']:
            yield from ('--log-level', texts['log_level'])


def _decimal(text: str) -> str:
    """Return a number as one that ROS takes for a double, which a whole one is not."""
    return f'{text}.0' if text.isdigit() else text
