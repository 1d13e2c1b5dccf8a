"""``ros2 run adora_ros manager``: the manager as an executable, for launch files and services."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.cli.arguments import add_arguments
from adora_ros.cli.main import EXIT_CODES, STOPPING, guarded
from adora_ros.errors import ManagerError
from adora_ros.warm.process import begin

if TYPE_CHECKING:
    from collections.abc import Sequence

ROS_ARGUMENTS = '--ros-args'
END_OF_ROS_ARGUMENTS = '--'


def main(argv: Sequence[str] | None = None) -> int:
    """Run a manager and return its exit code.

    Args:
        argv: Its arguments, without the program's name; by default those of the process.

    """
    own = without_ros_arguments(sys.argv[1:] if argv is None else argv)
    return guarded(_run, parser().parse_args(own), program='manager')


def without_ros_arguments(argv: Sequence[str]) -> list[str]:
    """Return the arguments that are not from ``--ros-args`` to ``--``, which rclpy reads from the process's own.

    The rule is that of https://design.ros2.org/articles/ros_command_line_arguments.html.
    """
    own: list[str] = []
    inside = False
    for argument in argv:
        if argument == ROS_ARGUMENTS:
            inside = True
        elif inside and argument == END_OF_ROS_ARGUMENTS:
            inside = False
        elif not inside:
            own.append(argument)
    return own


def parser() -> argparse.ArgumentParser:
    """Return the parser of the executable's command line."""
    parser = argparse.ArgumentParser(
        prog='manager',
        description='Run a dataflow under a lifecycle node /<dataflow>/manager, or /<dataflow>/manager_<machine>.',
        epilog=f'{EXIT_CODES}\n{STOPPING}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--dataflow',
        metavar='FILE',
        help='the dataflow, a YAML file; without one, the manager waits for the coordinator to give it this '
        "machine's share of dataflows that are started (`adora start`)",
    )
    parser.add_argument(
        '--no-autostart',
        dest='autostart',
        action='store_false',
        help='wait, unconfigured, to be driven by the lifecycle services; configure loads, activate starts, '
        'deactivate stops the dataflow',
    )
    add_arguments(parser)
    share = parser.add_argument_group('as a waiting manager has it started')
    share.add_argument('--place', metavar='FILE', type=Path, help='path that the dataflow file is taken to have')
    share.add_argument('--run-id', metavar='UUID', default='', help='uuid of the run (default: a new one)')
    share.add_argument('--rest', action='store_true', help='also run the nodes that name no machine')
    return parser


def _run(arguments: argparse.Namespace) -> int:
    if arguments.dataflow is None:
        return _wait(arguments)
    process = begin()
    from adora_ros.cli.foreground import options_of, run  # noqa: PLC0415 - meanwhile the warm process loads

    options = dataclasses.replace(
        options_of(arguments, arguments.dataflow, autostart=arguments.autostart),
        place=arguments.place,
        run_id=arguments.run_id,
        rest=arguments.rest,
    )
    return run(options, arguments, process)


def _wait(arguments: argparse.Namespace) -> int:
    given = vars(arguments)
    for name, default in vars(parser().parse_args([])).items():
        if name != 'machine' and given[name] != default:
            msg = f'--{name.replace("_", "-")} is for a manager that runs a dataflow; give that with --dataflow FILE'
            raise ManagerError(msg)
    from adora_ros.manager.standby import Standby  # noqa: PLC0415 - it needs rclpy, which --help does not

    return asyncio.run(Standby(arguments.machine).main())


if __name__ == '__main__':
    sys.exit(main())
