"""What ``/diagnostics`` says of the machines.

The items of a machine's dataflows come from its managers. They go stale with it, by silence; this one says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from adora_ros.coordinator.records import MachineRecord, Presence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAME = 'adora: machines'


def summary(machines: Sequence[MachineRecord], age: Callable[[str], float | None]) -> DiagnosticStatus:
    """Return one item for all machines; it is an error as long as one of them is missing that has not signed off.

    Args:
        machines: The machines that have ever reported.
        age: Returns the seconds since a machine was heard of, None if it is not known.

    """
    lost = [machine for machine in machines if machine.status is Presence.DISCONNECTED]
    here = [machine for machine in machines if machine.status is Presence.CONNECTED]
    return DiagnosticStatus(
        name=NAME,
        level=DiagnosticStatus.ERROR if lost else DiagnosticStatus.OK,
        hardware_id='adora',
        message=f'not heard of: {", ".join(m.id for m in lost)}' if lost else f'{len(here)} connected',
        values=[KeyValue(key=machine.id, value=_text(machine, age(machine.id))) for machine in machines],
    )


def _text(machine: MachineRecord, age: float | None) -> str:
    return machine.status.value if age is None else f'{machine.status.value}, last heard of {age:.1f} s ago'
