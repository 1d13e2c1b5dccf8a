"""``ros2 adora``: the commands of ``adora`` in the ``ros2`` command line.

ros2cli imports this for every user of ``ros2``, so nothing else is imported before the command has been chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ros2cli.command import CommandExtension

if TYPE_CHECKING:
    import argparse


class AdoraCommand(CommandExtension):  # type: ignore[misc]
    """Run dataflows as supervised, lifecycle-managed nodes."""

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Add the commands of ``adora``."""
        from adora_ros.cli.main import EXIT_CODES, add_commands  # noqa: PLC0415 - see above

        del cli_name
        add_commands(parser)
        parser.epilog = EXIT_CODES

    def main(self, *, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
        """Run the chosen command and return its exit code."""
        from adora_ros.cli.main import guarded  # noqa: PLC0415 - see above

        return guarded(args.command, args, program=parser.prog + ' adora')
