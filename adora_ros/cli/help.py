"""What the help of each command says beside its options: examples, what a time is, and exit codes."""

from __future__ import annotations

import argparse

TIME = 'TIME'
TIMES = 'TIME is a number of seconds, or one with a unit: 500ms, 25s, 2m, 1h, 7d.\n'
FILES = """\
exit codes:
  0    done
  2    bad input: the file or the command line is wrong
"""
EXAMPLES: dict[str, tuple[str, ...]] = {
    'run': ('my_robot.yml', 'my_robot.yml --stop-after 30s --no-node-output'),
    'validate': ('my_robot.yml', 'my_robot.yml --strict-types'),
    'graph': ('my_robot.yml --open', 'my_robot.yml --output my_robot.html'),
    'start': ('my_robot.yml --detach', 'my_robot.yml --name left --namespace robot1 --env SPEED=0.5'),
    'stop': ('my_robot', '--all --grace-duration 3s', 'my_robot --force'),
    'restart': ('my_robot',),
    'list': ('', '--status failed --json'),
    'ps': ('', 'my_robot --json'),
    'node restart': ('camera', 'camera --dataflow my_robot'),
    'node stop': ('camera',),
    'node start': ('camera',),
    'node info': ('camera --json',),
    'topic echo': ('/my_robot/camera/image -n 1',),
    'machines': ('', '--json'),
    'logs': ('my_robot --node camera --level warn', 'my_robot --since 5m --follow', '--grep timeout --json'),
    'events': ('my_robot', '--follow --json'),
    'build': ('my_robot.yml', 'my_robot.yml --node driver --uv'),
    'clean': ('--dry-run', '--older-than 30d'),
    'schema': ('> dataflow.schema.json',),
}
"""What may follow each command."""


def explain(parser: argparse.ArgumentParser, codes: str = '') -> None:
    """Add examples, what a time is if the command takes one, and its exit codes below its options."""
    command = parser.prog.rpartition('adora ')[2]
    lines = [f'  {parser.prog} {each}'.rstrip() for each in EXAMPLES.get(command, ())]
    takes_time = any(action.metavar == TIME for action in parser._actions)  # noqa: SLF001 - argparse tells nobody
    parts = ['\n'.join(['examples:', *lines, '']) if lines else '', TIMES if takes_time else '', codes]
    parser.epilog = '\n'.join(part for part in parts if part)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
