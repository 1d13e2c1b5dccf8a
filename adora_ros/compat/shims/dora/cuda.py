"""GPU memory is not shared between nodes here."""

from __future__ import annotations

from adora_ros.errors import UnsupportedError

MESSAGE = (
    'dora.cuda is not available: GPU memory is not shared between nodes, '
    'send the array from host memory, for example pa.array(tensor.cpu().numpy().ravel())'
)
raise UnsupportedError(MESSAGE)
