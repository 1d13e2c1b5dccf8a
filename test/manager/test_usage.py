"""CPU time and memory of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from adora_ros.manager.usage import UsageMeter


def test_a_busy_process_shows_its_share_and_its_memory() -> None:
    meter = UsageMeter(os.getpid())
    first = meter.read()
    assert first.cpu_percent > 0.0
    assert 5.0 < first.rss_mb < 5000.0
    kept = bytearray(os.urandom(1024)) * (100 * 1024)
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    second = meter.read()
    assert 0.0 < second.cpu_percent <= 400.0
    assert second.rss_mb > first.rss_mb + 90.0
    assert len(kept) == 100 * 1024 * 1024
    meter.close()


def test_a_process_that_has_ended_is_not_measured() -> None:
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', 'input()'], stdin=subprocess.PIPE) as process:
        meter = UsageMeter(process.pid)
        meter.read()
        process.kill()
    with pytest.raises(OSError, match='No such process'):
        meter.read()
    meter.close()
    with pytest.raises(FileNotFoundError):
        UsageMeter(process.pid)
