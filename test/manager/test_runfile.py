"""What the folder of a run says of it."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from adora_ros.errors import ManagerError
from adora_ros.manager.runfile import RunFacts, RunFile, is_live, read_run

if TYPE_CHECKING:
    from pathlib import Path

FACTS = RunFacts(
    uuid='u', dataflow='flow', file='/f.yml', manager='/flow/manager', domain='1', machine='', pid=7, started='now'
)
HOLDER = """
import sys
from pathlib import Path
from adora_ros.manager.runfile import RunFacts, RunFile
file = RunFile(Path(sys.argv[1]), RunFacts(**eval(sys.argv[2])))
print('up', flush=True)
sys.stdin.read()
"""


def test_a_run_is_live_until_its_end_is_noted(tmp_path: Path) -> None:
    assert (read_run(tmp_path), is_live(tmp_path)) == (None, False)
    file = RunFile(tmp_path, FACTS)
    assert (read_run(tmp_path), is_live(tmp_path)) == (FACTS, True)
    file.end(stamp='later', error='a: b')
    assert read_run(tmp_path) == dataclasses.replace(FACTS, ended='later', error='a: b')
    assert not is_live(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ['run.json']


def test_a_run_whose_manager_was_killed_is_not_live_and_has_no_end(tmp_path: Path) -> None:
    command = [sys.executable, '-c', HOLDER, str(tmp_path), repr(dataclasses.asdict(FACTS))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b'up\n'
        assert is_live(tmp_path)
        holder.send_signal(signal.SIGKILL)
    assert (read_run(tmp_path), is_live(tmp_path)) == (FACTS, False)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ManagerError, match=r'run\.json: No such file or directory; set ROS_LOG_DIR'):
        RunFile(tmp_path / 'nowhere', FACTS)


def test_what_is_no_such_file_says_nothing(tmp_path: Path) -> None:
    for text in ('', '[]', '{"uuid": "u"}'):
        (tmp_path / 'run.json').write_text(text)
        assert read_run(tmp_path) is None
