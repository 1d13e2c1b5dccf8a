"""Python's ``logging`` on the log of a node, as dora does it.

``logging.basicConfig`` gets another default: a handler that writes log lines as :meth:`Node.log` does. It is what
``logging.info()`` and the like call when logging has not been set up, so a script need not do anything.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS = ((logging.ERROR, 'error'), (logging.WARNING, 'warn'), (logging.INFO, 'info'), (logging.DEBUG, 'debug'))


class NodeHandler(logging.Handler):
    """Writes records as log lines of a node.

    Args:
        write: takes level, message and target.
        level: lowest level that is written.

    """

    def __init__(self, write: Callable[[str, str, str], None], level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter('%(message)s'))
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, with the traceback if it has one."""
        level = next((name for least, name in LEVELS if record.levelno >= least), 'trace')
        try:
            self._write(level, self.format(record), record.name)
        except Exception:  # noqa: BLE001 - logging has a place for errors of handlers
            self.handleError(record)


def install(write: Callable[[str, str, str], None]) -> None:
    """Let ``logging.basicConfig`` set up a :class:`NodeHandler`, once in a process.

    What the caller asks for comes on top: handlers, a file or a stream of their own. Without a ``level``, records from
    INFO on are written.
    """
    original = logging.basicConfig
    if hasattr(original, '__wrapped__'):
        return

    @functools.wraps(original)
    def basic_config(**options: Any) -> None:
        handler = NodeHandler(write, logging.NOTSET if 'level' in options else logging.INFO)
        if 'filename' in options or 'stream' in options:
            before = list(logging.root.handlers)
            original(**options)
            if logging.root.handlers != before:
                logging.root.addHandler(handler)
            return
        given = options.pop('handlers', None)
        original(handlers=[*(given or ()), handler], **{'level': logging.NOTSET, **options})

    logging.basicConfig = basic_config
