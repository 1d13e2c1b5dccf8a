"""The pure parts of the benchmark of the data plane, and one short run of it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.dataflow import loads
from benchmarks.dataplane import cli, figure, page
from benchmarks.dataplane.plan import FAN_OUT, LATENCY, MB, ROUNDS, SIZES, plan
from benchmarks.dataplane.runs import ADORA, POOL, RCLPY, Result, Task, Way, dataflow, together

if TYPE_CHECKING:
    from pathlib import Path


def row(**changes: Any) -> dict[str, Any]:
    cpu = {'source': 0.5, 'sink': 0.25, 'supervisor': 0.25}
    base = {
        'what': LATENCY,
        'system': ADORA,
        'size': 8,
        'sinks': 1,
        'count': 100,
        'p50': 0.25,
        'p99': 1.0,
        'last_p50': 0.5,
    }
    return {**base, 'lost': 0, 'rate': 100.0, 'cpu': cpu, **changes}


def document(*rows: dict[str, Any]) -> dict[str, Any]:
    machine = {'cpu': 'Z80', 'cores': 2, 'memory_gib': 8, 'kernel': 'Linux 6', 'python': '3.12.1', 'load_before': 0.1}
    return {
        'started': 'now', 'quick': False, 'machine': machine, 'versions': {ADORA: {'pyarrow': '1'}}, 'rows': list(rows),
        'failures': [],
    }  # fmt: skip


def test_the_page_has_every_row() -> None:
    rows = (row(), row(system=RCLPY, p50=0.5, lost=3), row(what=FAN_OUT, size=4_000_000, sinks=8))
    text = page.page(document(*rows), None)
    assert '| 8 B | **0.25** (1.00) | **0.50** (1.00), 3 of 100 lost |' in text
    assert '| 8 | 0.25, 0.50 |' in text
    assert '| 8 B | **1.00** (0.50, 0.25) |' in text
    assert 'lost |' not in page.page(document(row()), None)
    assert '| 8 B | **0.25** (1.00), 63 values |' in page.page(document(row(count=63)), None)


def test_the_page_says_that_parts_were_measured_anew() -> None:
    assert 'anew' not in page.page({**document(row()), 'anew': []}, None)
    assert 'Parts were measured anew: then, later.' in page.page({**document(row()), 'anew': ['then', 'later']}, None)


@pytest.mark.parametrize('rows', [(), (row(),), (row(), row(size=4_000_000, p50=100.0), row(system='<a>', p50=3.0))])
def test_the_figure_is_xml_with_a_point_for_each_row(rows: tuple[dict[str, Any], ...]) -> None:
    root = ET.fromstring(figure.svg(document(*rows)))  # noqa: S314 - of our own making
    assert len(root.findall('{http://www.w3.org/2000/svg}circle')) == len(rows)


def test_the_dataflow_is_one_of_ours(tmp_path: Path) -> None:
    flow = loads(json.dumps(dataflow(Task(size=8, count=1, sinks=3), pool=True)), path=tmp_path / 'flow.yml')
    assert [node.id for node in flow.nodes] == ['source', 'sink0', 'sink1', 'sink2']
    assert flow.descriptor['nodes'][0]['shared_memory_pool_size'] == POOL


def test_every_size_is_measured_with_every_system_in_turns(tmp_path: Path) -> None:
    items = [i for i in plan([Way(name='a'), Way(name='b')], tmp_path, quick=False) if i.what == LATENCY]
    rounds = [(size, ROUNDS if size < MB else 1) for size in SIZES]
    assert [(i.task.size, i.way.name) for i in items] == [(s, n) for s, count in rounds for n in 'ab' * count]
    values = Counter({(i.task.size, i.way.name): 0 for i in items})
    for item in items:
        values[item.task.size, item.way.name] += item.task.count
    assert sorted(values.values()) == [200] * 2 + [1000] * 2 * (len(SIZES) - 1)


def test_rounds_are_one_result() -> None:
    rounds = [
        Result(latencies=[1.0, 3.0], last=[3.0], count=1, lost=0, rate=1.0, cpu={'source': 1.0}),
        Result(latencies=[2.0], last=[2.0], count=3, lost=5, rate=1.0, cpu={'source': 5.0}),
    ]
    assert together(rounds[:1]) == rounds[0]
    assert together(rounds) == Result(
        latencies=[1.0, 3.0, 2.0], last=[3.0, 2.0], count=4, lost=5, rate=1.0, cpu={'source': 4.0}
    )


def test_a_short_run(ros_domain: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, svg = tmp_path / 'r.json', tmp_path / 'f.svg'
    arguments = ['--quick', '--domain', str(ros_domain), '--json', str(file), '--svg', str(svg), '--what', LATENCY]
    arguments += ['--system', ADORA, RCLPY, '--size', '8', '1000000']
    assert cli.main(arguments) == 0, capsys.readouterr().err
    rows = json.loads(file.read_text())['rows']
    assert [(r['system'], r['size'], r['lost']) for r in rows] == [
        (ADORA, 8, 0), (RCLPY, 8, 0), (ADORA, 1_000_000, 0), (RCLPY, 1_000_000, 0),
    ]  # fmt: skip
    assert all(0 < r['p50'] <= r['p99'] and r['cpu']['source'] > 0 for r in rows)
    assert svg.exists()
