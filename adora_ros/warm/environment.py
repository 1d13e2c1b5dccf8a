"""The part of the environment that all scripts of a dataflow and the warm process have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.compat import with_shims

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOM_VARIABLE = 'ADORA_WARM_ROOM'
"""A variable of the warm process whose only use is its size: the place for the environment of nodes."""
ROOM = 16 * 1024
"""Bytes that a warm process is started with beyond its own command line and environment, once for each."""
_READ_AT_START = (
    *('PYTHON', 'LD_', 'LC_', 'GLIBC_', 'MALLOC_', 'OPENBLAS_', 'OMP_', 'GOTO_', 'MKL_', 'ARROW_', 'NPY_', 'NUMPY_'),
    *('RMW_', 'LTTNG_', 'LANG', 'HOME', '_ROS_WHEELS_'),
)
"""Beginnings of the names of variables that Python and the libraries read when they start or are loaded."""


def common_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process as far as it is the same for all nodes.

    Output is not buffered, so that it is in the log when a node is killed; the threads of OpenBLAS take longer to start
    than all the rest, and few nodes need them.
    """
    return {'OPENBLAS_NUM_THREADS': '1', **env, 'PYTHONUNBUFFERED': '1'}


def script_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that may use the Node API, as far as it is the same for all of them."""
    return with_shims(common_environment(env))


def differences(env: Mapping[str, str], warm: Mapping[str, str]) -> list[str]:
    """Return the variables that would have had an effect earlier than a warm start lets them, and are different.

    Args:
        env: The environment of the process to be started.
        warm: The environment that the warm process was started with.

    """
    names = {name for name in (*env, *warm) if name.startswith(_READ_AT_START)}
    return sorted(name for name in names if env.get(name) != warm.get(name))
