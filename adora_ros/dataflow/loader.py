"""Reading a dataflow file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow.modules import unfold_modules
from adora_ros.dataflow.names import dataflow_namespace, ros_name
from adora_ros.dataflow.operators import with_operators
from adora_ros.dataflow.problems import ERROR, DataflowErrors, Problem
from adora_ros.dataflow.report import Report
from adora_ros.dataflow.resolve import Resolver
from adora_ros.dataflow.validate import validate
from adora_ros.dataflow.yamltree import parse
from adora_ros.errors import DataflowError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.dataflow.model import Dataflow


def load(
    path: Path | str,
    *,
    name: str | None = None,
    namespace: str = '',
    env: Mapping[str, str] | None = None,
    built: bool = True,
    overrides: Mapping[str, Any] | None = None,
) -> Dataflow:
    """Read and validate a dataflow file.

    Args:
        path: the YAML file.
        name: name of the dataflow; the file's stem unless given. What ROS forbids in it becomes ``_``.
        namespace: ROS namespace above that of the dataflow, which is its name; none unless given.
        env: environment variables on top of the ``env`` of the file's top level; that of a node still wins.
        built: whether the programs and operators, which a build may make, must be there.
        overrides: values that count in place of those of the file, by key of the top level.

    Raises:
        DataflowErrors: everything that is wrong with the file.
        DataflowError: ROS 2 does not accept the namespace.

    """
    file = Path(path)
    return loads(read(file), path=file, name=name, namespace=namespace, env=env, built=built, overrides=overrides)


def read(file: Path) -> str:
    """Return the text of a dataflow file.

    Raises:
        DataflowErrors: it cannot be read, or is no text.

    """
    try:
        raw = file.read_bytes()
        str(file.absolute()).encode()
    except OSError as error:
        raise _at(file, 1, 1, f'cannot be read: {error.strerror}') from error
    except UnicodeEncodeError as error:
        raise _at(file, 1, 1, 'its path is not text in UTF-8, which is all that ROS 2 takes; rename it') from error
    try:
        return raw.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = error.start - before.rfind(b'\n')
        raise _at(file, before.count(b'\n') + 1, column, 'this is not UTF-8 text; save the file as UTF-8') from error


def loads(
    text: str,
    *,
    path: Path | str,
    name: str | None = None,
    namespace: str = '',
    env: Mapping[str, str] | None = None,
    built: bool = True,
    overrides: Mapping[str, Any] | None = None,
) -> Dataflow:
    """Validate the text of a dataflow file.

    Args:
        text: the YAML.
        path: the file it is taken to be in, which names the dataflow and to which paths are relative.
        name: as for :func:`load`.
        namespace: as for :func:`load`.
        env: as for :func:`load`.
        built: as for :func:`load`.
        overrides: as for :func:`load`.

    Raises:
        DataflowErrors: everything that is wrong with the text.
        DataflowError: ROS 2 does not accept the namespace.

    """
    tree, lost = unfold_modules(parse(text, Path(path)))
    report = Report(tree)
    draft = validate(report)
    if draft is None:
        raise DataflowErrors(report.problems)
    draft.nodes_lost = draft.nodes_lost or lost
    draft.root = draft.root.model_copy(update=dict(overrides or {}))
    stem = ros_name(Path(path).stem if name is None else name)
    try:
        own_namespace = dataflow_namespace(namespace, stem)
    except ValueError as error:
        msg = f'namespace: {error}'
        raise DataflowError(msg) from error
    dataflow = Resolver(
        with_operators(draft, report), report, name=stem, namespace=own_namespace, env=env or {}, built=built
    ).resolve()
    report.raise_errors()
    return dataflow


def _at(file: Path, line: int, column: int, message: str) -> DataflowErrors:
    return DataflowErrors([Problem(file=file, line=line, column=column, severity=ERROR, message=message)])
