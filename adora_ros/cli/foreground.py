"""Runs a manager in the foreground of a terminal, a pipe or a service."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.cli.console import Console, FileDescriptorSink
from adora_ros.cli.ink import ColorMode, Ink, wants_color
from adora_ros.cli.render import Renderer
from adora_ros.cli.summary import SIGNAL_BASE, UNLIMITED, summary
from adora_ros.cli.values import duration, variable
from adora_ros.dataflow import load
from adora_ros.manager.eventstream import EventStream
from adora_ros.manager.options import Listener, Options, Outcome
from adora_ros.manager.processes import hold_stop_signals

if TYPE_CHECKING:
    import argparse

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.app import Manager
    from adora_ros.manager.events import ManagerEvent
    from adora_ros.manager.logs import Stream


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every way to run a manager in the foreground takes."""
    run = parser.add_argument_group('the run')
    run.add_argument('--name', metavar='NAME', help="name of the dataflow and its namespace (default: the file's stem)")
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


def run(options: Options, arguments: argparse.Namespace, dataflow: Dataflow | None = None) -> int:
    """Run a manager until it ends, show what happens, and return its exit code.

    Args:
        options: What to run.
        arguments: What :func:`add_arguments` has put into the command line.
        dataflow: The dataflow, if it has been loaded.

    Raises:
        AdoraError: the manager cannot run; the text says why.

    """
    hold_stop_signals()
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
    stream = None
    try:
        stream = EventStream(arguments.events) if arguments.events else None
        manager = Manager(options, console if stream is None else Both(console, stream), dataflow=dataflow)
        outcome = asyncio.run(_main(manager, stream))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run is over; there is nothing left to interrupt
        columns = shutil.get_terminal_size().columns if is_terminal else UNLIMITED
        text = summary(outcome, console.up_times(), ink, columns=columns)
    finally:
        console.finish(text)
        if stream is not None:
            stream.close()
    return outcome.exit_code


async def _main(manager: Manager, stream: EventStream | None) -> Outcome:
    if stream is None:
        return await manager.main()
    stream.when_closed(lambda: manager.stop('the reader of the events asks for it or has ended'))
    outcome = await manager.main()
    if stream.is_closed and outcome.exit_code > SIGNAL_BASE:
        # The terminal's SIGINT reaches both; whoever wants the stop also says so here, and it is not an interruption.
        return dataclasses.replace(outcome, exit_code=0)
    return outcome


class Both:
    """Passes everything on to two listeners."""

    def __init__(self, first: Listener, second: Listener) -> None:
        self._listeners = (first, second)

    def event(self, event: ManagerEvent) -> None:
        """Pass one event on."""
        for listener in self._listeners:
            listener.event(event)

    def output(self, node: str, stream: Stream, lines: list[bytes]) -> None:
        """Pass lines that a node printed on."""
        for listener in self._listeners:
            listener.output(node, stream, lines)


def options_of(arguments: argparse.Namespace, file: str, *, autostart: bool = True) -> Options:
    """Return the options that a command line asks for; ``file`` is that of the dataflow."""
    return Options(
        file=Path(file),
        name=arguments.name,
        machine=arguments.machine,
        outer_namespace=arguments.namespace,
        use_sim_time=arguments.use_sim_time,
        env=dict(arguments.env),
        autostart=autostart,
        stop_after=arguments.stop_after,
    )


def load_for(options: Options) -> Dataflow:
    """Return the dataflow that a manager with these options runs.

    Raises:
        DataflowError: it cannot be run.

    """
    return load(options.file, name=options.name, namespace=options.outer_namespace, env=options.env)
