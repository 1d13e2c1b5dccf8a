"""The folder for large values: made, locked, emptied, removed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from adora_ros.manager import guardian, sharedmemory
from adora_ros.manager.sharedmemory import SharedMemory, remove_dead_folders, remove_file
from adora_ros.transport import ofd
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    """Make the folder of a run."""
    memory = SharedMemory(str(uuid.uuid4()))
    yield memory
    memory.close()


def test_a_folder_is_for_its_user_and_goes_with_all_that_is_in_it(memory: SharedMemory) -> None:
    folder = memory.folder
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    facts = os.statvfs('/dev/shm')
    assert 0 < memory.limit <= facts.f_blocks * facts.f_frsize // 4
    (folder / 'node.0.0').write_bytes(bytes(10))
    memory.close()
    assert not folder.exists()
    memory.close()


@pytest.mark.parametrize(('limit', 'has_folder'), [(0, False), (1234, True)])
def test_a_limit_is_taken_as_it_is(limit: int, has_folder: bool) -> None:  # noqa: FBT001
    memory = SharedMemory(str(uuid.uuid4()), limit)
    assert (memory.limit, memory.folder is not None, memory.problem) == (limit, has_folder, '')
    memory.close()


def test_without_shared_memory_it_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sharedmemory, 'PAYLOAD_FOLDER_PREFIX', str(tmp_path / 'nowhere' / 'x'))
    memory = SharedMemory('1')
    assert memory.folder is None
    assert memory.problem.startswith('no shared memory for large values, they travel inside their messages: ')
    assert 'No such file' in memory.problem


def test_files_go_a_while_after_their_incarnation(memory: SharedMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharedmemory, 'LINGER', 0.05)
    folder = memory.folder
    assert folder is not None
    for name in ('cam.0.0', 'cam.0.1', 'cam.1.0', 'cam2.0.0'):
        (folder / name).touch()

    async def release() -> None:
        memory.release_later('cam', 0, asyncio.get_running_loop())
        assert len(names(folder)) == 4
        while len(names(folder)) == 4:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(release(), 10.0))
    eventually(lambda: names(folder) == ['cam.1.0', 'cam2.0.0'])


@pytest.mark.parametrize('is_leased', [False, True])
def test_memory_goes_with_the_file_unless_somebody_uses_it(memory: SharedMemory, is_leased: bool) -> None:  # noqa: FBT001
    assert memory.folder is not None
    file = memory.folder / 'node.0.0'
    file.write_bytes(bytes(8192))
    reader = os.open(file, os.O_RDONLY)
    if is_leased:
        assert ofd.lock_shared(reader, 3)
    remove_file(file)
    assert not file.exists()
    assert os.fstat(reader).st_size == (8192 if is_leased else 0)
    os.close(reader)
    remove_file(file)


def test_what_the_dead_have_left_is_removed_and_what_the_living_use_is_not(tmp_path: Path) -> None:
    dead, alive, young, other = (tmp_path / name for name in ('adora-dead', 'adora-alive', 'adora-young', 'other'))
    for folder in (dead, alive, other):
        folder.mkdir()
        (folder / 'node.0.0').touch()
    lock = os.open(alive, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert remove_dead_folders(str(tmp_path / 'adora-'), min_age=60.0) == 0
    assert remove_dead_folders(str(tmp_path / 'adora-'), min_age=0.0) == 1
    young.mkdir()
    assert names(tmp_path) == ['adora-alive', 'adora-young', 'other']
    os.close(lock)


def test_the_guardian_removes_the_folder_of_a_manager_that_died(tmp_path: Path) -> None:
    folder = tmp_path / 'adora-run'
    folder.mkdir()
    (folder / 'node.0.0').touch()
    arguments = [sys.executable, '-I', '-S', guardian.__file__, f'ADORA_RUN={uuid.uuid4()}', str(folder)]
    subprocess.run(arguments, stdin=subprocess.DEVNULL, check=True, timeout=30)
    assert not folder.exists()
