"""A writer that is killed at any moment: what was answered is there, and nothing is half there."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adora_ros.coordinator.records import DataflowRecord
from adora_ros.coordinator.sqlite import SqliteStore
from coordinator.writer import state_after, written_together

ROOT = Path(__file__).parents[2]
WRITER = Path(__file__).with_name('writer.py')
KILLS_VARIABLE = 'ADORA_TEST_KILLS'
"""How many kills; the default is for every run, 500 are for once in a while."""
KILLS = 60
RENEWED = 10
"""After so many kills the database is a new one, so that its making is cut short, too."""
LONGEST = 0.06
"""Seconds until a kill at most, from the start of the process or from its first word."""


def killed_writer(database: Path, first: int, chance: random.Random) -> tuple[bool, int]:
    """Run a writer, kill it, and return whether it had opened the store and how many writes were answered in all."""
    process = subprocess.Popen(
        [sys.executable, '-S', str(WRITER), str(database), str(first)],  # without site: it starts in no time
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout:
        heard = b''
        if chance.random() < 0.8:
            heard = process.stdout.readline()
        time.sleep(chance.uniform(0.0, LONGEST))
        process.kill()
        heard += process.stdout.read()
    process.wait()
    lines = heard.decode().splitlines()
    assert lines[:1] in ([], ['ready']), heard[:500]
    answers = [int(line) for line in lines[1:]]
    assert answers == list(range(first, first + len(answers)))
    return bool(lines), first + len(answers)


@pytest.mark.timeout(600)
def test_every_answered_write_survives_kills_at_random_moments(tmp_path: Path) -> None:
    kills = int(os.environ.get(KILLS_VARIABLE, KILLS))
    chance = random.Random(5)
    opened = answered = total = 0
    warnings: list[str] = []
    database = tmp_path / 'coordinator.db'
    for kill in range(kills):
        if kill % RENEWED == 0:
            database, answered = tmp_path / f'coordinator_{kill}.db', 0
        ready, after = killed_writer(database, answered, chance)
        store = SqliteStore(str(database), warn=warnings.append)
        found = {record.uuid: record for record in store.list(DataflowRecord)}
        store.close()
        assert warnings == []
        # What was being written, one or several together, may be there, or not.
        together = after + written_together(after)
        count = next((n for n in (after, together) if found == state_after(n)), None)
        assert count is not None, f'kill {kill}: {len(found)} records are not those after {after} or {together} writes'
        opened += ready
        total += count - answered
        answered = count
    assert opened > kills / 2
    assert total > kills
