"""The files that docs/dataflow-files.md shows are valid."""

from __future__ import annotations

import re
from pathlib import Path

from adora_ros.dataflow import load

PAGE = Path(__file__).parents[2] / 'docs' / 'dataflow-files.md'


def test_every_file_of_the_page_loads(tmp_path: Path) -> None:
    blocks = re.findall(r'```yaml\n# (\S+)\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding='utf-8')
    flows = [name for name, text in blocks if not text.startswith(('module:', 'types:'))]
    assert len(flows) == len(blocks) - 2
    dataflows = {name: load(tmp_path / name, built=False) for name in flows}
    assert [node.id for node in dataflows['robot.yml'].nodes] == ['camera', 'front.scale', 'front.detect', 'planner']
    assert not any(dataflow.warnings for dataflow in dataflows.values())
