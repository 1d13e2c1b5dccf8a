"""Coordinators and simulated managers in processes of their own, and a client that looks at the store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from adora_ros.transport.dds import PROFILE_VARIABLES
from spinning import LATCHED, SpinningNode
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
COORDINATOR = (sys.executable, '-m', 'adora_ros.cli.coordinator')
SIMULATED = Path(__file__).with_name('simulated.py')
DEADLINE = 40.0
"""Seconds for anything that takes a moment on a busy machine."""
ATTEMPT = 0.25
"""Seconds after which a question is asked again, at first: one to a server that was killed is never answered."""
LONGEST_ATTEMPT = 4.0


def without_profile() -> dict[str, str]:
    """Return the environment for what chooses a profile for DDS itself."""
    return {name: value for name, value in os.environ.items() if name not in PROFILE_VARIABLES}


class Process:
    """A process whose output goes to a file."""

    def __init__(self, log: Path, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._log = log
        with log.open('w') as file:
            self.process = subprocess.Popen(
                command,
                env={**env, 'PYTHONPATH': str(ROOT), 'PYTHONUNBUFFERED': '1'},
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )

    @property
    def text(self) -> str:
        """What it has printed."""
        return self._log.read_text(encoding='utf-8')

    def says(self, text: str) -> None:
        """Wait until it has printed a text."""

        def said() -> bool:
            there = text in self.text
            assert there or self.process.poll() is None, f'ended with {self.process.returncode}: {self.text}'
            return there

        eventually(said, DEADLINE, f'{text!r} in {self._log}')

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.send(number)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        """Kill what is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()


class Manager(Process):
    """A simulated manager."""

    def step(self, status: str, error: str = '') -> Manager:
        """Let it make a step, and wait until it has reported that."""
        count = self.text.count(f'{status}\n')
        assert self.process.stdin is not None
        self.process.stdin.write(f'{status} {error}\n')
        self.process.stdin.flush()
        eventually(lambda: self.text.count(f'{status}\n') > count, DEADLINE, f'{status} in {self.text}')
        return self

    def leave(self) -> int:
        """Let it end as it should, and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE)


class Coordinators:
    """Starts coordinators over one database, and managers that report to them.

    Args:
        folder: Where the database and the logs are.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / 'coordinator.db'
        self._started: list[Process] = []

    def start(self, *arguments: str, store: str | None = None, **parameters: float) -> Process:
        """Start a coordinator and wait until it is ready."""
        ros = [part for name, value in parameters.items() for part in ('-p', f'{name}:={value:.3f}')]
        store = store or f'sqlite:{self.database}'
        command = [*COORDINATOR, '--store', store, *arguments, *(['--ros-args', *ros] if ros else [])]
        process = Process(self._log('coordinator'), command, without_profile())
        self._started.append(process)
        process.says('coordinator ready')
        return process

    def manager(
        self,
        run: str,
        *,
        dataflow: str = 'flow',
        machine: str = 'A',
        period: float = 0.5,
        descriptor: str = '{"nodes":[]}',
    ) -> Manager:
        """Start a simulated manager."""
        command = [sys.executable, str(SIMULATED), dataflow, run, machine, str(period), descriptor]
        process = Manager(self._log(f'manager_{run}'), command, os.environ)
        self._started.append(process)
        return process

    def close(self) -> None:
        """End all that is left."""
        for process in self._started:
            process.close()

    def _log(self, name: str) -> Path:
        return self.folder / f'{name}_{len(self._started)}.log'


class Client(SpinningNode):
    """A plain rclpy node with clients for the parameters of the store."""

    def __init__(self, domain: int) -> None:
        super().__init__('client', domain)
        self.events: list[dict[str, str]] = []
        self.note = ''
        self.node.create_subscription(DiagnosticArray, '/adora/events', self._on_event, LATCHED)
        self.parameters = AsyncParameterClient(self.node, '/adora/store')

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the parameter client until it is answered, and return the response."""
        attempt = ATTEMPT

        def answered() -> Any:
            nonlocal attempt
            assert self.parameters.services_are_ready(), 'the store is not there'
            future = getattr(self.parameters, method)(*arguments)
            patience, attempt = attempt, min(2 * attempt, LONGEST_ATTEMPT)
            eventually(future.done, patience, method)
            return future.result()

        return eventually(answered, DEADLINE, method)

    def values(self, prefix: str) -> dict[str, Any]:
        """Return all parameters below a prefix, by the rest of their names."""
        names = self.ask('list_parameters', [prefix], 0).result.names
        values = self.ask('get_parameters', names).values if names else []
        return {
            name[len(prefix) + 1 :]: parameter_value_to_python(value) for name, value in zip(names, values, strict=True)
        }

    def waits_for(self, prefix: str, **expected: Any) -> dict[str, Any]:
        """Wait until parameters below a prefix have certain values, and return all of them."""

        def found() -> dict[str, Any]:
            values = self.values(prefix)
            assert {name: values.get(name) for name in expected} == expected, values
            return values

        return eventually(found, DEADLINE, f'{prefix} {expected}')

    def write(self, prefix: str, **values: Any) -> str:
        """Set parameters below a prefix atomically; return why that was refused, empty if it was not.

        The question is asked once: it is not one that could be asked again.
        """
        self.ask('get_parameters', [])  # since a request to a coordinator that was killed is never answered
        made = [Parameter(f'{prefix}.{name}', value=value) for name, value in values.items()]
        future = self.parameters.set_parameters_atomically(made)
        eventually(future.done, DEADLINE, f'setting {prefix}')
        response: Any = future.result()
        result = response.result
        self.note = str(result.reason)
        return '' if result.successful else self.note

    def states(self, run: str) -> list[str]:
        """Return the states of a dataflow that were published as events."""
        return [event['status'] for event in list(self.events) if event.get('uuid') == run]

    def _on_event(self, message: Any) -> None:
        for status in message.status:
            self.events.append({**{pair.key: pair.value for pair in status.values}, 'text': status.message})
