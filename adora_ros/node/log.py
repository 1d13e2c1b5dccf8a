"""Log lines that a manager can read: one JSON object each, with dora's keys."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS_LIMIT = 60 * 1024
"""Largest size of the fields of a line in bytes of JSON, as in dora 1.1; larger ones are left out."""

_LEVELS = {'error': 'error', 'warn': 'warn', 'warning': 'warn', 'info': 'info', 'debug': 'debug', 'trace': 'trace'}


def log_line(
    node_id: str, level: str, message: str, target: str | None = None, fields: Mapping[str, str] | None = None
) -> str:
    """Return a log line without its end, in ASCII: no text and no locale can make writing it fail.

    Fields that are too large are left out: ``fields_dropped`` says so in the line, and a text on the standard error.
    """
    entry: dict[str, object] = {
        'timestamp': datetime.now(timezone.utc).isoformat(),
        'level': _LEVELS.get(level.lower(), 'info'),
        'node_id': node_id,
        'message': message,
    }
    if target is not None:
        entry['target'] = target
    if fields is not None:
        texts = {str(key): str(value) for key, value in fields.items()}
        if len(json.dumps(texts, ensure_ascii=False).encode(errors='replace')) <= FIELDS_LIMIT:
            entry['fields'] = dict(sorted(texts.items()))
        else:
            entry['fields_dropped'] = True
            sys.stderr.write(f'log fields of node {node_id!r} exceed {FIELDS_LIMIT} bytes and are left out\n')
    return json.dumps(entry)
