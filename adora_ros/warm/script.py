"""Running a script as ``python script.py`` does, in an interpreter that has run something else before."""

from __future__ import annotations

import builtins
import contextlib
import os
import sys
import traceback
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CANNOT_OPEN = 2
"""Exit code of Python for a script that cannot be read."""


class Script:
    """A script and its arguments."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Prepare to run a script.

        Args:
            argv: Interpreter, script and arguments.

        """
        self._argv = list(argv)
        self._path = argv[1]

    def prepare(self) -> None:
        """Give the interpreter the arguments, the module path and the ``__main__`` of the script."""
        sys.argv = self._argv[1:]
        sys.orig_argv = self._argv
        if not getattr(sys.flags, 'safe_path', False):
            sys.path.insert(0, folder(self._path))
        main = types.ModuleType('__main__')
        main.__dict__.update(
            __builtins__=builtins,
            __file__=self._path,
            __cached__=None,
            __loader__=SourceFileLoader('__main__', self._path),
        )
        if sys.version_info < (3, 14):
            main.__annotations__ = {}
        sys.modules['__main__'] = main

    def run(self) -> None:
        """Run the script; what it raises is shown and ends the process as ever, without the frames of this package.

        Raises:
            BaseException: what the script raises, for the interpreter to choose the exit code by.

        """
        try:
            source = Path(self._path).read_bytes()
        except OSError as error:
            reason = f'[Errno {error.errno}] {error.strerror}'
            sys.stderr.write(f"{sys.executable}: can't open file {self._path!r}: {reason}\n")
            sys.exit(CANNOT_OPEN)
        failure = None
        try:
            exec(compile(source, self._path, 'exec', dont_inherit=True), sys.modules['__main__'].__dict__)  # noqa: S102
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - shown below, where it is not being handled any more
            failure = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        if failure is not None:
            _show(failure)
            sys.excepthook = _ignore
            raise failure


def folder(path: str) -> str:
    """Return the folder of a script, where it looks for its modules first: that of the file itself, not of a link."""
    return os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - what the interpreter has there is text


def _show(error: BaseException) -> None:
    """Show an exception that nobody has caught, as the interpreter does."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as failure:  # noqa: BLE001 - reported, as the interpreter does
        with contextlib.suppress(Exception):
            sys.stderr.write('Error in sys.excepthook:\n')
            traceback.print_exception(failure.with_traceback(failure.__traceback__ and failure.__traceback__.tb_next))
            sys.stderr.write('\nOriginal exception was:\n')
            traceback.print_exception(error)


def _ignore(*_: object) -> None:
    """Show nothing, since that has been done."""
