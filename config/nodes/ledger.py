"""Books the results of batches."""

from __future__ import annotations

from adora_ros import Node


def main() -> None:
    """Book until there are no more results."""
    node = Node()
    total = 0
    for event in node:
        if event['type'] == 'INPUT':
            amount = event['value'][0].as_py()
            total += amount
            print(f'batch {event["metadata"]["batch"]}: {amount}')
        elif event['type'] == 'NODE_RESTARTED':
            print(f'{event["id"]} starts anew')
    print(f'total {total}')


if __name__ == '__main__':
    main()
