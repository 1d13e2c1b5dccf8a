"""Values on a command line."""

from __future__ import annotations

import argparse
import math
import re
from enum import Enum

_UNITS = {'': 1.0, 'ms': 0.001, 's': 1.0, 'm': 60.0, 'min': 60.0, 'h': 3600.0, 'd': 86400.0}
_DURATION = re.compile(r'(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)')
_VARIABLE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


class ColorMode(str, Enum):
    """When to use colour."""

    AUTO = 'auto'
    ALWAYS = 'always'
    NEVER = 'never'


def is_text(text: str) -> bool:
    """Return whether what the system has as a text is one, and not bytes of another encoding in its place."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def duration(text: str) -> float:
    """Return the seconds that a duration such as ``25``, ``25s``, ``500ms``, ``2m`` or ``1.5h`` stands for.

    Raises:
        argparse.ArgumentTypeError: it is not a duration, or not one above zero.

    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS:
        msg = f'`{text}` is not a duration; write it like 25, 25s, 500ms, 2m or 1h'
        raise argparse.ArgumentTypeError(msg)
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds <= 0 or not math.isfinite(seconds):
        msg = f'`{text}` is not a duration above zero'
        raise argparse.ArgumentTypeError(msg)
    return seconds


def duration_or_none(text: str) -> float:
    """Return the seconds of a :func:`duration`, which may be none at all: ``0``.

    Raises:
        argparse.ArgumentTypeError: it is not a duration.

    """
    return 0.0 if text.strip() == '0' else duration(text)


def count(text: str) -> int:
    """Return a whole number above zero.

    Raises:
        argparse.ArgumentTypeError: it is not one.

    """
    if not text.isdecimal() or int(text) == 0:
        msg = f'`{text}` is not a whole number above zero'
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def name(text: str) -> str:
    """Return a name.

    Raises:
        argparse.ArgumentTypeError: it is empty.

    """
    if not text.strip():
        msg = 'the name is empty; leave it out for the default'
        raise argparse.ArgumentTypeError(msg)
    return text


def variable(text: str) -> tuple[str, str]:
    """Return name and value of ``NAME=VALUE``; the value may be empty and may contain ``=``.

    Raises:
        argparse.ArgumentTypeError: it is not of that form.

    """
    name, equals, value = text.partition('=')
    if not equals or _VARIABLE.fullmatch(name) is None:
        msg = f'`{text}` is not NAME=VALUE, with a name of letters, digits and _'
        raise argparse.ArgumentTypeError(msg)
    return name, value
