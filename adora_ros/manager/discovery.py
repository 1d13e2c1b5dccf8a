"""How the processes of a dataflow find each other in ROS."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError
from adora_ros.manager.reception import Reception
from adora_ros.transport import dds
from adora_ros.transport.rundir import dataflow_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.options import Options

UNKNOWN_PARTICIPANTS = 64
"""Processes to provide for while no dataflow is loaded."""


class Discovery:
    """What a manager does for it, on the running event loop.

    Args:
        options: What the manager was told.
        dataflow: What it runs, if that is known.

    Raises:
        ManagerError: the Fast DDS profile cannot be written.

    """

    def __init__(self, options: Options, dataflow: Dataflow | None) -> None:
        self.env: Mapping[str, str] = {}
        """Variables of the manager's own process while it joins."""
        self.reception: Reception | None = None
        """Introduces the nodes to each other; None where they find each other by themselves."""
        if not dds.wants_profile(os.environ):
            return
        participants = _participants(dataflow)
        if dds.is_loopback_only(os.environ):
            self.reception = Reception(asyncio.get_running_loop(), participants)
        self.env = self._write(dataflow_folder(options.dataflow_name), participants)

    def node_environment(self, dataflow: Dataflow, folder: Path) -> Mapping[str, str]:
        """Return the variables for the processes of nodes.

        Args:
            dataflow: The dataflow.
            folder: Of the run.

        Raises:
            ManagerError: the profile cannot be written.

        """
        if self.reception is None:
            return self.env
        return self._write(folder, _participants(dataflow), is_guest=True)

    def close(self) -> None:
        """Introduce nobody any more."""
        if self.reception is not None:
            self.reception.close()

    def _write(self, folder: Path, participants: int, *, is_guest: bool = False) -> dict[str, str]:
        port = None if self.reception is None else self.reception.port
        try:
            return dds.write_profile(folder, participants, os.environ, reception=port, is_guest=is_guest)
        except OSError as error:
            msg = f'{error.filename}: {error.strerror}; set ROS_LOG_DIR to a folder that can be written'
            raise ManagerError(msg) from error


def _participants(dataflow: Dataflow | None) -> int:
    return UNKNOWN_PARTICIPANTS if dataflow is None else len(dataflow.nodes) + 1
