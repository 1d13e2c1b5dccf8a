"""The warm process: loads, waits, forks."""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

from adora_ros.warm import block, child, ending
from adora_ros.warm.environment import ROOM_VARIABLE
from adora_ros.warm.request import GO, MAX_DESCRIPTORS, PACKET_LIMIT, REPORT, STDOUT, Request
from adora_ros.warm.script import Script, folder

MODULES = (
    'numpy',
    'pyarrow',
    'rclpy',
    'adora_ros.node.api',
    'adora_ros.node.tracker',
    'adora_ros.node.aio',
)
"""What nodes need."""
INTERFACES = {
    'lifecycle_msgs.msg': ('TransitionEvent',),
    'lifecycle_msgs.srv': ('ChangeState', 'GetAvailableStates', 'GetAvailableTransitions', 'GetState'),
    'rcl_interfaces.msg': ('Log', 'ParameterEvent'),
    'rcl_interfaces.srv': (
        *('DescribeParameters', 'GetParameterTypes', 'GetParameters'),
        *('ListParameters', 'SetParameters', 'SetParametersAtomically'),
    ),
    'std_msgs.msg': ('UInt8MultiArray',),
    'type_description_interfaces.srv': ('GetTypeDescription',),
}
"""Messages and services of every node."""
DDS_THREADS = 'dds.'
"""Beginning of the names of Fast DDS's threads, without which no process takes part in ROS."""
_PR_SET_PDEATHSIG = 1


def serve(fd: int) -> Script:
    """Load everything, then fork a process for every request; return in each of them the script that it is to run.

    This process itself ends, at once, with its manager.

    Args:
        fd: The socket to the manager.

    """
    ending.prepare()
    _end_with(os.getppid())
    _move_environment()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    control = socket.socket(fileno=fd)
    server = Server(control)
    server.load()
    while True:
        script = server.next()
        if script is not None:
            return script


class Server:
    """Serves one manager."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._threads: list[str] = []
        self._descriptors: set[int] = set()
        self._origins: dict[str, str] = {}

    def load(self) -> None:
        """Load what nodes need, and say so."""
        gc.disable()
        try:
            for name in MODULES:
                importlib.import_module(name)
            _load_middleware()
        except Exception as error:  # noqa: BLE001 - whatever it is, nodes are then started cold
            _tell(self._control, error=f'{type(error).__name__}: {error}')
            os._exit(1)
        self.note_state()
        ending.spare_loaded_modules()
        gc.freeze()
        _tell(self._control, threads=self._threads)

    def note_state(self) -> None:
        """Take note of what is there, so that :meth:`reason_for_cold` knows it."""
        self._threads = threads()
        self._descriptors = _open_descriptors() - {self._control.fileno()}
        self._origins = _origins()

    def next(self) -> Script | None:
        """Wait for a request and fork; None in this process, the script in the new one."""
        packet, descriptors, _flags, _address = socket.recv_fds(
            self._control, PACKET_LIMIT, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        if not packet:
            os._exit(0)
        request = Request.from_packet(packet)
        reason = self.reason_for_cold(request)
        with contextlib.ExitStack() as here:
            for fd in descriptors:
                here.callback(os.close, fd)
            report = socket.socket(fileno=os.dup(descriptors[REPORT]))
            here.callback(report.close)
            if reason:
                _tell(report, cold=reason)
            elif (pid := _fork()) is None:
                here.pop_all()
                return self._begin(request, descriptors, report)
            else:
                _tell(report, pid=pid)
        return None

    def _begin(self, request: Request, descriptors: list[int], report: socket.socket) -> Script:
        """Make this the process that is asked for; it waits for the manager's word before it runs anything."""
        self._control.close()
        os.close(descriptors[REPORT])
        above = max((2, *request.descriptors))
        (report_fd,) = child.move_up([report.detach()], above)
        report = socket.socket(fileno=report_fd)
        script = Script(request.argv)
        try:
            child.become(request, child.move_up(descriptors[STDOUT:], above))
        except OSError as error:
            _tell(report, error=error.errno)
            os._exit(1)
        script.prepare()
        _tell(report, ready=True)
        if report.recv(len(GO)) != GO:
            os._exit(1)
        report.close()
        return script

    def reason_for_cold(self, request: Request) -> str:
        """Return why a process that was forked would not be like one that was started; empty if it would."""
        now = threads()
        if now != self._threads or any(name.startswith(DDS_THREADS) for name in now):
            return f'the warm process has other threads than after loading: {", ".join(now)}'
        taken = self._descriptors.intersection(request.descriptors)
        if taken:
            return f'descriptor {min(taken)} is in use in the warm process'
        here = folder(request.argv[1])
        for name in _modules_in(here):
            origin = self._origins.get(name)
            if origin is not None and origin != here:
                return f'{here} has a module {name}, and another one is loaded already'
        return ''


def threads() -> list[str]:
    """Return the names of all threads of this process."""
    found = []
    for task in Path('/proc/self/task').iterdir():
        with contextlib.suppress(OSError):
            found.append((task / 'comm').read_text(encoding='utf-8', errors='replace').strip())
    return sorted(found)


def _load_middleware() -> None:
    """Load the libraries that ROS would load with the first node, without making anything of them."""
    from rclpy.utilities import get_rmw_implementation_identifier  # noqa: PLC0415 - only this process needs it early

    get_rmw_implementation_identifier()
    for module, names in INTERFACES.items():
        for name in names:
            interface: Any = getattr(importlib.import_module(module), name)
            type(interface).__import_type_support__()


def _fork() -> int | None:
    """Fork a process that is no child of this one; return its id, or None in it.

    It becomes the child of the nearest ancestor that takes orphans: of the manager, while it asks for them.
    """
    read, write = os.pipe2(os.O_CLOEXEC)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)  # about the threads, see Server.reason_for_cold
        between = os.fork()
        if not between:
            pid = os.fork()
            if pid:
                os.write(write, array.array('i', [pid]).tobytes())
                os._exit(0)
    os.close(write)
    if not between:
        os.close(read)
        return None
    os.waitpid(between, 0)
    pid = int.from_bytes(os.read(read, 4), sys.byteorder)
    os.close(read)
    return pid


def _tell(report: socket.socket, **keys: object) -> None:
    """Report; a manager that does not wait any more gets nothing."""
    with contextlib.suppress(OSError):
        report.send(json.dumps(keys).encode())


def _end_with(parent: int) -> None:
    """Have this process killed when the manager ends, even if it is stopped at that time."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _move_environment() -> None:
    """Take the environment out of the memory that the program was started with, which forked processes write over."""
    env = {name: value for name, value in os.environ.items() if name != ROOM_VARIABLE}
    os.environ.clear()
    os.environ.update(env)
    block.show(sys.orig_argv[:-1], env)


def _open_descriptors() -> set[int]:
    return {int(name) for name in os.listdir('/proc/self/fd')}  # noqa: PTH208 - the names are all that is wanted


def _origins() -> dict[str, str]:
    """Return the folder that each loaded top-level module was found in."""
    found = {}
    for name, module in tuple(sys.modules.items()):
        file = getattr(module, '__file__', None)
        if file and '.' not in name and name != '__main__':
            path = Path(file)
            found[name] = str((path.parent.parent if path.stem == '__init__' else path.parent).resolve())
    return found


def _modules_in(where: str) -> set[str]:
    """Return the names of modules and packages in a folder."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(where):
            name, _, suffix = entry.name.partition('.')
            if suffix.endswith(('py', 'so', 'pyc')) or (not suffix and Path(entry.path, '__init__.py').is_file()):
                found.add(name)
    return found
