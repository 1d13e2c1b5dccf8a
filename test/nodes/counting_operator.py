"""An operator that passes numbers on; ``ADORA_TEST_OPERATOR`` says at which number it fails, or how it ends then."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
from dora import DoraStatus
from marks import mark

HOW, _, WHEN = os.environ.get('ADORA_TEST_OPERATOR', '').partition(' ')


class Operator:
    """Doubles what comes in."""

    dataflow_descriptor: dict[str, Any]

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: dict[str, Any], send_output: Any) -> DoraStatus:
        """Mark the event and answer an input."""
        value = event['value'].to_pylist() if event['type'] == 'INPUT' else ''
        mark('operator', len(self.dataflow_descriptor['nodes']), event['type'], event['id'], value)
        if event['type'] != 'INPUT':
            return DoraStatus.CONTINUE
        if WHEN and value == [int(WHEN)]:
            if HOW == 'raise':
                message = 'no more'
                raise RuntimeError(message)
            return DoraStatus[HOW]
        send_output('double', pa.array([2 * value[0]]), event['metadata'])
        return DoraStatus.CONTINUE
