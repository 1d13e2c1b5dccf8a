"""``ros2 run adora_ros coordinator``: the coordinator as an executable."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from adora_ros.cli.main import guarded
from adora_ros.cli.manager import without_ros_arguments
from adora_ros.cli.values import duration_or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG = """\
The records are the parameters of /adora/store: `ros2 param list /adora/store`.
Timeouts are ROS parameters: --ros-args -p machine_timeout:=30.0 -p recovery_timeout:=30.0

exit codes:
  0    stopped by SIGINT (Ctrl-C), SIGTERM or SIGHUP
  2    bad input: the command line is wrong, the database is one of another version, or the domain has a coordinator
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a coordinator and return its exit code.

    Args:
        argv: Its arguments, without the program's name; by default those of the process.

    """
    own = without_ros_arguments(sys.argv[1:] if argv is None else argv)
    return guarded(_run, parser().parse_args(own), program='coordinator')


def parser() -> argparse.ArgumentParser:
    """Return the parser of the executable's command line."""
    made = argparse.ArgumentParser(
        prog='coordinator',
        description='Keep the records of dataflows, builds and machines, as the node /adora/coordinator.',
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        '--store',
        metavar='memory|sqlite[:PATH]',
        default='memory',
        help='where to keep them; sqlite is ~/.adora/coordinator.db unless PATH says otherwise (default: memory)',
    )
    made.add_argument(
        '--recovery',
        choices=('adopt', 'fail'),
        default='adopt',
        help='what to do with dataflows that were not final when the last coordinator ended: wait for their managers '
        'to report, or mark them Failed (default: adopt)',
    )
    made.add_argument(
        '--linger',
        metavar='TIME',
        type=duration_or_none,
        default=0.0,
        help='how long the end waits for dataflows that are under way, so that theirs is recorded, such as 30s; a '
        'second signal cuts it short (default: 0)',
    )
    return made


def _run(arguments: argparse.Namespace) -> int:
    from adora_ros.coordinator.app import Coordinator, Options  # noqa: PLC0415 - it needs rclpy, which --help does not
    from adora_ros.coordinator.limits import Recovery  # noqa: PLC0415

    options = Options(store=arguments.store, recovery=Recovery(arguments.recovery), linger=arguments.linger)
    return asyncio.run(Coordinator(options).main())


if __name__ == '__main__':
    sys.exit(main())
