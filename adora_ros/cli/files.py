"""The commands that look at a dataflow without running it: ``validate``, ``graph`` and ``schema``."""

from __future__ import annotations

import json
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.cli.graphpage import page
from adora_ros.dataflow import Dataflow, edges, json_schema, load, mermaid
from adora_ros.errors import AdoraError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


PAGE_SUFFIXES = {'.html', '.htm'}


class OutputError(AdoraError, OSError):
    """A file could not be written."""


def validate(arguments: argparse.Namespace) -> int:
    """Check a dataflow file and print what it holds.

    Raises:
        DataflowError: it cannot be run.

    """
    dataflow = _load(arguments, {'strict_types': True} if arguments.strict_types else {})
    sys.stdout.write(f'ok: {_count(len(dataflow.nodes), "node")}, {_count(len(edges(dataflow)), "edge")}\n')
    return 0


def graph(arguments: argparse.Namespace) -> int:
    """Print a dataflow as a Mermaid flowchart, or write it as a page.

    Raises:
        DataflowError: it cannot be run.
        OutputError: the output file cannot be written.

    """
    dataflow = _load(arguments)
    output: Path | None = arguments.output
    if arguments.open:
        target = output or _temporary(dataflow.name)
        _write(target, page(dataflow))
        sys.stdout.write(f'{target}\n')
        sys.stdout.flush()
        if not webbrowser.open(target.absolute().as_uri()):
            sys.stderr.write(f'adora: no browser could be started; open {target} in one\n')
    elif output is not None:
        as_page = output.suffix.lower() in PAGE_SUFFIXES
        _write(output, page(dataflow) if as_page else mermaid(dataflow))
        sys.stdout.write(f'{output}\n')
    else:
        sys.stdout.write(mermaid(dataflow))
    return 0


def schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of the dataflow YAML."""
    del arguments
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + '\n')
    return 0


def _load(arguments: argparse.Namespace, overrides: Mapping[str, Any] | None = None) -> Dataflow:
    dataflow = load(arguments.file, name=arguments.name, overrides=overrides)
    for warning in dataflow.warnings:
        sys.stderr.write(f'{warning}\n')
    return dataflow


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding='utf-8')
    except OSError as error:
        msg = f'{file}: cannot be written: {error.strerror}'
        raise OutputError(msg) from error


def _temporary(name: str) -> Path:
    with tempfile.NamedTemporaryFile(prefix=f'{name}-', suffix='.html', delete=False) as file:
        return Path(file.name)


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'
