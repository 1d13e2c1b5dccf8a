"""Runs small scripts, warm and cold."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adora_ros.manager.processes import Command, PosixProcesses
from adora_ros.manager.warm import WarmStarts
from adora_ros.warm.environment import script_environment
from adora_ros.warm.process import begin

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from pathlib import Path

    from adora_ros.manager.processes import PosixChild

KINDS = ('cold', 'warm')
DEADLINE = 60.0


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a script ended."""

    pid: int
    code: int
    out: str
    err: str


class Starter:
    """Starts scripts both ways, from one warm process.

    Args:
        folder: Where the scripts go.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self.warm = WarmStarts(begin())
        self._loop = asyncio.new_event_loop()
        self._do(self._attach())

    async def _attach(self) -> None:
        self.warm.attach(self.told.append)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(work, DEADLINE))

    def write(self, script: str, name: str = 'script.py') -> Path:
        """Write a script."""
        file = self.folder / name
        file.write_text(textwrap.dedent(script), encoding='utf-8')
        return file

    def command(self, file: Path, *arguments: str, env: Mapping[str, str] | None = None, **keys: Any) -> Command:
        """Return the command for a script."""
        full = script_environment({**os.environ, **(env or {})})
        argv = (sys.executable, str(file), *arguments)
        return Command(argv=argv, env=full, **{'cwd': self.folder, **keys})

    def start(self, kind: str, command: Command) -> PosixChild:
        """Start a script."""
        if kind == 'cold':
            return PosixProcesses().spawn(command)
        child: PosixChild = self._do(self.warm.spawn(command))
        return child

    def start_many(self, commands: Sequence[Command]) -> list[PosixChild]:
        """Start scripts warm, all at once."""

        async def start() -> list[PosixChild]:
            return await asyncio.gather(*map(self.warm.spawn, commands))

        children: list[PosixChild] = self._do(start())
        return children

    def turn(self, seconds: float) -> None:
        """Let the event loop turn for a moment."""
        self._do(asyncio.sleep(seconds))

    def run(self, kind: str, script: str | Path, *arguments: str, **keys: Any) -> Ended:
        """Run a script to its end."""
        file = self.write(script) if isinstance(script, str) else script
        return ended(self.start(kind, self.command(file, *arguments, **keys)))

    def close(self) -> None:
        """End the warm process."""

        async def close() -> None:
            self.warm.close()

        self._do(close())
        self._loop.close()


def ended(child: PosixChild) -> Ended:
    """Wait for the end of a process and of its output."""
    texts = dict.fromkeys(child.outputs, b'')
    left = set(child.outputs)
    while left:
        ready = select.select([*left], [], [], DEADLINE)[0]
        assert ready, 'no end of the output'
        for fd in ready:
            chunk = os.read(fd, 65536)
            texts[fd] += chunk
            if not chunk:
                left.discard(fd)
    assert select.select([child.pidfd], [], [], DEADLINE)[0], 'no exit'
    for fd in child.outputs:
        os.close(fd)
    out, err = (texts[fd].decode() for fd in child.outputs)
    return Ended(pid=child.pid, code=child.reap(), out=out, err=err)
