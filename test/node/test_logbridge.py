"""Python's logging in a node."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import pytest

from adora_ros.node import logbridge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Lines = list[tuple[str, str, str]]


@contextlib.contextmanager
def script() -> Iterator[Lines]:
    """Install the bridge into a logging module that nobody, pytest included, has set up; yield what it writes."""
    root = logging.root
    handlers, level, basic_config = root.handlers[:], root.level, logging.basicConfig
    root.handlers[:] = []
    root.setLevel(logging.WARNING)
    written: Lines = []
    logbridge.install(lambda *line: written.append(line))
    try:
        yield written
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.basicConfig = basic_config


def test_a_script_that_sets_nothing_up_is_heard_from_info_on() -> None:
    with script() as lines:
        logging.info('text %d', 1)  # noqa: LOG015 - what dora's examples do
        logger = logging.getLogger('a.b')
        logger.debug('not shown')
        logger.warning('w')
        logger.critical('c')
        try:
            raise ValueError('why')  # noqa: EM101, TRY301
        except ValueError:
            logger.exception('e')
    assert lines[:3] == [('info', 'text 1', 'root'), ('warn', 'w', 'a.b'), ('error', 'c', 'a.b')]
    level, text, target = lines[3]
    assert (level, target) == ('error', 'a.b')
    assert text.startswith('e\nTraceback')
    assert text.endswith('ValueError: why')


def test_a_level_that_is_asked_for_counts() -> None:
    with script() as lines:
        logging.basicConfig(level=logging.DEBUG, format='%(levelname)s %(message)s')
        logging.getLogger('x').debug('d')
        logging.getLogger('x').log(5, 'below')
    assert lines == [('debug', 'd', 'x')]


def test_a_file_of_the_script_stays(tmp_path: Path) -> None:
    file = tmp_path / 'log.txt'
    with script() as lines:
        logging.basicConfig(filename=file, format='%(message)s!')
        logging.getLogger('x').error('text')
        logging.basicConfig(filename=file)
        logging.getLogger('x').error('once')
    assert lines == [('error', 'text', 'x'), ('error', 'once', 'x')]
    assert file.read_text() == 'text!\nonce!\n'


def test_it_is_installed_once_beside_the_handlers_of_the_script() -> None:
    with script() as lines:
        installed = logging.basicConfig
        logbridge.install(lambda *_: pytest.fail('the second one'))
        assert logging.basicConfig is installed
        own: Lines = []
        handler = logbridge.NodeHandler(lambda *line: own.append(line))
        logging.basicConfig(handlers=[handler])
        logging.getLogger('x').error('text')
    assert lines == own == [('error', 'text', 'x')]
