"""Finding the programs and files that a node names."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.dataflow.problems import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

PYTHON_SUFFIX = '.py'
DATAFLOW_SUFFIXES = ('.yml', '.yaml')
"""Of files that are hardly meant where a program is not there."""


def find_program(text: str, directory: Path, env: Mapping[str, str]) -> Path:
    """Return the absolute path of a program: a file below ``directory``, else a bare name on ``PATH``.

    Raises:
        ValueError: there is none, or it cannot be run.

    """
    path = absolute(text, directory)
    missing = why_no_file(path)
    if missing is not None:
        on_path = None if '/' in text else shutil.which(text, path=env.get('PATH'))
        if on_path is None:
            nor = '' if '/' in text else ', nor a program of that name on PATH'
            msg = f'{missing}{nor}{_neighbour(path)}'
            raise ValueError(msg)
        path = absolute(on_path, directory)
    if path.suffix == PYTHON_SUFFIX:
        return _readable(path)
    if not os.access(path, os.X_OK):
        msg = f'`{path}` is not executable; run `chmod +x {path}`'
        raise ValueError(msg)
    return path


def find_file(text: str, directory: Path) -> Path:
    """Return the absolute path of a file that can be read.

    Raises:
        ValueError: there is none, or it cannot be read.

    """
    path = absolute(text, directory)
    missing = why_no_file(path)
    if missing is not None:
        raise ValueError(missing + _neighbour(path))
    return _readable(path)


def find_in_package(package: str, executable: str) -> Path:
    """Return the absolute path of an executable that a ROS package installs.

    Raises:
        ValueError: the package or its executable cannot be found.

    """
    try:
        ament = importlib.import_module('ament_index_python.packages')
    except ImportError:
        msg = f'the ROS package `{package}` cannot be looked up: ament_index_python is missing; source your ROS 2 setup'
        raise ValueError(msg) from None
    try:
        prefix = ament.get_package_prefix(package)
    except OSError:
        msg = f'the ROS package `{package}` cannot be looked up: AMENT_PREFIX_PATH is not set; source your ROS 2 setup'
        raise ValueError(msg) from None
    except (LookupError, ValueError):
        known = nearest(package, ament.get_packages_with_prefixes())
        msg = f'ROS package `{package}` is not installed{known}' + ('' if known else '; source its workspace')
        raise ValueError(msg) from None
    folder = Path(prefix, 'lib', package)
    path = folder / executable
    if why_no_file(path) is not None or not os.access(path, os.X_OK):
        names = _names(folder)
        msg = f'ROS package `{package}` has no executable `{executable}` in {folder}{nearest(executable, names)}'
        raise ValueError(msg)
    return path


def absolute(text: str, directory: Path) -> Path:
    """Return a path relative to ``directory`` as an absolute one, symbolic links kept."""
    return Path(os.path.normpath(directory / text))


def why_no_file(path: Path, kind: str = 'file') -> str | None:
    """Return why a path is not that of a file, which is called a ``kind``; None if it is."""
    try:
        if path.is_file():
            return None
        return f'`{path}` is a folder, not a {kind}' if path.is_dir() else f'there is no {kind} `{path}`'
    except OSError as error:  # a folder on the way is closed to us, or a name is too long
        return f'`{path}` cannot be looked at: {error.strerror}'


def _readable(path: Path) -> Path:
    if not os.access(path, os.R_OK):
        msg = f'`{path}` cannot be read; run `chmod +r {path}`'
        raise ValueError(msg)
    return path


def _neighbour(path: Path) -> str:
    names = [name for name in _names(path.parent) if not name.endswith(DATAFLOW_SUFFIXES)]
    return nearest(path.name, names, likeness=0.8) if path.name not in names else ''


def _names(folder: Path) -> list[str]:
    try:
        return [item.name for item in folder.iterdir()]
    except OSError:
        return []
