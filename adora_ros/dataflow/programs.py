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
    if not path.is_file():
        on_path = None if '/' in text else shutil.which(text, path=env.get('PATH'))
        if on_path is None:
            nor = '' if '/' in text else ', nor a program of that name on PATH'
            msg = f'{_missing(path)}{nor}{_neighbour(path)}'
            raise ValueError(msg)
        path = absolute(on_path, directory)
    if path.suffix != PYTHON_SUFFIX and not os.access(path, os.X_OK):
        msg = f'`{path}` is not executable; run `chmod +x {path}`'
        raise ValueError(msg)
    return path


def find_file(text: str, directory: Path) -> Path:
    """Return the absolute path of a file that can be read.

    Raises:
        ValueError: there is none.

    """
    path = absolute(text, directory)
    if not path.is_file():
        raise ValueError(_missing(path) + _neighbour(path))
    return path


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
    if not path.is_file() or not os.access(path, os.X_OK):
        names = [item.name for item in folder.iterdir()] if folder.is_dir() else []
        msg = f'ROS package `{package}` has no executable `{executable}` in {folder}{nearest(executable, names)}'
        raise ValueError(msg)
    return path


def absolute(text: str, directory: Path) -> Path:
    """Return a path relative to ``directory`` as an absolute one, symbolic links kept."""
    return Path(os.path.normpath(directory / text))


def _missing(path: Path) -> str:
    return f'`{path}` is a folder, not a file' if path.is_dir() else f'there is no file `{path}`'


def _neighbour(path: Path) -> str:
    names = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
    names = [name for name in names if not name.endswith(DATAFLOW_SUFFIXES)]
    return nearest(path.name, names, likeness=0.8) if path.name not in names else ''
