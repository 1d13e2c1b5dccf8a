"""No first message and no last message is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from manager.harness import Flow, Runs

MESSAGES = 1000
RUNS = 20


@pytest.mark.parametrize('_run', range(RUNS))
def test_a_burst_that_ends_its_source_is_received_completely_by_all(flow: Flow, run: Runs, _run: int) -> None:
    flow.node('source', 'count.py', MESSAGES, outputs=['data'])
    for number in range(3):
        flow.node(f'c{number}', 'events.py', inputs={'data': {'source': 'source/data', 'queue_size': MESSAGES}})
    manager = run(flow)
    assert manager.wait() == 0, manager.report('failed')
    expected = [*(f'0 INPUT data [{number}]' for number in range(MESSAGES)), '0 INPUT_CLOSED data']
    for number in range(3):
        assert flow.marks(f'c{number}')[1:-2] == expected
        assert flow.marks(f'c{number}')[-2:] == ['0 STOP ALL_INPUTS_CLOSED', '0 end']
