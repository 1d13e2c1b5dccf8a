"""Where the executables of this package are."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

PACKAGE = 'adora_ros'


def program(executable: str) -> tuple[str, ...]:
    """Return the command for an executable of this package: the installed one, else its module on this interpreter."""
    # Without an ament index, or one that knows the package: ImportError, OSError, LookupError.
    with contextlib.suppress(ImportError, OSError, LookupError):
        from ament_index_python import get_package_prefix  # noqa: PLC0415 - only to run something

        path = Path(get_package_prefix(PACKAGE), 'lib', PACKAGE, executable)
        if path.exists():
            return (str(path),)
    return (sys.executable, '-m', f'adora_ros.cli.{executable}')
