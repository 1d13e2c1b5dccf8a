"""Three hosts on one machine: network namespaces with a cable each to a switch, and what runs on them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordinator.harness import DEADLINE, Process, without_profile
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

COORDINATOR = (sys.executable, '-m', 'adora_ros.cli.coordinator')
MANAGER = (sys.executable, '-m', 'adora_ros.cli.manager')
DESK = Path(__file__).with_name('desk.py')
CABLE = Path(__file__).with_name('cable.py')
PERIOD = 0.5
"""Seconds between two heartbeats."""
THRESHOLD = 2.5
"""Seconds of silence after which a machine is gone."""
SEED = 5
"""Of the chance by which a bad cable loses frames."""


def ip(*arguments: str, namespace: str = '') -> None:
    """Run ``ip``, in a network namespace if one is given."""
    where = ('-n', namespace) if namespace else ()
    subprocess.run(['ip', *where, *arguments], check=True, capture_output=True, timeout=DEADLINE)


def ask(process: Process, question: str) -> str:
    """Return the line with which a process answers one on its standard input."""
    stdin = process.process.stdin
    assert stdin is not None
    before = len(process.text.splitlines())
    stdin.write(question + '\n')
    stdin.flush()
    return eventually(lambda: process.text.splitlines()[before:], DEADLINE, question)[-1]


def why_not() -> str:
    """Return why hosts cannot be made here; empty if they can."""
    if shutil.which('ip') is None:
        return 'there is no `ip` (iproute2)'
    name = f'adora{os.getpid()}x'
    try:
        ip('netns', 'add', name)
        try:
            ip('link', 'add', 'br0', 'type', 'bridge', namespace=name)
            ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1', namespace=name)
        finally:
            ip('netns', 'del', name)
    except subprocess.CalledProcessError as error:
        return f'network namespaces cannot be made: {error.stderr.decode().strip()}'
    return ''


class BadCable:
    """A cable that loses frames, in the place of a good one.

    Args:
        host: The host whose cable it is.
        switch: The network namespace of the switch.
        port: The port of the switch that the host's cable is at.

    """

    def __init__(self, host: Host, switch: str, port: str) -> None:
        near, far = f'near{host.name}', f'far{host.name}'
        ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, namespace=switch)
        ip('link', 'set', far, 'master', 'br0', 'up', namespace=switch)
        ip('link', 'set', near, 'up', namespace=switch)
        ip('link', 'set', port, 'nomaster', namespace=switch)
        command = ['ip', 'netns', 'exec', switch, sys.executable, str(CABLE), port, near, str(SEED)]
        self._process = Process(host.folder / 'cable.txt', command, without_profile())

    def loses(self, share: float) -> tuple[int, int]:
        """Let it lose a share of the frames from now on; return how many were carried and lost before."""
        carried, lost = ask(self._process, f'{share}').split()
        return int(carried), int(lost)

    def close(self) -> None:
        """Take it away."""
        self._process.close()


class Host:
    """A host: a network namespace, a folder for its files, and the processes in it."""

    def __init__(self, network: Network, name: str, number: int) -> None:
        self.name = name
        self.folder = network.folder / name
        self.folder.mkdir()
        self._switch = network.switch
        self._port = f'port{name}'
        self._namespace = f'{network.switch}{name}'
        self._started: list[Process | BadCable] = []
        self.env: dict[str, str] = {}
        """Variables for what is started there, beside those that every host has."""
        ip('netns', 'add', self._namespace)
        ip('link', 'set', 'lo', 'up', namespace=self._namespace)
        ip(
            *('link', 'add', self._port, 'type', 'veth'),
            *('peer', 'name', 'eth0', 'netns', self._namespace),
            namespace=self._switch,
        )
        ip('link', 'set', self._port, 'master', 'br0', 'up', namespace=self._switch)
        self.address = f'10.77.0.{number}'
        ip('addr', 'add', f'{self.address}/24', 'dev', 'eth0', namespace=self._namespace)
        ip('link', 'set', 'eth0', 'up', namespace=self._namespace)
        ip('route', 'add', '224.0.0.0/4', 'dev', 'eth0', namespace=self._namespace)

    def run(self, name: str, command: Sequence[str]) -> Process:
        """Start a process on the host, in its folder."""
        env = {
            **without_profile(),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET',
            'ROS_LOG_DIR': str(self.folder / 'log'),
            'PWD': str(self.folder),
            **self.env,
        }
        process = Process(self.folder / f'{name}.txt', ['ip', 'netns', 'exec', self._namespace, *command], env)
        self._started.append(process)
        return process

    def wait_for_work(self, machine: str = '') -> Process:
        """Start a manager that waits; the machine is called as the host unless it is given a name."""
        ros = ('--ros-args', '-p', f'heartbeat_period:={PERIOD}')
        return self.run('waiting', [*MANAGER, '--machine', machine or self.name, *ros])

    def bad_cable(self) -> BadCable:
        """Put a cable that loses frames, and none at first, in the place of a good one."""
        cable = BadCable(self, self._switch, self._port)
        self._started.append(cable)
        return cable

    def without_multicast(self) -> None:
        """Let nothing find the host that does not know its address."""
        ip('route', 'del', '224.0.0.0/4', namespace=self._namespace)
        ip('link', 'set', 'eth0', 'multicast', 'off', namespace=self._namespace)

    def pull_cable(self) -> None:
        """Cut the host off."""
        ip('link', 'set', self._port, 'down', namespace=self._switch)

    def plug_cable(self) -> None:
        """Connect it again."""
        ip('link', 'set', self._port, 'up', namespace=self._switch)

    def pids(self) -> list[int]:
        """Return the process ids of all that runs on the host."""
        done = subprocess.run(
            ['ip', 'netns', 'pids', self._namespace], check=True, capture_output=True, text=True, timeout=DEADLINE
        )
        return [int(line) for line in done.stdout.split()]

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to all that runs on the host."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def has_noted(self, text: str, log: str = 'manager') -> None:
        """Wait until the log of a node, or of the manager itself, has a text on this host."""

        def noted() -> bool:
            return any(text in file.read_text() for file in self.folder.glob(f'log/*/*/{log}.log'))

        eventually(noted, DEADLINE, f'{text!r} on {self.name}')

    def close(self) -> None:
        """End all that runs on the host, and the host."""
        self.signal_all(signal.SIGCONT)
        self.signal_all(signal.SIGKILL)
        for process in self._started:
            process.close()
        eventually(lambda: not self.pids(), DEADLINE, 'the processes of the host are gone')
        ip('netns', 'del', self._namespace)


class Network:
    """A switch and the hosts A, B and C.

    Args:
        folder: Where their files are.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.switch = f'adora{os.getpid()}'
        self.hosts: dict[str, Host] = {}
        ip('netns', 'add', self.switch)
        ip('link', 'add', 'br0', 'type', 'bridge', 'mcast_snooping', '0', namespace=self.switch)
        ip('link', 'set', 'br0', 'up', namespace=self.switch)
        for number, name in enumerate('ABC', start=1):
            self.hosts[name] = Host(self, name, number)

    def close(self) -> None:
        """Take everything down."""
        for host in self.hosts.values():
            host.close()
        ip('netns', 'del', self.switch)


class Desk:
    """Somebody on a host who asks the coordinator."""

    def __init__(self, host: Host) -> None:
        self._process = host.run('desk', [sys.executable, str(DESK)])
        self._host = host

    def ask(self, question: str) -> Any:
        """Return the answer to a question, or the text of the error."""
        reply = json.loads(ask(self._process, question))
        return reply.get('answer', reply.get('error'))

    def dataflow(self, run: str) -> dict[str, Any]:
        """Return what the coordinator knows of a run."""
        found = [each for each in self.ask('overview')['dataflows'] if each['uuid'] == run]
        return dict(found[0])

    def waits_for(self, run: str, status: str) -> dict[str, Any]:
        """Wait until a run is in a state."""

        def found() -> dict[str, Any]:
            info = self.dataflow(run)
            assert info['status'] == status, info
            return info

        return eventually(found, DEADLINE)

    def machines(self) -> dict[str, str]:
        """Return whether each machine is heard of."""
        return {each['id']: each['status'] for each in self.ask('overview')['machines']}
