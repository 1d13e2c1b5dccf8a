"""``build``: makes what the nodes run, and notes it with the coordinator if there is one."""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING

from adora_ros.cli.ink import Ink, wants_color
from adora_ros.cli.records import BuildNote
from adora_ros.cli.render import Renderer
from adora_ros.cli.values import ColorMode
from adora_ros.dataflow import load
from adora_ros.errors import DataflowError
from adora_ros.manager import building
from adora_ros.manager.logs import Stream

if TYPE_CHECKING:
    import argparse


def build(arguments: argparse.Namespace) -> int:
    """Build the nodes of a dataflow one after another.

    Raises:
        DataflowError: the file is wrong, or has no such node.
        BuildError: something failed; the nodes after it are not built.

    """
    dataflow = load(arguments.file, name=arguments.name, built=False)
    buildable = [node.id for node in dataflow.nodes if building.is_buildable(node)]
    wanted = [node for node in buildable if node in arguments.node or not arguments.node]
    unknown = set(arguments.node) - set(buildable)
    if unknown:
        msg = f'{arguments.file}: nothing builds a node `{min(unknown)}`; give a node that has `build` or `git`'
        raise DataflowError(msg)
    if not wanted:
        sys.stdout.write(f'nothing to build: no node of {dataflow.name} has `build` or `git`\n')
        return 0
    ink = Ink(color=wants_color(ColorMode.AUTO, is_terminal=sys.stdout.isatty()))
    renderer = Renderer(ink, width=max(map(len, wanted)))

    def say(node: str, line: str) -> None:
        sys.stdout.write(f'{renderer.output(node, Stream.STDOUT, line.encode())}\n')
        sys.stdout.flush()

    with BuildNote(str(uuid.uuid4()), dataflow.name, arguments.timeout):
        building.build(dataflow, output=say, nodes=wanted, uv=arguments.uv)
    sys.stdout.write(f'built {len(wanted)} of {dataflow.name}: {", ".join(wanted)}\n')
    return 0
