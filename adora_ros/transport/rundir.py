"""Where a run keeps its files, and the claim that no other manager runs a dataflow of the same name."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError

if TYPE_CHECKING:
    from adora_ros.dataflow import Dataflow


def log_root() -> Path:
    """Return the folder that ROS logs to: ``$ROS_LOG_DIR``, else ``$ROS_HOME/log``, else ``~/.ros/log``."""
    if os.environ.get('ROS_LOG_DIR'):
        return Path(os.environ['ROS_LOG_DIR']).expanduser()
    return Path(os.environ.get('ROS_HOME') or '~/.ros').expanduser() / 'log'


def dataflow_folder(name: str) -> Path:
    """Create the folder of a dataflow and return it.

    Where ROS's log folder cannot be written, a temporary one serves: a robot with a read-only disk has to start, too.

    Raises:
        ManagerError: no folder can be written.

    """
    problems = []
    for root in (log_root(), Path(tempfile.gettempdir()) / f'adora_ros_{os.getuid()}'):
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problems.append(f'{folder}: {error.strerror}')
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
        problems.append(f'{folder}: not writable')
    msg = f'no folder for logs can be written ({"; ".join(problems)}); set ROS_LOG_DIR to one that can'
    raise ManagerError(msg)


def make_run_folder(dataflow: Dataflow, run_id: str) -> Path:
    """Create the folder of a run and write the dataflow into it as JSON.

    Raises:
        ManagerError: it cannot be written.

    """
    folder = dataflow_folder(dataflow.name) / run_id
    try:
        folder.mkdir()
        (folder / 'dataflow.json').write_text(json.dumps(dataflow.descriptor, default=str), encoding='utf-8')
    except OSError as error:
        msg = f'{folder}: {error.strerror}; set ROS_LOG_DIR to a folder that can be written'
        raise ManagerError(msg) from error
    return folder


_ASKERS = 4096
"""How many may ask who holds a name; their connections are never accepted."""


class NameClaim:
    """Held while a manager runs; the kernel gives it up when the manager is gone, however it ended.

    It is an abstract socket, so it holds for the host's network namespace and the ROS domain, which is how far the
    topics of a dataflow that is limited to the host reach.
    """

    def __init__(self, node_name: str) -> None:
        """Claim the full name of a manager node.

        Raises:
            ManagerError: another manager holds it; the text gives its process id.

        """
        # Hashed, since a name may be longer than the 108 bytes of an address.
        digest = hashlib.sha256(node_name.encode()).hexdigest()
        address = f'\0adora/{os.environ.get("ROS_DOMAIN_ID") or "0"}/{digest}'
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(address)
        except OSError:
            self._socket.close()
            msg = f'{node_name} is already running{_holder(address)}; stop it or choose another --name'
            raise ManagerError(msg) from None
        self._socket.listen(_ASKERS)

    def release(self) -> None:
        """Give the name up."""
        self._socket.close()


def _holder(address: str) -> str:
    """Return `` (pid N)`` for whoever listens at ``address``; empty if that cannot be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(address)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('iII'))
        except OSError:
            return ''
    pid, _uid, _gid = struct.unpack('iII', credentials)
    return f' (pid {pid})'
