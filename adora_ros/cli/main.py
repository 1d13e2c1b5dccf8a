"""The ``adora`` command line."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from adora_ros.cli import arguments as operate
from adora_ros.cli.arguments import later
from adora_ros.cli.completion import answer_shell, complete_dataflow
from adora_ros.cli.help import FILES, explain
from adora_ros.cli.values import is_text
from adora_ros.errors import AdoraError, CommandError
from adora_ros.transport.leaving import leaving_last

EXIT_CODES = """\
exit codes:
  0    all well
  1    a node failed
  2    bad input: the file or the command line is wrong, or the name is taken
  130  interrupted by SIGINT (Ctrl-C), and no node had failed
  143  ended by SIGTERM, and no node had failed
"""
STOPPING = """\
Ctrl-C or SIGTERM stops all nodes, sources first; a second one skips to SIGTERM for them, a third to SIGKILL.
"""
NOT_DONE = 1
BAD_INPUT = 2
NOBODY_READS = 128 + signal.SIGPIPE

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ``adora`` command and return its exit code.

    Args:
        argv: Its arguments, without the program's name; by default those of the process.

    """
    own = parser()
    answer_shell(own)
    arguments, unknown = own.parse_known_args(argv)
    if unknown:
        chosen: argparse.ArgumentParser = arguments.parser
        chosen.error(f'unrecognized arguments: {" ".join(unknown)}{_nearest(unknown[0], chosen)}')
    return guarded(arguments.command, arguments, program='adora')


def _nearest(option: str, parser: argparse.ArgumentParser) -> str:
    """Return what option of a command may have been meant, or where to read of all."""
    from adora_ros.dataflow.problems import nearest  # noqa: PLC0415 - what it brings is only for those who mistype

    known = [each for action in parser._actions for each in action.option_strings]  # noqa: SLF001 - argparse tells nobody
    return nearest(option.partition('=')[0], known) or f'; see `{parser.prog} --help`'


def guarded(command: Command, arguments: argparse.Namespace, *, program: str) -> int:
    """Run a command; print what it expects to go wrong as lines on the standard error, and return the exit code.

    ROS is left after that, so that nothing is lost if it cannot be.
    """
    if sys.stdout is None:  # started with the standard output closed
        sys.stdout = Path(os.devnull).open('w', encoding='utf-8')  # noqa: SIM115 - it stays open
    garbled = next((text for text in sys.argv if not is_text(text)), None)
    if garbled is not None:
        sys.stderr.write(
            f'{program}: error: {garbled!a} is not text in UTF-8, which is all that ROS 2 takes; rename it\n'
        )
        return BAD_INPUT
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors='backslashreplace')  # what the encoding of the locale has no characters for
    return leaving_last(lambda: _exit_code(command, arguments, program))


def _exit_code(command: Command, arguments: argparse.Namespace, program: str) -> int:
    try:
        try:
            code = command(arguments)
        except AdoraError as error:
            sys.stderr.write(_complaint(error, program))
            code = NOT_DONE if isinstance(error, CommandError) else BAD_INPUT
        except OSError as error:
            if error.filename is None:
                raise
            sys.stderr.write(f'{program}: error: {error.filename}: {error.strerror}\n')
            code = NOT_DONE
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain about it once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return code


def _complaint(error: AdoraError, program: str) -> str:
    """Return what to say of an error: a line, or what :class:`adora_ros.dataflow.DataflowErrors` has, one each."""
    problems = getattr(error, 'problems', None)
    if problems is not None:
        return ''.join(f'{problem}\n' for problem in problems)
    return f'{program}: error: {error}\n'


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    made = argparse.ArgumentParser(
        prog='adora',
        description='Run dataflows as supervised, lifecycle-managed ROS 2 nodes.',
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument('--version', action='version', version=f'%(prog)s {_version()}')
    add_commands(made)
    return made


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands; the one that was chosen is then in ``command`` of what is parsed, for :func:`guarded`."""
    commands = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    for name, (text, fill) in _COMMANDS.items():
        made = commands.add_parser(name, help=text, description=f'{text[0].upper()}{text[1:]}.')
        made.set_defaults(parser=made)
        fill(made)


def _version() -> str:
    try:
        return importlib.metadata.version('adora_ros')
    except importlib.metadata.PackageNotFoundError:
        return '(run from its source, not installed)'


def _fill_run(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    operate.add_arguments(parser)
    explain(parser, f'{EXIT_CODES}\n{STOPPING}')
    parser.set_defaults(command=later('run', 'run_file'))


def _fill_start(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    operate.fill_start(parser)


def _fill_build(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    operate.fill_build(parser)


def _fill_validate(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    operate.add_name(parser)
    parser.add_argument('--strict-types', action='store_true', help='take types that do not fit for errors')
    explain(parser, FILES)
    parser.set_defaults(command=later('files', 'validate'))


def _fill_graph(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    operate.add_name(parser)
    parser.add_argument('--open', action='store_true', help='show it as a page in a browser')
    parser.add_argument(
        '--output', metavar='FILE', type=Path, help='write to FILE instead: a page if it ends in .html, else Mermaid'
    )
    explain(parser, FILES)
    parser.set_defaults(command=later('files', 'graph'))


def _fill_schema(parser: argparse.ArgumentParser) -> None:
    explain(parser)
    parser.set_defaults(command=later('files', 'schema'))


def _add_file(parser: argparse.ArgumentParser) -> None:
    file = parser.add_argument('file', metavar='FILE', help='the dataflow, a YAML file')
    file.completer = complete_dataflow  # type: ignore[attr-defined] # where argcomplete looks for it


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    'run': ('run a dataflow in the foreground until it ends or is stopped', _fill_run),
    'validate': ('check a dataflow file', _fill_validate),
    'graph': ('print a dataflow as a Mermaid flowchart, or show it as a page', _fill_graph),
    'start': ('start a dataflow in the background', _fill_start),
    'stop': ('stop a running dataflow', operate.fill_stop),
    'restart': ('stop a running dataflow and start it again', operate.fill_restart),
    'list': ('list dataflows', operate.fill_list),
    'ps': ('list the nodes of running dataflows', operate.fill_ps),
    'node': ('restart, stop, start or look at one node', operate.fill_node),
    'topic': ('show the values on a topic', operate.fill_topic),
    'machines': ('list the machines that the coordinator knows', operate.fill_machines),
    'logs': ('show what the nodes of a run printed', operate.fill_logs),
    'events': ('show what happened and what happens', operate.fill_events),
    'build': ('run what builds the nodes of a dataflow', _fill_build),
    'clean': ('remove old logs and what dead processes left', operate.fill_clean),
    'schema': ('print the JSON Schema of the dataflow YAML', _fill_schema),
}
