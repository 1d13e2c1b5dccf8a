"""Processes of nodes: spawning, signalling whole groups, learning of an exit, finding what escaped.

Every system call on a process that the manager makes is in here, behind :class:`Processes`, so that a test can replace
them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adora_ros.errors import SpawnError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


@dataclass(frozen=True, kw_only=True)
class Command:
    """What to start.

    Attributes:
        argv: Program and arguments.
        env: The complete environment.
        cwd: Working directory.
        pass_fds: File descriptors that the process inherits under the same numbers.
        cpu_affinity: CPUs that it may run on; empty for all.

    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    pass_fds: tuple[int, ...] = ()
    cpu_affinity: tuple[int, ...] = ()


class Child(Protocol):
    """A process that the manager started: leader of its own session and process group."""

    @property
    def pid(self) -> int:
        """Process id, process-group id and session id."""

    @property
    def pidfd(self) -> int:
        """File descriptor that becomes readable when the process ends."""

    @property
    def outputs(self) -> tuple[int, int]:
        """Read ends of standard output and standard error; whoever takes them closes them."""

    @property
    def is_warm(self) -> bool:
        """Whether it was forked from a warm process."""

    def failure(self) -> int | None:
        """Return the exit code, negative for a signal, of a process that is ending, if it is known and not 0."""

    def reap(self) -> int:
        """Return the exit code, negative for a signal, of a process whose pidfd is readable; closes the pidfd."""

    def signal_group(self, number: int) -> None:
        """Send a signal to what is left of the group."""

    def group_is_gone(self) -> bool:
        """Return whether no process of the group is left, zombies aside."""


class Processes(Protocol):
    """Starts processes and finds what is left of them."""

    def spawn(self, command: Command) -> Child:
        """Start a process.

        Raises:
            SpawnError: it cannot be started; the text says why.

        """

    def marked(self, marks: Mapping[str, str]) -> Iterator[int]:
        """Yield the ids of all live processes that carry these variables in their environment."""

    def variable(self, pid: int, name: str) -> str | None:
        """Return a variable that a process had in its environment at its start; None without it or the process."""

    def kill(self, pid: int) -> None:
        """Send SIGKILL to one process, if it still exists."""


_EXIT_CODE = 52 - 3
"""Where the exit code is among what :func:`_stat` returns, which begins with the third field of the kernel's."""


class PosixChild:
    """A child of this process."""

    def __init__(
        self, pid: int, outputs: tuple[int, int], *, wait: Callable[[], int] | None = None, is_warm: bool = False
    ) -> None:
        """Take a process that has been started.

        Args:
            pid: Its id.
            outputs: Read ends of its standard output and standard error.
            wait: Waits for its end and returns the exit code; by default the process is waited for here.
            is_warm: Whether it was forked from a warm process.

        """
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.outputs = outputs
        self.is_warm = is_warm
        self.is_reaped = False
        self._wait = wait or self._wait_here

    def failure(self) -> int | None:
        """Return the exit code, negative for a signal, of a process that is ending, if it is known and not 0.

        See ``proc_pid_stat(5)``: the kernel has the code as soon as the whole process has to end. It is 0 before, and
        for a traced or stopped process it is something else.
        """
        fields = _stat(f'/proc/{self.pid}')
        if fields is None or fields[0] in {'T', 't'}:
            return None
        return os.waitstatus_to_exitcode(int(fields[_EXIT_CODE])) or None

    def reap(self) -> int:
        """Return the exit code, negative for a signal."""
        code = self._wait()
        os.close(self.pidfd)
        self.is_reaped = True
        return code

    def kill(self) -> None:
        """Send SIGKILL to the process itself."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _wait_here(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def signal_group(self, number: int) -> None:
        """Send a signal to what is left of the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def group_is_gone(self) -> bool:
        """Return whether no process of the group is left, zombies aside.

        A zombie of the group is nobody's resource any more, and where init does not reap it stays for ever.
        """
        if self.is_reaped:
            _reap_adopted(self.pid)
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        with os.scandir('/proc') as entries:
            return not any(_is_live_member(entry.path, self.pid) for entry in entries if entry.name.isdecimal())


class PosixProcesses:
    """The real thing."""

    def spawn(self, command: Command) -> PosixChild:
        """Start a process with default signal dispositions in a session of its own."""
        try:
            return _spawn(command)
        except (OSError, ValueError) as error:
            msg = f'{command.argv[0]}: {error.strerror if isinstance(error, OSError) else error}'
            raise SpawnError(msg) from error

    def marked(self, marks: Mapping[str, str]) -> Iterator[int]:
        """Yield the ids of all live processes that carry these variables in their environment."""
        wanted = {f'{name}={value}'.encode() for name, value in marks.items()}
        with os.scandir('/proc') as entries:
            for entry in entries:
                if entry.name.isdecimal() and wanted.issubset(_environment(entry.path)):
                    yield int(entry.name)

    def variable(self, pid: int, name: str) -> str | None:
        """Return a variable that a process had in its environment at its start; None without it or the process."""
        prefix = f'{name}='.encode()
        values = (entry[len(prefix) :] for entry in _environment(f'/proc/{pid}') if entry.startswith(prefix))
        return next((os.fsdecode(value) for value in values), None)

    def kill(self, pid: int) -> None:
        """Send SIGKILL to one process, if it still exists."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _spawn(command: Command) -> PosixChild:
    """Start a process; nothing of it is left if that fails."""
    with contextlib.ExitStack() as undo, contextlib.ExitStack() as child_ends:
        outputs, (out_write, err_write) = output_pipes(undo)
        child_ends.callback(os.close, out_write)
        child_ends.callback(os.close, err_write)
        process = subprocess.Popen(
            command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            stdout=out_write,
            stderr=err_write,
            pass_fds=command.pass_fds,
            start_new_session=True,
        )
        undo.callback(process.wait)
        undo.callback(process.kill)
        if command.cpu_affinity:
            limit_cpus(process.pid, command.cpu_affinity, err_write)
        child = PosixChild(process.pid, outputs, wait=process.wait)
        undo.pop_all()
        return child


def output_pipes(undo: contextlib.ExitStack) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the read ends and the write ends of pipes for standard output and standard error.

    Args:
        undo: Closes the read ends.

    """
    out_read, out_write = os.pipe2(os.O_CLOEXEC)
    undo.callback(os.close, out_read)
    try:
        err_read, err_write = os.pipe2(os.O_CLOEXEC)
    except OSError:
        os.close(out_write)
        raise
    undo.callback(os.close, err_read)
    return (out_read, err_read), (out_write, err_write)


def limit_cpus(pid: int, cpus: tuple[int, ...], stderr: int) -> None:
    """Let a process run on some CPUs only; where there are none of them it runs on all, and says so, as in dora."""
    try:
        os.sched_setaffinity(pid, cpus)
    except ProcessLookupError:
        return
    except (OSError, ValueError, OverflowError) as error:
        os.write(stderr, f'cpu_affinity {list(cpus)} has no effect: {error}\n'.encode())


def _reap_adopted(group: int) -> None:
    """Reap what has come to be a child of this process while it took orphans."""
    with contextlib.suppress(ChildProcessError):
        while os.waitid(os.P_PGID, group, os.WEXITED | os.WNOHANG) is not None:
            pass


def _environment(folder: str) -> set[bytes]:
    """Return a process's environment as it was at its start; empty if it is gone or somebody else's."""
    try:
        return set(Path(folder, 'environ').read_bytes().split(b'\0'))
    except OSError:
        return set()


def _is_live_member(folder: str, group: int) -> bool:
    fields = _stat(folder)
    return fields is not None and int(fields[2]) == group and fields[0] not in {'Z', 'X'}


def _stat(folder: str) -> list[str] | None:
    """Return what the kernel tells of a process, from its state on; None if there is none."""
    try:
        text = Path(folder, 'stat').read_text(encoding='ascii', errors='replace')
    except OSError:
        return None
    return text.rpartition(')')[2].split()


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What a manager takes as a request to stop."""
_IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
"""Python turns them into errors, and :mod:`subprocess` restores them for children."""


def hold_stop_signals() -> None:
    """Have stop signals wait until there is a handler for them.

    A ``KeyboardInterrupt`` while modules are being imported may be lost: Python raises it in a clean-up function, where
    it is reported and ignored.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)


def use_default_signals(*, hold: Iterable[int] = ()) -> None:
    """Undo what the caller may have ignored or blocked, so that children start with default dispositions.

    A shell that starts a job in the background ignores SIGINT for it, and ``nohup`` ignores SIGHUP; both would
    otherwise be inherited by every node. This process itself goes on to ignore SIGHUP, which is what ``nohup`` is for:
    a handler that does nothing is not inherited.

    Args:
        hold: Signals that stay blocked if they are.

    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked.intersection(hold))
    for number in signal.valid_signals():
        if number not in _IGNORED_BY_PYTHON and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _do_nothing if number == signal.SIGHUP else signal.SIG_DFL)


def survives_hangup() -> bool:
    """Return whether the caller, such as ``nohup``, wants this process to outlive its terminal."""
    return signal.getsignal(signal.SIGHUP) is _do_nothing


def _do_nothing(_number: int, _frame: object) -> None:
    """Take a signal."""
