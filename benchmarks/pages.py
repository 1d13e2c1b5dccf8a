"""One page of the documentation that several benchmarks write, each its own section."""

from __future__ import annotations

import re


def with_section(page: str, name: str, text: str) -> str:
    """Return a page whose section of this name is ``text``, at its place or else at the end."""
    section = f'{_begin(name)}\n\n{text.strip()}\n\n{_end(name)}\n'
    pattern = _pattern(name)
    if pattern.search(page):
        return pattern.sub(lambda _: section, page)
    return f'{page.rstrip()}\n\n{section}' if page.strip() else section


def sections_of(page: str) -> str:
    """Return all sections of a page that have a name."""
    names = re.findall(r'^<!-- begin (\w+) -->$', page, re.MULTILINE)
    return '\n'.join(match[0] for name in names if (match := _pattern(name).search(page)) is not None)


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(f'{re.escape(_begin(name))}\n.*?{re.escape(_end(name))}\n', re.DOTALL)


def _begin(name: str) -> str:
    return f'<!-- begin {name} -->'


def _end(name: str) -> str:
    return f'<!-- end {name} -->'
