"""What docs/manager-death.md tells people to type works."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from manager.harness import ROOT
from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Runs


def test_the_command_that_finds_what_is_left(flow: Flow, run: Runs) -> None:
    text = (ROOT / 'docs' / 'manager-death.md').read_text(encoding='utf-8')
    command = re.findall(r'```sh\n(.*?)```', text, re.DOTALL)[0]

    def listed() -> set[str]:
        return set(subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout.split())  # noqa: S602

    manager = run(flow.node('n', 'silent.py', inputs={'tick': 'dora/timer/secs/100'})).running()
    entry = f'/proc/{flow.pid("n", 0)}/environ'
    assert entry in listed()
    manager.process.kill()
    eventually(lambda: entry not in listed(), 10.0, 'the end of the node')
