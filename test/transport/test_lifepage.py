"""The time of the last proof of life, shared between two processes."""

from __future__ import annotations

import os

import pytest

from adora_ros.transport import lifepage
from adora_ros.transport.lifepage import LifePage


def test_what_one_end_writes_the_other_reads() -> None:
    fd = lifepage.create()
    reader, writer = LifePage(fd), LifePage(fd)
    os.close(fd)
    assert reader.read() is None
    for now in (0.125, 12345.678):
        writer.write(now)
        assert reader.read() == now


def test_another_process_writes_it() -> None:
    fd = lifepage.create()
    page = LifePage(fd)
    child = os.fork()
    if child == 0:
        LifePage(fd).write(7.5)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(fd)
    assert page.read() == 7.5


def test_it_is_not_inherited_unless_that_is_asked_for() -> None:
    fd = lifepage.create()
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_a_file_that_is_too_small_is_refused() -> None:
    fd = os.memfd_create('empty')
    with pytest.raises(ValueError, match='greater than file size'):
        LifePage(fd)
    os.close(fd)
