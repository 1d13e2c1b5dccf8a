"""Colour on a terminal, and plain text everywhere else."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rich.color import ColorSystem
from rich.style import Style

from adora_ros.cli.values import ColorMode

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONTROL = re.compile(
    r'\x1b\[[0-9;:?<=>]*[ -/]*[@-~]'  # CSI: colours, cursor
    r'|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)'  # OSC, DCS and other strings: titles, links
    r'|\x1b[ -/]*[0-~]?'  # two-character sequences, and what is left of a cut one
    r'|[\x00-\x08\x0b-\x1f\x7f-\x9f]'  # control characters but tab and line feed
)
_COLOUR = re.compile(r'\x1b\[[0-9;:]*m')
_RESET = '\x1b[0m'


def wants_color(mode: ColorMode, *, is_terminal: bool, env: Mapping[str, str] | None = None) -> bool:
    """Return whether to use colour; ``auto`` is on a terminal that can, unless ``NO_COLOR`` (no-color.org) is set."""
    env = os.environ if env is None else env
    if mode is ColorMode.AUTO:
        return is_terminal and not env.get('NO_COLOR') and env.get('TERM') != 'dumb'
    return mode is ColorMode.ALWAYS


class Ink:
    """Writes in colour, or does not."""

    def __init__(self, *, color: bool) -> None:
        self.color = color

    def paint(self, text: str, style: str) -> str:
        """Return ``text`` in a rich style such as ``bold red``."""
        if not self.color or not text:
            return text
        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)

    def clean(self, text: str) -> str:
        """Return one line that somebody else wrote without what would move the cursor or upset the terminal.

        Its colours stay where colour is wanted. Of a line that overwrote itself (a progress bar) the last state stays.
        """
        text = text.rstrip('\r').rpartition('\r')[2]
        if not self.color:
            return _CONTROL.sub('', text)
        painted = _CONTROL.sub(lambda match: match[0] if _COLOUR.fullmatch(match[0]) else '', text)
        return painted + _RESET if '\x1b' in painted else painted
