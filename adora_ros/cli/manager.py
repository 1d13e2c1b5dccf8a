"""``ros2 run adora_ros manager``: the manager as an executable, for launch files and services."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from adora_ros.cli.arguments import add_arguments
from adora_ros.cli.foreground import load_for, options_of, run
from adora_ros.cli.main import EXIT_CODES, STOPPING, guarded

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
    return guarded(_run, _parser().parse_args(own), program='manager')


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='manager',
        description='Run a dataflow under a lifecycle node /<dataflow>/manager, or /<dataflow>/manager_<machine>.',
        epilog=f'{EXIT_CODES}\n{STOPPING}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--dataflow', metavar='FILE', required=True, help='the dataflow, a YAML file')
    parser.add_argument(
        '--no-autostart',
        dest='autostart',
        action='store_false',
        help='wait, unconfigured, to be driven by the lifecycle services; configure loads, activate starts, '
        'deactivate stops the dataflow',
    )
    add_arguments(parser)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    options = options_of(arguments, arguments.dataflow, autostart=arguments.autostart)
    return run(options, arguments, load_for(options) if options.autostart else None)


if __name__ == '__main__':
    sys.exit(main())
