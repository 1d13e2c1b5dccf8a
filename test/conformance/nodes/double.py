"""An operator that doubles numbers; it ends at ``STOP_AT`` as ``END`` says and raises at ``RAISE_AT``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dora import DoraStatus

if TYPE_CHECKING:
    from collections.abc import Callable


class Operator:
    """Doubles."""

    def on_event(self, event: dict[str, Any], send_output: Callable[..., None]) -> DoraStatus:
        """Take one event."""
        if event['type'] == 'INPUT':
            number = event['value'][0].as_py()
            if number == int(os.environ.get('RAISE_AT', '-1')):
                raise RuntimeError(number)
            send_output('data', pa.array([2 * number]), event['metadata'])
            if number == int(os.environ.get('STOP_AT', '-1')):
                return DoraStatus[os.environ.get('END', 'STOP')]
        return DoraStatus.CONTINUE
