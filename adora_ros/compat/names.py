"""The names of dora's Python package, each imported when it is first used."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

from adora_ros.errors import UnsupportedError

VERSION = '1.1.0'
"""The release of dora whose Python API this is."""

_PLACES = {
    'DoraStatus': 'adora_ros.compat.status',
    'Node': 'adora_ros',
    **dict.fromkeys(('Ros2Durability', 'Ros2Liveliness', 'Ros2QosPolicies'), 'adora_ros.compat.ros2qos'),
    **dict.fromkeys(('Ros2ActionClient', 'Ros2ActionServer'), 'adora_ros.compat.ros2action'),
    **dict.fromkeys(('Ros2ServiceClient', 'Ros2ServiceServer'), 'adora_ros.compat.ros2service'),
    **dict.fromkeys(
        (
            'Ros2Context',
            'Ros2Node',
            'Ros2NodeOptions',
            'Ros2Publisher',
            'Ros2Subscription',
            'Ros2Topic',
            'Ros2Transport',
        ),
        'adora_ros.compat.ros2',
    ),
    'build': __name__,
    'run': __name__,
    'start_runtime': __name__,
}

NAMES = tuple(sorted(_PLACES))


def lookup(module: str, name: str) -> Any:
    """Return what ``name`` is in dora's package, for a module ``__getattr__``.

    Raises:
        AttributeError: there is nothing of that name.

    """
    place = _PLACES.get(name)
    if place is None:
        msg = f'module {module!r} of adora_ros has no attribute {name!r}'
        raise AttributeError(msg)
    return getattr(importlib.import_module(place), name)


def build(dataflow_path: str, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG001 - dora's signature
    """Refuse: a node does not build dataflows.

    Raises:
        UnsupportedError: always.

    """
    _refuse(f'build({dataflow_path!r})', 'adora build')


def run(dataflow_path: str, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG001 - dora's signature
    """Refuse: a node does not run dataflows.

    Raises:
        UnsupportedError: always.

    """
    _refuse(f'run({dataflow_path!r})', 'adora run')


def start_runtime() -> NoReturn:
    """Refuse: the manager starts operators by itself.

    Raises:
        UnsupportedError: always.

    """
    _refuse('start_runtime()', 'adora run')


def _refuse(call: str, command: str) -> NoReturn:
    msg = f'{call} is not available inside a node: use `{command} FILE` on the command line'
    raise UnsupportedError(msg)
