"""What the commands that operate dataflows take, without importing what they do."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

from adora_ros.cli.completion import complete_node, complete_run, complete_running
from adora_ros.cli.help import TIME, explain
from adora_ros.cli.values import ColorMode, count, duration, name, variable

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT = 5.0
"""Seconds to wait for an answer."""
START_TIMEOUT = 60.0
"""Seconds in which all nodes have to be up."""
LEVELS = ('stdout', 'trace', 'debug', 'info', 'warn', 'error')
"""Levels of log lines, from what matters least on; what a node prints without a level is ``stdout``."""
STARTS = """\
exit codes:
  0    the dataflow is up; with --attach, it has ended and no node failed
  1    it did not come up and is stopped; with --attach, a node failed
  2    bad input: the file or the command line is wrong, or the name is taken
  130  with --attach, stopped by Ctrl-C
"""
BUILDS = """\
exit codes:
  0    all is built
  1    a command failed; the message names its node
  2    bad input: the file or the command line is wrong
"""
CLEANS = """\
exit codes:
  0    done
  1    something could not be removed; the message names it
  2    the command line is wrong
"""
CLEAN_AGE = 7 * 86400.0
"""Seconds for which logs are kept."""
ANSWERS = """\
exit codes:
  0    done
  1    it is not there, does not answer in time, or refuses; the message names it
  2    the command line is wrong or the name is ambiguous
"""


def later(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """Return a command that imports what it needs when it runs."""

    def command(arguments: argparse.Namespace) -> int:
        act: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(f'adora_ros.cli.{module}'), function)
        return act(arguments)

    return command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every way to run a manager in the foreground takes."""
    add_run_arguments(parser)
    display = parser.add_argument_group('what is shown')
    display.add_argument(
        '-q', '--quiet', '--no-node-output', action='store_true', help='do not show what nodes print (the log files do)'
    )
    display.add_argument('-v', '--verbose', action='store_true', help='also show events of level DEBUG')
    display.add_argument(
        '--events',
        metavar='SOCKET',
        help='also write every event as a line of JSON to this Unix socket (a path, or @ and an abstract name); '
        'the dataflow is stopped when the other side closes it',
    )
    display.add_argument(
        '--color',
        choices=[mode.value for mode in ColorMode],
        default=ColorMode.AUTO.value,
        help='when to use colour; auto is on a terminal, unless NO_COLOR is set (default: auto)',
    )


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every way to start a manager takes."""
    run = parser.add_argument_group('the run')
    run.add_argument(
        '--name', metavar='NAME', type=name, help="name of the dataflow and its namespace (default: the file's stem)"
    )
    run.add_argument('--machine', metavar='NAME', default='', help='name of this machine in `deploy.machine`')
    run.add_argument(
        '--namespace',
        metavar='NS',
        default='',
        help="ROS namespace above the dataflow's own, such as one for each robot",
    )
    run.add_argument('--use-sim-time', action='store_true', help='have the nodes take their ROS time from /clock')
    run.add_argument(
        '--env',
        metavar='NAME=VALUE',
        type=variable,
        action='append',
        default=[],
        help="environment variable for all nodes, over the dataflow's own `env`; may be repeated",
    )
    run.add_argument(
        '--exit-when-nodes-finish',
        action=argparse.BooleanOptionalAction,
        help='whether a node ends although timers could go on, in place of what the dataflow says',
    )
    run.add_argument(
        '--stop-after',
        metavar=TIME,
        type=duration,
        help='stop the dataflow after this time (default: never); exits with 0 if no node failed',
    )


def add_name(parser: argparse.ArgumentParser) -> None:
    """Add the name of the dataflow, for what does not run it."""
    parser.add_argument('--name', metavar='NAME', type=name, help="name of the dataflow (default: the file's stem)")


def fill_start(parser: argparse.ArgumentParser) -> None:
    """Add what ``start`` takes, but for the file."""
    add_run_arguments(parser)
    attached = parser.add_mutually_exclusive_group()
    attached.add_argument(
        '--attach', action='store_true', help='show what is logged until the dataflow ends; Ctrl-C stops it (default)'
    )
    attached.add_argument('--detach', action='store_true', help='return as soon as the dataflow is up')
    parser.add_argument('-q', '--quiet', action='store_true', help='print only the uuid')
    _finish(parser, later('start', 'start'), timeout=START_TIMEOUT, what='for all nodes to be up', codes=STARTS)


def fill_logs(parser: argparse.ArgumentParser) -> None:
    """Add what ``logs`` takes."""
    argument = parser.add_argument(
        'dataflow',
        metavar='DATAFLOW',
        nargs='?',
        help='its name, for its last run, or the beginning of a uuid; without it the last run of all',
    )
    argument.completer = complete_run  # type: ignore[attr-defined] # where argcomplete looks for it
    parser.add_argument(
        '-n',
        '--node',
        metavar='NODE',
        action='append',
        default=[],
        help='only this node, or `manager`; may be repeated',
    )
    parser.add_argument('-f', '--follow', action='store_true', help='go on until the run has ended')
    parser.add_argument(
        '--level',
        choices=LEVELS,
        default=LEVELS[0],
        help='lowest level to show; lines without one are stdout, those on the standard error warn (default: stdout)',
    )
    parser.add_argument('--grep', metavar='TEXT', help='only lines that contain this, in small or capital letters')
    parser.add_argument('--tail', metavar='N', type=count, help='only the last N lines that there are')
    parser.add_argument('--since', metavar=TIME, type=duration, help='only lines that are not older, such as 5m')
    parser.add_argument('--json', action='store_true', help='print an object of JSON for each line')
    explain(parser, ANSWERS)
    parser.set_defaults(command=later('logview', 'logs'))


def fill_stop(parser: argparse.ArgumentParser) -> None:
    """Add what ``stop`` takes."""
    _add_dataflow(parser)
    parser.add_argument('--all', action='store_true', help='stop every dataflow that runs')
    _add_grace(parser)
    _finish(parser, later('control', 'stop'))


def fill_restart(parser: argparse.ArgumentParser) -> None:
    """Add what ``restart`` takes."""
    _add_dataflow(parser)
    _add_grace(parser)
    _finish(parser, later('control', 'restart'))


def fill_list(parser: argparse.ArgumentParser) -> None:
    """Add what ``list`` takes."""
    parser.add_argument('--status', choices=('running', 'finished', 'failed'), help='only those')
    parser.add_argument('--name', metavar='PATTERN', help='only names like this, such as nav_*')
    parser.add_argument('-q', '--quiet', action='store_true', help='print only uuids, one a line')
    _add_json(parser)
    _finish(parser, later('listing', 'list_dataflows'))


def fill_ps(parser: argparse.ArgumentParser) -> None:
    """Add what ``ps`` takes."""
    _add_dataflow(parser, 'only the nodes of this one')
    _add_json(parser)
    _finish(parser, later('look', 'ps'))


def fill_machines(parser: argparse.ArgumentParser) -> None:
    """Add what ``machines`` takes."""
    _add_json(parser)
    _finish(parser, later('records', 'machines'))


def fill_events(parser: argparse.ArgumentParser) -> None:
    """Add what ``events`` takes."""
    _add_dataflow(parser, 'only those of this one')
    parser.add_argument('-f', '--follow', action='store_true', help='go on with those that come, until Ctrl-C')
    parser.add_argument('--json', action='store_true', help='print an object of JSON for each, one a line')
    _finish(parser, later('look', 'events'))


def fill_topic(parser: argparse.ArgumentParser) -> None:
    """Add the commands of ``topic``."""
    verbs = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    text = 'show the values on a topic, those in shared memory, too'
    echo = verbs.add_parser('echo', help=text, description=f'{text[0].upper()}{text[1:]}.')
    echo.add_argument('topic', metavar='TOPIC', help='such as /robot/camera/image')
    echo.add_argument('-n', '--count', metavar='N', type=count, help='end after N messages')
    _finish(echo, later('topicecho', 'echo'), what='for the first message')


def fill_node(parser: argparse.ArgumentParser) -> None:
    """Add the commands of ``node``."""
    verbs = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    for verb, text in (
        ('restart', 'stop a node and start it again, without using up its restarts'),
        ('stop', 'stop a node; the others go on'),
        ('start', 'start a node that has ended'),
    ):
        one = verbs.add_parser(verb, help=text, description=f'{text[0].upper()}{text[1:]}.')
        _add_node(one)
        _finish(one, later('control', 'node_command'))
        one.set_defaults(verb=verb)
    text = 'show all that is known of a node'
    info = verbs.add_parser('info', help=text, description=f'{text[0].upper()}{text[1:]}.')
    _add_node(info)
    _add_json(info)
    _finish(info, later('look', 'node_info'))


def fill_build(parser: argparse.ArgumentParser) -> None:
    """Add what ``build`` takes, but for the file."""
    add_name(parser)
    parser.add_argument(
        '-n', '--node', metavar='NODE', action='append', default=[], help='only this node; may be repeated'
    )
    parser.add_argument('--uv', action='store_true', help='run the `pip` lines with uv')
    what = 'for the coordinator, which notes the build if there is one'
    _finish(parser, later('build', 'build'), what=what, codes=BUILDS)


def fill_clean(parser: argparse.ArgumentParser) -> None:
    """Add what ``clean`` takes."""
    parser.add_argument(
        '--older-than',
        metavar=TIME,
        type=duration,
        default=CLEAN_AGE,
        help='only logs to which nothing was added for this time, such as 12h or 30d (default: 7d)',
    )
    parser.add_argument('--dry-run', action='store_true', help='only say what would be removed')
    explain(parser, CLEANS)
    parser.set_defaults(command=later('clean', 'clean'))


def _add_node(parser: argparse.ArgumentParser) -> None:
    node = parser.add_argument('node', metavar='NODE', help='its id')
    node.completer = complete_node  # type: ignore[attr-defined] # where argcomplete looks for it
    option = parser.add_argument(
        '-d', '--dataflow', metavar='DATAFLOW', help='its dataflow, if others have such a node, too'
    )
    option.completer = complete_running  # type: ignore[attr-defined] # where argcomplete looks for it


def _add_dataflow(parser: argparse.ArgumentParser, text: str = '') -> None:
    text = text or 'may be left out if only one runs'
    argument = parser.add_argument(
        'dataflow',
        metavar='DATAFLOW',
        nargs='?',
        help=f'its name, or the beginning of its uuid; {text}',
    )
    argument.completer = complete_running  # type: ignore[attr-defined] # where argcomplete looks for it


def _add_grace(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        '--grace-duration',
        metavar=TIME,
        type=duration,
        help='SIGTERM after this time, SIGKILL half as long later, where the dataflow would wait longer (default: as '
        'the `stop_grace` of its nodes says, 10 s unless given)',
    )
    how.add_argument('-f', '--force', action='store_true', help='SIGKILL at once, also for a manager that hangs')


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--json', action='store_true', help='print JSON')


def _finish(
    parser: argparse.ArgumentParser,
    command: Callable[[argparse.Namespace], int],
    *,
    timeout: float = TIMEOUT,
    what: str = 'for whoever has to answer',
    codes: str = ANSWERS,
) -> None:
    parser.add_argument(
        '--timeout',
        metavar=TIME,
        type=duration,
        default=timeout,
        help=f'how long to wait {what} (default: {timeout:g} s)',
    )
    explain(parser, codes)
    parser.set_defaults(command=command, parser=parser)
