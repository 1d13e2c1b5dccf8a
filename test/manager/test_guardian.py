"""The guardian: it ends what a dead manager left behind, and cannot be got rid of."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adora_ros.manager import guardian
from adora_ros.manager.guard import Guard
from adora_ros.transport.contract import RUN_VARIABLE
from manager.harness import descriptors
from support import eventually, processes_with

if TYPE_CHECKING:
    from collections.abc import Iterator

GUARDIAN = [sys.executable, '-I', '-S', guardian.__file__]
SLEEP = 'import time; print("up", flush=True); time.sleep(60)'
STUBBORN = 'import signal; signal.signal(2, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN); ' + SLEEP


class Scene:
    """A run that has processes and a guardian, but no manager."""

    def __init__(self) -> None:
        self.run_id = uuid.uuid4().hex
        self.mark = f'{RUN_VARIABLE}={self.run_id}'
        self.processes: list[subprocess.Popen[bytes]] = []
        self.guardian = subprocess.Popen([*GUARDIAN, self.mark], stdin=subprocess.PIPE, start_new_session=True)
        self.processes.append(self.guardian)

    def node(self, script: str = SLEEP, *, marked: bool) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own."""
        env = {**os.environ, **({RUN_VARIABLE: self.run_id} if marked else {})}
        command = [sys.executable, '-I', '-S', '-c', script]
        node = subprocess.Popen(command, env=env, start_new_session=True, stdout=subprocess.PIPE)
        self.processes.append(node)
        assert node.stdout is not None
        assert node.stdout.readline() == b'up\n'
        return node

    def tell(self, *lines: str) -> None:
        """Write to the guardian."""
        assert self.guardian.stdin is not None
        self.guardian.stdin.write(''.join(f'{line}\n' for line in lines).encode())
        self.guardian.stdin.flush()

    def manager_dies(self) -> None:
        """Close the pipe."""
        assert self.guardian.stdin is not None
        self.guardian.stdin.close()

    def close(self) -> None:
        """End everything."""
        for process in self.processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()


def test_the_end_of_the_manager_ends_announced_groups_and_marked_processes(scene: Scene) -> None:
    grouped, stubborn = scene.node(marked=False), scene.node(STUBBORN, marked=False)
    marked = scene.node(marked=True)
    withdrawn, bystander = scene.node(marked=False), scene.node(marked=False)
    scene.tell(f'+{grouped.pid}', f'!{stubborn.pid}', f'+{withdrawn.pid}', f'-{withdrawn.pid}')
    begin = time.monotonic()
    scene.manager_dies()
    assert [node.wait(5.0) for node in (grouped, stubborn, marked)] == [-signal.SIGKILL] * 3
    assert time.monotonic() - begin < 2.0
    assert scene.guardian.wait(10.0) == 0
    assert (withdrawn.poll(), bystander.poll()) == (None, None)


def test_nodes_that_end_by_themselves_get_the_time_to(scene: Scene) -> None:
    polite = scene.node(f'try:\n    {SLEEP}\nexcept KeyboardInterrupt:\n    raise SystemExit(5)', marked=True)
    scene.tell(f'!{polite.pid}')
    scene.manager_dies()
    assert polite.wait(5.0) == 5
    assert scene.guardian.wait(10.0) == 0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_do_not_end_it(scene: Scene, number: signal.Signals) -> None:
    status = f'/proc/{scene.guardian.pid}/status'

    def ignores() -> bool:
        with open(status, encoding='ascii') as file:  # noqa: PTH123 - one of the kernel's
            mask = next(int(line.split()[1], 16) for line in file if line.startswith('SigIgn'))
        return bool(mask >> (number - 1) & 1)

    eventually(ignores)
    node = scene.node(marked=True)
    scene.guardian.send_signal(number)
    scene.manager_dies()
    assert node.wait(5.0) == -signal.SIGKILL
    assert scene.guardian.wait(10.0) == 0


def test_the_lines_are_read_in_order() -> None:
    assert guardian.groups_left([]) == {}
    assert guardian.groups_left(['+1', '!2', '-1', '+3', '-9', '-3', '!3']) == {2: True, 3: True}


def test_a_guardian_that_is_killed_is_replaced_and_told_everything() -> None:
    node = subprocess.Popen([sys.executable, '-I', '-S', '-c', SLEEP], start_new_session=True, stdout=subprocess.PIPE)
    run_id = uuid.uuid4().hex

    async def replaced() -> None:
        guard = Guard(run_id, asyncio.get_running_loop())
        guard.add(node.pid, interrupt=False)
        first = guard.pid
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(eventually, lambda: guard.pid != first)
        await guard.close()

    with node:
        asyncio.run(asyncio.wait_for(replaced(), 20.0))
        assert node.wait(5.0) == -signal.SIGKILL


def test_a_guardian_that_cannot_be_replaced_at_once_is_replaced_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('adora_ros.manager.guard.RETRY', 0.05)
    node = subprocess.Popen([sys.executable, '-I', '-S', '-c', SLEEP], start_new_session=True, stdout=subprocess.PIPE)

    async def replaced() -> None:
        guard = Guard(uuid.uuid4().hex, asyncio.get_running_loop())
        first = guard.pid
        with without_descriptors():
            await killed(guard)
            guard.add(node.pid, interrupt=False)
            assert guard.pid == first
        await asyncio.to_thread(eventually, lambda: guard.pid != first)
        await guard.close()
        assert node.wait(5.0) == -signal.SIGKILL

    async def closed() -> None:
        guard = Guard(uuid.uuid4().hex, asyncio.get_running_loop())
        with without_descriptors():
            await killed(guard)
            await guard.close()

    with node:
        asyncio.run(asyncio.wait_for(replaced(), 20.0))
    before = descriptors()
    asyncio.run(asyncio.wait_for(closed(), 20.0))
    assert descriptors() == before


async def killed(guard: Guard) -> None:
    """Kill a guardian, and wait until that has been noticed."""
    os.kill(guard.pid, signal.SIGKILL)
    await asyncio.to_thread(eventually, lambda: not Path(f'/proc/{guard.pid}').exists())


@contextlib.contextmanager
def without_descriptors() -> Iterator[None]:
    """Let this process open no file meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_closing_kills_what_is_marked_and_not_what_was_removed() -> None:
    run_id = uuid.uuid4().hex
    command = [sys.executable, '-I', '-S', '-c', SLEEP]
    env = {**os.environ, RUN_VARIABLE: run_id}
    escaped = subprocess.Popen(command, env=env, start_new_session=True, stdout=subprocess.PIPE)
    other = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)

    async def closed() -> None:
        guard = Guard(run_id, asyncio.get_running_loop())
        guard.add(other.pid, interrupt=True)
        guard.remove(other.pid)
        await guard.close()

    with escaped, other:
        eventually(lambda: processes_with(RUN_VARIABLE, run_id) == [escaped.pid])
        asyncio.run(asyncio.wait_for(closed(), 20.0))
        assert escaped.wait(5.0) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


def test_closing_does_not_wait_for_a_guardian_that_is_stopped() -> None:
    async def closed() -> int:
        guard = Guard(uuid.uuid4().hex, asyncio.get_running_loop())
        os.kill(guard.pid, signal.SIGSTOP)
        await guard.close(timeout=0.2)
        return guard.pid

    pid = asyncio.run(asyncio.wait_for(closed(), 20.0))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
