"""A log file that never takes more of the disk than it may, and outlives a disk that is full."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_LOG_SIZE = 50 * 1024 * 1024
"""Bytes at which a log file is rotated if the dataflow does not say."""


class LogFile:
    """A file that is rotated by size: ``x.log``, then ``x.1.log`` and so on, the oldest dropped.

    None of them is ever larger than it may be. Lines are kept whole, but for one that is longer than a file.

    An error (a full disk, say) loses lines of the log and nothing else; :attr:`error` keeps its text, and writing is
    tried again with the next lines.
    """

    def __init__(self, path: Path, *, max_size: int | None = None, max_files: int = 5) -> None:
        """Open nothing yet.

        Args:
            path: The file.
            max_size: Bytes at which it is rotated; None for :data:`DEFAULT_LOG_SIZE`.
            max_files: Rotated files to keep.

        """
        self.path = path
        self.error: str | None = None
        self.lost = 0
        """Lines that could not be written."""
        self._max_size = DEFAULT_LOG_SIZE if max_size is None else max(1, max_size)
        self._max_files = max_files
        self._fd = -1
        self._size = 0
        self._is_torn = False

    def write(self, data: bytes) -> None:
        """Append ``data``, which ends with a line end."""
        if self.error is not None and self._is_torn:
            data = b'\n' + data
        left = memoryview(data)
        try:
            if self._fd < 0:
                self._open()
            while left:
                left = left[self._append(data, len(data) - len(left)) :]
        except OSError as error:
            self.error = f'{self.path}: {error.strerror}'
            self.lost += bytes(left).count(b'\n')
            return
        self.error = None

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, data: bytes, start: int) -> int:
        """Write some of ``data`` from ``start`` on, as many whole lines as fit, and return how many bytes that were."""
        end = len(data)
        if self._size + end - start > self._max_size:
            end = data.rfind(b'\n', start, start + max(0, self._max_size - self._size)) + 1
            if not end and self._size:
                self._rotate()
                return 0
            end = end or start + self._max_size
        written = os.write(self._fd, memoryview(data)[start:end])
        self._size += written
        self._is_torn = data[start + written - 1 : start + written] != b'\n'
        return written

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._fd).st_size

    def _rotated(self, number: int) -> Path:
        return self.path.with_name(f'{self.path.stem}.{number}{self.path.suffix}')

    def _rotate(self) -> None:
        self.close()
        with contextlib.suppress(FileNotFoundError):
            self._rotated(self._max_files).unlink()
        for number in range(self._max_files - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._rotated(number).rename(self._rotated(number + 1))
        if self._max_files > 0:
            self.path.rename(self._rotated(1))
        else:
            self.path.unlink()
        self._open()
