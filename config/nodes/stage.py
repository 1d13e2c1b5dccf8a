"""One stage of a pipeline: passes on what comes in, under the same name."""

from __future__ import annotations

from adora_ros import Node


def main() -> None:
    """Pass on until the pipeline ends."""
    node = Node()
    for event in node:
        if event['type'] == 'INPUT':
            node.send_output(event['id'], event['value'], event['metadata'])
        elif event['type'] in {'INPUT_CLOSED', 'INPUT_RECOVERED', 'NODE_RESTARTED'}:
            print(f'{event["type"]} {event["id"]}')


if __name__ == '__main__':
    main()
