"""What the extension costs those who do not use it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MEASURE = """\
import json, sys, time
import launch.actions, launch.event_handlers, launch.frontend
before, start = set(sys.modules), time.process_time()
import adora_ros.launch
print(json.dumps([time.process_time() - start, sorted(set(sys.modules) - before)]))
"""


def test_it_imports_launch_only_and_in_milliseconds() -> None:
    pytest.importorskip('launch.actions')
    done = subprocess.run([sys.executable, '-c', MEASURE], capture_output=True, text=True, check=True)
    seconds, modules = json.loads(done.stdout)
    packages = {name.partition('.')[0].lstrip('_') for name in modules}
    assert packages - set(sys.stdlib_module_names) == {'adora_ros'}
    assert {name for name in modules if name.startswith('adora_ros.')} == {
        'adora_ros.launch',
        'adora_ros.launch.actions',
        'adora_ros.launch.events',
        'adora_ros.launch.programs',
        'adora_ros.launch.stream',
    }
    assert seconds < 0.1


def test_it_does_not_raise_where_launch_cannot_take_it() -> None:
    code = "import sys; sys.modules['launch'] = None; import adora_ros.launch"
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
