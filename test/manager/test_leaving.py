"""A node that locks up while it leaves ROS has ended all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from manager.harness import Flow, Runs


@pytest.mark.parametrize('warm', [True, False])
def test_a_node_that_locks_up_while_it_leaves_has_finished(flow: Flow, run: Runs, *, warm: bool) -> None:
    flow.node('stuck', 'locks_up.py', warm=warm)
    manager = run(flow)
    assert manager.wait() == 0, manager.report('failed')
    assert manager.states() == {'stuck': 'finished'}
    assert flow.marks('stuck') == ['0 end']
    assert manager.texts('WARNING') == ['it had ended, and then locked up while it left ROS']
