"""Which nodes of a dataflow a machine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.errors import DataflowError

if TYPE_CHECKING:
    from adora_ros.dataflow.model import Dataflow


def machines(dataflow: Dataflow) -> tuple[str, ...]:
    """Return the machines that nodes of a dataflow name, by name."""
    return tuple(sorted({node.machine for node in dataflow.nodes if node.machine is not None}))


def share(dataflow: Dataflow, machine: str, *, rest: bool = False) -> frozenset[str]:
    """Return the ids of the nodes that a machine runs.

    Nodes that name no machine are run where the manager was given no name, as in dora. If no node names one, a machine
    runs all of them, whatever it is called.

    Args:
        dataflow: The dataflow.
        machine: Name of the machine; empty if it has none.
        rest: Whether a machine with a name runs the nodes that name none, too.

    Raises:
        DataflowError: it runs none; the text lists the machines that nodes name.

    """
    named = machines(dataflow)
    if not named:
        return frozenset(node.id for node in dataflow.nodes)
    takes_rest = rest or not machine
    found = frozenset(
        node.id for node in dataflow.nodes if (takes_rest if node.machine is None else node.machine == machine)
    )
    if found:
        return found
    known = ', '.join(named)
    if machine:
        msg = f'{dataflow.file}: no node of dataflow {dataflow.name} is for machine `{machine}`; they are for {known}'
    else:
        msg = f'{dataflow.file}: every node names its machine, one of {known}; say which one this is with --machine'
    raise DataflowError(msg)
