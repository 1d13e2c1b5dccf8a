"""A batch job: asks for one batch, works on it and exits.

It asks again at every tick until the batch is there. Right after a start a reply can be lost, since the sender may not
have found the new process yet.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from adora_ros import Node


def main() -> None:
    """Do one batch, or none if there is no more."""
    node = Node()
    number = node.restart_count()
    for event in node:
        if event['type'] != 'INPUT':
            continue
        if event['id'] == 'batch':
            node.send_output('result', pa.array([pc.sum(event['value']).as_py()]), {'batch': number})
            break
        node.send_output('request', pa.array([number]))


if __name__ == '__main__':
    main()
