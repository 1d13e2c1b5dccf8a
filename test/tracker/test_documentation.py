"""The example in the documentation does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from geometry_msgs.msg import Twist

from support import eventually
from tracker.turning import DEADLINE

if TYPE_CHECKING:
    from tracker.turning import Turning

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'input-tracker.md'
TIMEOUT = 0.2


def test_a49_the_base_of_the_documentation_brakes(single: Turning, tmp_path: Path) -> None:
    (code,) = re.findall(r'```python\n(.*?)```', DOCUMENT.read_text(encoding='utf-8'), re.DOTALL)
    script = tmp_path / 'base.py'
    script.write_text(code, encoding='utf-8')
    node = single.node('planner')
    speeds: list[tuple[float, float]] = []
    node.create_subscription(Twist, 'motor', lambda twist: speeds.append((time.monotonic(), twist.linear.x)), 10)
    command = node.create_publisher(Twist, 'cmd_vel', 10)
    single.start()
    base = subprocess.Popen([sys.executable, str(script)])
    try:
        eventually(lambda: command.get_subscription_count() and node.count_publishers('motor'), DEADLINE)
        fast = Twist()
        fast.linear.x = 1.0
        commanded = 0.0

        def driving() -> bool:
            nonlocal commanded
            commanded = time.monotonic()
            command.publish(fast)
            return bool(speeds)

        eventually(driving, DEADLINE)
        eventually(lambda: speeds[-1][1] == 0.0, DEADLINE)
        assert TIMEOUT < speeds[-1][0] - commanded < TIMEOUT + 0.5
        command.publish(fast)
        eventually(lambda: [speed for _, speed in speeds][-2:] == [1.0, 0.0], DEADLINE)
    finally:
        base.kill()
        base.wait()
