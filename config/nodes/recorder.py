"""Records the numbers of what comes in and says which ones are missing."""

from __future__ import annotations

from adora_ros import Node


def main() -> None:
    """Record until there is no more."""
    node = Node()
    expected = 0
    for event in node:
        if event['type'] == 'INPUT':
            number = event['metadata']['number']
            if number != expected:
                print(f'missing: {expected} to {number - 1}')
            expected = number + 1
    print(f'recorded up to {expected - 1}')


if __name__ == '__main__':
    main()
