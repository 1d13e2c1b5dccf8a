"""Keeps the guardian process that ends the nodes of a manager that died."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.transport.contract import RUN_VARIABLE

if TYPE_CHECKING:
    import asyncio

RETRY = 1.0
"""Seconds after which a guardian that could not be started is started again."""
_SCRIPT = Path(__file__).with_name('guardian.py')


class Guard:
    """Starts the guardian, tells it of process groups, and replaces it if it dies."""

    def __init__(self, mark: str, loop: asyncio.AbstractEventLoop, folder: Path | None = None) -> None:
        """Start the guardian.

        Args:
            mark: What :data:`RUN_VARIABLE` is set to in the processes of the run.
            loop: The event loop.
            folder: Removed with the files in it when the manager is gone.

        """
        self._arguments = [f'{RUN_VARIABLE}={mark}', *([] if folder is None else [str(folder)])]
        self._loop = loop
        self._groups: dict[int, bool] = {}
        self._retry: asyncio.TimerHandle | None = None
        self._start()

    @property
    def pid(self) -> int:
        """Process id of the guardian."""
        return self._process.pid

    def add(self, group: int, *, interrupt: bool) -> None:
        """Have a process group ended if the manager dies.

        Args:
            group: The process group.
            interrupt: Whether SIGINT has to tell it; a process that uses the Node API notices by itself.

        """
        self._groups[group] = interrupt
        self._announce(group)

    def remove(self, group: int) -> None:
        """Forget a process group that is gone."""
        self._groups.pop(group, None)
        self._write(f'-{group}\n')

    async def close(self, timeout: float = 6.0) -> None:
        """Let the guardian look once more for what is left of the run, and wait for its end.

        One that has not ended after ``timeout`` seconds is killed.
        """
        if self._retry is not None:
            self._retry.cancel()
            return
        self._let_go()
        try:
            await self._loop.run_in_executor(None, self._process.wait, timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        with contextlib.ExitStack() as undo:
            read, write = os.pipe2(os.O_CLOEXEC)
            undo.callback(os.close, write)
            try:
                process = subprocess.Popen(
                    [sys.executable, '-I', '-S', str(_SCRIPT), *self._arguments],
                    stdin=read,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd='/',
                    env={},
                )
            finally:
                os.close(read)
            undo.callback(process.wait)
            undo.callback(process.kill)
            self._pidfd = os.pidfd_open(process.pid)
            undo.pop_all()
        os.set_blocking(write, False)
        self._pipe, self._process = write, process
        self._loop.add_reader(self._pidfd, self._restart)
        for group in self._groups:
            self._announce(group)

    def _let_go(self) -> None:
        """Close the guardian's pipe, which lets it end, and no longer wait for its end."""
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        os.close(self._pipe)

    def _announce(self, group: int) -> None:
        self._write(f'{"!" if self._groups[group] else "+"}{group}\n')

    def _restart(self) -> None:
        """Replace a guardian that has died."""
        self._let_go()
        self._process.wait()
        self._start_again()

    def _start_again(self) -> None:
        """Start a guardian; where there is no file descriptor or process left for it, try again later."""
        self._retry = None
        try:
            self._start()
        except OSError:
            self._retry = self._loop.call_later(RETRY, self._start_again)

    def _write(self, line: str) -> None:
        """Tell the guardian; one that has just died is told everything by its replacement."""
        if self._retry is None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, line.encode())
