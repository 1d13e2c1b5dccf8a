"""The pipe that tells of the end of a node's process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLDER = """
import os
import sys
import time
from adora_ros.node import lastsign

lastsign.hold(int(sys.argv[1]))
child = os.fork()
if child == 0:
    time.sleep(60.0)
print(child, sys.argv[1], *os.listdir('/proc/self/fd'), flush=True)
code = sys.stdin.readline()
os._exit(int(code))
"""
DEADLINE = 10.0


@contextmanager
def holder() -> Iterator[tuple[subprocess.Popen[str], int, list[str]]]:
    """Start a process that holds a pipe and has forked; give both, and what it says: its child, the pipe, its files."""
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, '-c', HOLDER, str(write)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[write],
        text=True,
    )
    os.close(write)
    assert process.stdout is not None
    said = process.stdout.readline().split()
    try:
        yield process, read, said
    finally:
        process.kill()
        os.kill(int(said[0]), signal.SIGKILL)
        process.communicate()
        os.close(read)


def ends(fd: int, timeout: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(timeout * 1000)) and os.read(fd, 1) == b''


@pytest.mark.parametrize('kill', [True, False])
def test_the_pipe_ends_with_the_process_and_not_with_what_it_has_forked(kill: bool) -> None:  # noqa: FBT001
    with holder() as (process, pipe, _):
        assert not ends(pipe, 0.0)
        if kill:
            process.kill()
        else:
            assert process.stdin is not None
            process.stdin.write('3\n')
            process.stdin.flush()
        assert ends(pipe, DEADLINE)
        assert process.wait(DEADLINE) == (-signal.SIGKILL if kill else 3)


def test_the_rest_of_the_process_does_not_have_the_pipe_and_keeps_its_own_files() -> None:
    with holder() as (_, _, (_, pipe, *files)):
        assert pipe not in files
        assert {'0', '1', '2'}.issubset(files)
