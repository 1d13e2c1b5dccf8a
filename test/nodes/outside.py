"""A node that somebody else starts: ``sys.argv[1]`` is its id, ``sys.argv[2]`` after how many inputs it leaves.

It answers each input and prints what it is told; once it has left the dataflow it waits for a line on its standard
input.
"""

from __future__ import annotations

import sys

from adora_ros import Node
from adora_ros.errors import NodeError


def say(*words: object) -> None:
    """Print at once."""
    sys.stdout.write(' '.join(map(str, words)) + '\n')
    sys.stdout.flush()


def main() -> None:
    """Take part."""
    try:
        node = Node(sys.argv[1])
    except NodeError as error:
        say('refused', error)
        return
    say('attached', node.restart_count())
    left = int(sys.argv[2])
    for event in node:
        if event['type'] != 'INPUT':
            say(event['type'], event['id'])
            continue
        node.send_output('ack', event['value'])
        left -= 1
        if not left:
            break
    node.close()
    say('left')
    sys.stdin.readline()
    say('end')


main()
