"""Runs a manager in the foreground of a terminal, a pipe or a service."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.cli.console import Console, FileDescriptorSink
from adora_ros.cli.ink import ColorMode, Ink, wants_color
from adora_ros.cli.render import Renderer
from adora_ros.cli.summary import UNLIMITED, summary
from adora_ros.cli.values import duration, variable
from adora_ros.manager.options import Options

if TYPE_CHECKING:
    import argparse

    from adora_ros.dataflow import Dataflow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every way to run a manager in the foreground takes."""
    run = parser.add_argument_group('the run')
    run.add_argument('--name', metavar='NAME', help="name of the dataflow and its namespace (default: the file's stem)")
    run.add_argument('--machine', metavar='NAME', default='', help='name of this machine in `deploy.machine`')
    run.add_argument(
        '--env',
        metavar='NAME=VALUE',
        type=variable,
        action='append',
        default=[],
        help="environment variable for all nodes, over the dataflow's own `env`; may be repeated",
    )
    run.add_argument(
        '--stop-after',
        metavar='TIME',
        type=duration,
        help='stop the dataflow after this time, such as 25, 25s, 500ms, 2m or 1h; exits with 0 if no node failed',
    )
    display = parser.add_argument_group('what is shown')
    display.add_argument(
        '-q', '--quiet', '--no-node-output', action='store_true', help='do not show what nodes print (the log files do)'
    )
    display.add_argument('-v', '--verbose', action='store_true', help='also show events of level DEBUG')
    display.add_argument(
        '--color',
        choices=[mode.value for mode in ColorMode],
        default=ColorMode.AUTO.value,
        help='when to use colour; auto is on a terminal, unless NO_COLOR is set (default: auto)',
    )


def run(options: Options, arguments: argparse.Namespace, dataflow: Dataflow | None = None) -> int:
    """Run a manager until it ends, show what happens, and return its exit code.

    Args:
        options: What to run.
        arguments: What :func:`add_arguments` has put into the command line.
        dataflow: The dataflow, if it has been loaded.

    Raises:
        AdoraError: the manager cannot run; the text says why.

    """
    from adora_ros.manager.app import Manager  # noqa: PLC0415 - it needs rclpy, which nothing else here does

    is_terminal = sys.stdout.isatty()
    ink = Ink(color=wants_color(ColorMode(arguments.color), is_terminal=is_terminal))
    width = max((len(node.id) for node in dataflow.nodes), default=0) if dataflow is not None else 0
    console = Console(
        FileDescriptorSink(sys.stdout.fileno(), sys.stdout.encoding),
        Renderer(ink, width=width),
        verbose=arguments.verbose,
        show_output=not arguments.quiet,
    )
    text = ''
    try:
        outcome = asyncio.run(Manager(options, console, dataflow=dataflow).main())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run is over; there is nothing left to interrupt
        columns = shutil.get_terminal_size().columns if is_terminal else UNLIMITED
        text = summary(outcome, console.up_times(), ink, columns=columns)
    finally:
        console.finish(text)
    return outcome.exit_code


def options_of(arguments: argparse.Namespace, file: str, *, autostart: bool = True) -> Options:
    """Return the options that a command line asks for; ``file`` is that of the dataflow."""
    return Options(
        file=Path(file),
        name=arguments.name,
        machine=arguments.machine,
        env=dict(arguments.env),
        autostart=autostart,
        stop_after=arguments.stop_after,
    )
