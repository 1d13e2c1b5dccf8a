"""The folder in shared memory for the large values of a run.

Its lock tells whoever finds it whether its manager lives. What a manager leaves behind is removed by its guardian; what
that leaves, by the next manager of the same user.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.transport import ofd
from adora_ros.transport.contract import PAYLOAD_FOLDER_PREFIX
from adora_ros.transport.ring import MAX_SLOTS

if TYPE_CHECKING:
    import asyncio

SHARE = 4
"""By default the files may take this fraction of what is free when the run starts."""
LINGER = 2.0
"""Seconds for which the files of an incarnation outlive it, since its last messages may still be on their way."""
MIN_AGE = 5.0
"""Seconds from which on a folder without a lock is taken for left behind: its owner may be about to lock it."""


class SharedMemory:
    """Makes the folder of a run, and removes what is in it when it is no longer of use.

    Args:
        mark: Names the run on this machine.
        limit: bytes that all files may take together; None for a :data:`SHARE` of what is free, 0 for no folder.

    """

    def __init__(self, mark: str, limit: int | None = None) -> None:
        self.folder: Path | None = None
        """None if large values travel inside their messages."""
        self.limit = 0
        """Bytes that all files may take together."""
        self.problem = ''
        """Why there is no folder although there should be one."""
        self._lock = -1
        remove_dead_folders()
        if limit != 0:
            try:
                self._make(Path(f'{PAYLOAD_FOLDER_PREFIX}{mark}'), limit)
            except OSError as error:
                self.problem = f'no shared memory for large values, they travel inside their messages: {error}'

    def _make(self, folder: Path, limit: int | None) -> None:
        folder.mkdir(mode=0o700)
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        free = os.statvfs(folder)
        self.limit = free.f_bavail * free.f_frsize // SHARE if limit is None else limit
        self.folder = folder

    def release_later(self, name: str, incarnation: int, loop: asyncio.AbstractEventLoop) -> None:
        """Remove the files of an incarnation that has ended, :data:`LINGER` seconds from now."""
        if self.folder is not None:
            pattern = f'{name}.{incarnation}.*'
            loop.call_later(LINGER, lambda: loop.run_in_executor(None, self._release, pattern))

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        if self.folder is not None:
            remove_folder(self.folder)
            self.folder = None
            os.close(self._lock)

    def _release(self, pattern: str) -> None:
        if self.folder is not None:
            for file in self.folder.glob(pattern):
                remove_file(file)


def remove_dead_folders(prefix: str = PAYLOAD_FOLDER_PREFIX, *, min_age: float = MIN_AGE) -> int:
    """Remove the folders of this user's managers that are gone; return how many there were."""
    folders = dead_folders(prefix, min_age=min_age)
    for folder in folders:
        remove_folder(folder)
    return len(folders)


def dead_folders(prefix: str = PAYLOAD_FOLDER_PREFIX, *, min_age: float = MIN_AGE) -> list[Path]:
    """Return the folders of this user's managers that are gone."""
    parent, start = Path(prefix).parent, Path(prefix).name
    try:
        return [folder for folder in parent.glob(f'{start}*') if _is_dead(folder, min_age)]
    except OSError:
        return []


def remove_file(path: Path) -> None:
    """Remove a file of values, and give its memory back even if somebody still maps it.

    If anybody has a lease, the memory goes with the last mapping instead.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    with contextlib.suppress(OSError):
        path.unlink()
        if ofd.lock_exclusive(fd, 0, MAX_SLOTS):
            os.ftruncate(fd, 0)
    os.close(fd)


def _is_dead(folder: Path, min_age: float) -> bool:
    try:
        facts = folder.stat(follow_symlinks=False)
        if facts.st_uid != os.getuid() or time.time() - facts.st_ctime < min_age:
            return False
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def remove_folder(folder: Path) -> None:
    """Remove a folder with all of its files of values."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            remove_file(file)
    shutil.rmtree(folder, ignore_errors=True)
