"""The ROS interfaces that are installed, found without importing any of their code."""

from __future__ import annotations

import difflib
import importlib.util
import pkgutil
import re
from pathlib import Path

from adora_ros.dataflow.problems import nearest

EXAMPLES = {'msg': 'sensor_msgs/msg/Image', 'srv': 'std_srvs/srv/Trigger', 'action': 'nav2_msgs/action/NavigateToPose'}
"""A type of each kind: messages, services and actions."""
WORDS = {'msg': 'message type', 'srv': 'service type', 'action': 'action type'}

_TYPE = re.compile(r'([a-z][a-z0-9_]*)/(?:(msg|srv|action)/)?([A-Z][A-Za-z0-9]*)')
_EXPORT = re.compile(r'^from \S+ import ([A-Z][A-Za-z0-9]*) ', re.MULTILINE)
"""A line of a generated ``__init__.py`` that exports an interface; what belongs to one has a ``_`` in its name."""

_CANDIDATES = 5


def full_type(text: str, kind: str) -> str:
    """Return a type in its full form ``package/<kind>/Name``.

    Args:
        text: the type, in full or without its kind.
        kind: ``msg``, ``srv`` or ``action``.

    Raises:
        ValueError: ``text`` is not the name of such a type.

    """
    match = _TYPE.fullmatch(text)
    if match is None or match[2] not in {None, kind}:
        example = EXAMPLES[kind]
        msg = f'`{text}` is no {WORDS[kind]}; write it as package/{kind}/Name, such as {example}'
        raise ValueError(msg)
    return f'{match[1]}/{kind}/{match[3]}'


def check_installed(full: str) -> None:
    """Check that a type can be imported here.

    Args:
        full: the type in its full form.

    Raises:
        ValueError: it cannot; the text has the nearest that can.

    """
    package, kind, name = full.split('/')
    known = _names(package, kind)
    if name in known:
        return
    if known:
        msg = f'`{package}` has no {WORDS[kind]} `{name}`{nearest(name, known)}'
        raise ValueError(msg)
    packages = [module.name for module in pkgutil.iter_modules() if module.ispkg]
    near = [other for other in difflib.get_close_matches(package, packages, n=_CANDIDATES) if _names(other, kind)]
    way_out = f'did you mean `{near[0]}`?' if near else 'install it or source its workspace'
    msg = f'no package `{package}` with {WORDS[kind]}s is installed; {way_out}'
    raise ValueError(msg)


def _names(package: str, kind: str) -> tuple[str, ...]:
    """Return the interfaces of one kind that a package has."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return ()
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder, kind, '__init__.py')
        if file.is_file():
            return tuple(dict.fromkeys(_EXPORT.findall(file.read_text(encoding='utf-8'))))
    return ()
