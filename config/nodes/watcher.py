"""Watches over a node that works for it, and takes over when that is given up."""

from __future__ import annotations

from adora_ros import Node


def main() -> None:
    """Watch until there is nothing left to watch."""
    node = Node()
    results = 0
    for event in node:
        if event['type'] == 'INPUT':
            results += 1
        elif event['type'] == 'NODE_RESTARTED':
            print(f'{event["id"]} was restarted; {results} results so far')
        elif event['type'] == 'NODE_FAILED':
            failure = event['value']
            print(f'{failure["source_node_id"]} will not come back ({failure["error"]}): a human has to take over')


if __name__ == '__main__':
    main()
