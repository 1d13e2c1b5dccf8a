"""Values that the YAML writes in a form of their own."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNITS = {'': 1, 'B': 1, 'K': 1024, 'KB': 1024, 'M': 1024**2, 'MB': 1024**2, 'G': 1024**3, 'GB': 1024**3}
_SIZE = re.compile(r'\s*([0-9]+|[0-9]*\.[0-9]+|[0-9]+\.)\s*([A-Za-z]*)\s*')
_SIZE_LIMIT = 2**63
_VARIABLE = re.compile(r'\$(?:\$|(\w+)|\{([^}:]+)(?::-([^}]*))?\})', re.ASCII)


def byte_size(value: int | str) -> int:
    """Return a size such as ``50MB`` in bytes; the units are powers of 1024, as in dora.

    Raises:
        ValueError: it is not a size.

    """
    match = _SIZE.fullmatch(str(value))
    if match is None or match[2].upper() not in _UNITS:
        msg = f'`{value}` is not a size; write it as a number with B, KB, MB or GB'
        raise ValueError(msg)
    size = int(Decimal(match[1]) * _UNITS[match[2].upper()])
    if size >= _SIZE_LIMIT:
        msg = f'`{value}` is too large'
        raise ValueError(msg)
    return size


def env_text(value: Any) -> str:
    """Return a scalar of an ``env`` as the text of the variable, as dora writes it: ``true``, ``1`` for ``1.0``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value):
        text = format(Decimal(repr(value)), 'f')
        return text.rstrip('0').rstrip('.') if '.' in text else text
    return str(value)


def expand(text: str, env: Mapping[str, str], *, strict: bool) -> str:
    """Return ``text`` with ``$NAME``, ``${NAME}`` and ``${NAME:-default}`` replaced; ``$$`` is one dollar sign.

    Args:
        text: any text.
        env: the variables.
        strict: whether a variable that is not set is an error; else it stays as written.

    Raises:
        ValueError: a variable is not set.

    """

    def replace(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name is None:
            return '$'
        if name in env:
            return env[name]
        if match[3] is not None:
            return match[3]
        if strict:
            msg = f'the environment variable `{name}` is not set; set it, or write ${{{name}:-default}}'
            raise ValueError(msg)
        return match[0]

    return _VARIABLE.sub(replace, text)
