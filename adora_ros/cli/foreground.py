"""Runs a manager in the foreground of a terminal, a pipe or a service."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.cli.console import Console, FileDescriptorSink
from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.render import Renderer
from adora_ros.cli.summary import SIGNAL_BASE, summary
from adora_ros.cli.tables import UNLIMITED
from adora_ros.cli.values import ColorMode
from adora_ros.manager.eventstream import EventStream
from adora_ros.manager.options import Listener, Options, Outcome
from adora_ros.manager.processes import hold_stop_signals
from adora_ros.manager.warm import WarmStarts
from adora_ros.warm import ending

if TYPE_CHECKING:
    import argparse

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.app import Manager
    from adora_ros.manager.events import ManagerEvent
    from adora_ros.manager.logs import Stream
    from adora_ros.warm.process import WarmProcess


def run(options: Options, arguments: argparse.Namespace, process: WarmProcess | None) -> int:
    """Run a manager until it ends, show what happens, and return its exit code.

    Args:
        options: What to run.
        arguments: What :func:`adora_ros.cli.arguments.add_arguments` has put into the command line.
        process: The warm process, if there is one.

    Raises:
        DataflowError: the dataflow cannot be run.
        AdoraError: the manager cannot run; the text says why.

    """
    with contextlib.closing(WarmStarts(process)) as warm:
        dataflow = load_for(options) if options.autostart else None
        return _run(options, arguments, dataflow, warm)


def _run(options: Options, arguments: argparse.Namespace, dataflow: Dataflow | None, warm: WarmStarts) -> int:
    hold_stop_signals()
    from adora_ros.manager.app import Manager  # noqa: PLC0415 - it needs rclpy, which nothing else here does

    gc.freeze()  # what has been imported stays: no search for garbage in it, above all not at the end
    gc.enable()
    ending.prepare()
    ending.spare_loaded_modules()
    is_terminal = sys.stdout.isatty()
    ink = Ink(color=wants_color(ColorMode(arguments.color), is_terminal=is_terminal))
    width = max((len(node.id) for node in dataflow.nodes), default=0) if dataflow is not None else 0
    console = Console(
        FileDescriptorSink(sys.stdout.fileno(), sys.stdout.encoding),
        Renderer(ink, width=width),
        verbose=arguments.verbose,
        show_output=not arguments.quiet,
        show_progress=is_terminal and os.environ.get('TERM') != 'dumb',
    )
    text = ''
    stream = None
    try:
        stream = EventStream(arguments.events) if arguments.events else None
        listener = console if stream is None else Both(console, stream)
        manager = Manager(options, listener, dataflow=dataflow, warm=warm)
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
        exit_when_nodes_finish=arguments.exit_when_nodes_finish,
    )


def load_for(options: Options) -> Dataflow:
    """Return the dataflow that a manager with these options runs.

    Raises:
        DataflowError: it cannot be run.

    """
    return options.load()
