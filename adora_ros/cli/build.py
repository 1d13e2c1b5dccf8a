"""``build``: runs the ``build`` lines of the nodes, and notes it with the coordinator if there is one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.records import BuildNote
from adora_ros.cli.render import Renderer
from adora_ros.cli.values import ColorMode
from adora_ros.dataflow.build import build_plan
from adora_ros.errors import CommandError, DataflowError
from adora_ros.manager.logs import Stream

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from adora_ros.dataflow.build import BuildPlan


def build(arguments: argparse.Namespace) -> int:
    """Build the nodes of a dataflow one after another.

    Raises:
        DataflowError: the file is wrong, or has no such node.
        CommandError: a command failed; the nodes after it are not built.

    """
    try:
        plan = build_plan(arguments.file, name=arguments.name)
    except DataflowError:
        raise
    except ValueError as error:
        msg = f'{arguments.file}: {error}'
        raise DataflowError(msg) from error
    wanted = set(arguments.node) or {each.node for each in plan.nodes}
    unknown = wanted - {each.node for each in plan.nodes}
    if unknown:
        msg = f'{arguments.file}: nothing builds a node `{min(unknown)}`; give a node that has `build`'
        raise DataflowError(msg)
    if not wanted:
        sys.stdout.write(f'nothing to build: no node of {plan.name} has `build`\n')
        return 0
    note = BuildNote(str(uuid.uuid4()), plan.name, arguments.timeout)
    with note:
        _build(plan, wanted)
    sys.stdout.write(f'built {len(wanted)} of {plan.name}: {", ".join(sorted(wanted))}\n')
    return 0


def _build(plan: BuildPlan, wanted: set[str]) -> None:
    ink = Ink(color=wants_color(ColorMode.AUTO, is_terminal=sys.stdout.isatty()))
    renderer = Renderer(ink, width=max(map(len, wanted)))
    for each in plan.nodes:
        if each.node not in wanted:
            continue
        for command in each.commands:
            _say(renderer.output(each.node, Stream.STDOUT, f'$ {command}'.encode()))
            _run(each.node, command, plan.folder, each.env, renderer)


def _run(node: str, command: str, folder: Path, env: Mapping[str, str], renderer: Renderer) -> None:
    try:
        words = shlex.split(command)
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except ValueError as error:
        msg = f'{node}: `{command}`: {error}'
        raise CommandError(msg) from error
    except OSError as error:
        msg = f'{node}: `{command}` cannot be run: {error.strerror}'
        raise CommandError(msg) from error
    with process:
        for line in process.stdout or ():
            _say(renderer.output(node, Stream.STDOUT, line.rstrip(b'\n')))
    if process.returncode:
        how = f'exit code {process.returncode}' if process.returncode > 0 else f'signal {-process.returncode}'
        msg = f'{node}: `{command}` failed: {how}'
        raise CommandError(msg)


def _say(text: str) -> None:
    sys.stdout.write(f'{text}\n')
    sys.stdout.flush()
