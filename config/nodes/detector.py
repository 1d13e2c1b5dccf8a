"""A detector: looks for the brightest spot of each picture, and says when it cannot see."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from adora_ros import InputTracker, Node

BRIGHT = pa.scalar(255, pa.uint8())


def main() -> None:
    """Detect until there are no more pictures."""
    node = Node()
    tracker = InputTracker(['image'])
    for event in node:
        tracker.process_event(event)
        if event['type'] == 'INPUT':
            y, x = divmod(pc.index(event['value'], BRIGHT).as_py(), event['metadata']['width'])
            node.send_output('objects', pa.array([{'x': x, 'y': y}]), {'number': event['metadata']['number']})
        elif event['type'] == 'INPUT_CLOSED':
            print(f'blind: the last image is {tracker.age("image"):.1f} s old')
        elif event['type'] == 'INPUT_RECOVERED':
            print('sees again')
        elif event['type'] == 'NODE_RESTARTED':
            print(f'{event["id"]} is back')


if __name__ == '__main__':
    main()
