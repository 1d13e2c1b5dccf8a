"""The pure parts of the supervision benchmark: statistics, stamps, dataflows, the report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.dataflow import load
from benchmarks.supervision import flows, report, stamps, systems
from benchmarks.supervision.metrics import METRICS
from benchmarks.supervision.scenarios import SCENARIOS
from benchmarks.supervision.statistics import percentile, ratio, summarise

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = {'cpu': 'Z80', 'cores': 2, 'memory_gib': 8, 'kernel': 'Linux 6', 'python': '3.12.1', 'load_before': 0.1}
RUN = {'started': '2026-01-02 03:04 UTC', 'seconds': 600.0, 'repeat': 3}


def test_percentiles_are_interpolated() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([1.0, 2.0, 3.0], 0) == 1.0
    assert percentile([1.0, 2.0, 3.0], 100) == 3.0
    assert percentile([0.0, 10.0], 10) == pytest.approx(1.0)
    assert percentile([7.0], 99) == 7.0


def test_no_samples_have_no_percentile() -> None:
    with pytest.raises(ValueError, match='no samples'):
        summarise([])


def test_a_summary_has_the_spread() -> None:
    summary = summarise([float(value) for value in range(101)])
    assert (summary.count, summary.median, summary.p10, summary.p90, summary.p99) == (101, 50, 10, 90, 99)
    assert (summary.low, summary.high) == (0, 100)


def test_a_ratio_needs_two_positive_values() -> None:
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(-1.0, 4.0) is None
    assert ratio(1.0, 0.0) is None


def test_a_line_that_is_still_being_written_is_not_read() -> None:
    text = '{"event": "start", "pid": 7, "ns": 5}\n{"event": "first", "pid": 7, "ns": 9, "input": "a"}\n{"event": "ex'
    assert stamps.parse(text) == [
        stamps.Stamp(event='start', pid=7, ns=5),
        stamps.Stamp(event='first', pid=7, ns=9, details={'input': 'a'}),
    ]
    assert stamps.parse('{"ev') == []


def test_stamps_of_a_node_that_has_not_started_are_none(tmp_path: Path) -> None:
    assert stamps.read(tmp_path, 'node') == []


def test_stamps_are_chosen_by_event_and_details() -> None:
    found = stamps.parse(
        ''.join(
            json.dumps({'event': 'first', 'pid': 1, 'ns': ns, 'input': name}) + '\n'
            for ns, name in ((1, 'a'), (2, 'b'))
        )
    )
    assert [stamp.ns for stamp in stamps.of(found, 'first', input='b')] == [2]
    assert stamps.of(found, 'last') == []


def test_each_start_has_the_first_end_before_the_next_start() -> None:
    second = 1_000_000_000
    starts = [0, 10 * second, 20 * second]
    ends = [1 * second, 2 * second, 21 * second]
    assert stamps.seconds_to_next(starts, ends) == [1.0, 1.0]


@pytest.mark.parametrize(
    'flow',
    [
        flows.crash(3),
        flows.silence(2, input_timeout=0.3, talk=0.5, pause=1.0, health_check_interval=0.1),
        flows.hang(2, health_check_timeout=1.0, first=2.0, apart=1.0, shape='loop', health_check_interval=None),
        flows.chain(2),
        flows.chain(10),
        flows.idle(3),
    ],
)
def test_a_flow_is_a_valid_dataflow(flow: flows.Flow, tmp_path: Path) -> None:
    file = tmp_path / 'flow.yml'
    file.write_text(flow.to_yaml(), encoding='utf-8')
    assert [node.id for node in load(file).nodes] == [node.id for node in flow.nodes]


def test_a_cold_start_is_asked_for_in_the_dataflow_and_measured_where_it_matters(tmp_path: Path) -> None:
    cold = systems.cold()
    file = tmp_path / 'flow.yml'
    file.write_text(flows.chain(3).to_yaml(cold.keys), encoding='utf-8')
    assert [node.warm for node in load(file).nodes] == [False] * 3
    measured = {scenario.name for scenario in SCENARIOS if scenario.is_for(cold)}
    assert measured == {'crash', 'chain_2', 'chain_10', 'chain_20', 'chain_50', 'idle_20', 'idle_50'}
    assert all(scenario.is_for(systems.adora()) for scenario in SCENARIOS)


def test_a_chain_has_its_length() -> None:
    flow = flows.chain(10)
    assert len(flow.nodes) == 10
    assert [node.inputs.get('data') for node in flow.nodes] == [None, *(f'node{number}/data' for number in range(9))]


def test_lines_about_exits_are_recognised() -> None:
    ours = systems.adora()
    assert ours.tells_exit('14:42:13.625  crasher   NODE_EXITED        exited: exit code 3', 'crasher')
    assert not ours.tells_exit('14:42:13.625  crasher   NODE_UP            up', 'crasher')
    assert not ours.tells_exit('14:42:13.625  other     NODE_EXITED        exited: exit code 3', 'crasher')


def test_dora_is_recognised_through_its_colours(tmp_path: Path) -> None:
    command = tmp_path / 'bin' / 'dora'
    command.parent.mkdir()
    command.touch()
    found = systems.dora(tmp_path)
    assert found is not None
    line = (
        '\x1b[31mERROR\x1b[0m node exited with error: ExitCode(3) \x1b[3mnode_id\x1b[0m\x1b[2m=\x1b[0mcrasher \x1b[3m'
    )
    assert found.tells_exit(line, 'crasher')
    assert not found.tells_exit(line, 'crash')
    assert found.command(tmp_path / 'f.yml') == [str(command), 'run', str(tmp_path / 'f.yml')]


def test_launch_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / 'ros2'
    command.touch(mode=0o700)
    monkeypatch.setenv('PATH', str(tmp_path))
    found = systems.launch()
    assert found is not None
    line = '[ERROR] [crasher-1]: process has died [pid 12, exit code 3, cmd python].'
    assert found.tells_exit(line, 'crasher')
    assert not found.tells_exit(line, 'crash')


def test_no_dora_is_no_system(tmp_path: Path) -> None:
    assert systems.dora(tmp_path / 'nothing') is None


def make(samples: dict[str, dict[str, list[float]]], failures: list[dict[str, str]] | None = None) -> report.Report:
    return report.build(
        samples,
        machine=MACHINE,
        versions={'adora_ros': {'adora_ros': '0.1.0'}, 'dora-rs': {'dora-rs': '1.1.0'}, 'ros2 launch': {}},
        failures=failures or [],
        run=RUN,
    )


def test_the_report_keeps_samples_and_compares_medians() -> None:
    made = make({'exit_to_detected': {'adora_ros': [1.0, 2.0, 3.0], 'dora-rs': [8.0], 'ros2 launch': []}})
    entry: dict[str, Any] = made['metrics']['exit_to_detected']
    assert entry['systems']['adora_ros']['samples'] == [1.0, 2.0, 3.0]
    assert entry['systems']['adora_ros']['median'] == 2.0
    assert set(entry['systems']) == {'adora_ros', 'dora-rs'}
    assert entry['ratio'] == {'dora-rs': 0.25}
    assert json.loads(json.dumps(made)) == made


def test_the_page_has_a_row_for_each_metric() -> None:
    text = report.page(make({'stop_10': {'adora_ros': [500.0, 600.0], 'dora-rs': [1000.0]}, 'exit_to_detected': {}}))
    row = next(line for line in text.splitlines() if line.startswith('| stop of 10 nodes'))
    ours, dora = '**550** (510 to 590, 600; 2)', '**1000** (1000 to 1000, 1000; 1)'
    assert row == f'| stop of 10 nodes | ms | 1000 | {ours} | {dora} | - | 0.55 |'
    assert '| exit to detected | ms | 5 | - | - | - | - |' in text
    assert 'Z80, 2 cores, 8 GiB, Linux 6, Python 3.12.1' in text
    assert '* dora-rs: dora-rs 1.1.0' in text
    assert 'Runs that gave nothing' not in text


def test_the_page_says_when_the_machine_was_busy() -> None:
    made = make({})
    assert report.BUSY not in report.page(made)
    made['machine']['load_before'] = 7.5
    assert report.BUSY in report.page(made)


def test_what_was_measured_anew_is_named_with_its_run() -> None:
    old = make({'stop_10': {'adora_ros': [500.0]}, 'exit_to_detected': {'adora_ros': [1.0]}})
    new = make({'stop_10': {'adora_ros': [600.0]}})
    new['run'] = {'started': '2027-02-03 04:05 UTC', 'seconds': 120.0, 'repeat': 6}
    new['machine']['load_before'] = 0.25
    text = report.page(report.combined(old, new))
    assert str(RUN['started']) in text
    line = next(line for line in text.splitlines() if line.startswith('Measured anew'))
    assert line == (
        'Measured anew 2027-02-03 04:05 UTC, 6 rounds, 2 minutes; load average before the run 0.25: stop of 10 nodes.'
    )
    assert '| stop of 10 nodes | ms | 1000 | **600**' in text
    assert '| exit to detected | ms | 5 | **1.00**' in text
    new['machine']['load_before'] = 7.5
    assert report.BUSY in report.page(report.combined(old, new))


def test_the_page_counts_runs_that_failed() -> None:
    failure = {'system': 'dora-rs', 'scenario': 'idle_50', 'error': 'not within 90 s'}
    assert '* dora-rs, `idle_50`: 2' in report.page(make({}, [failure, failure]))


def test_figures_have_three_digits() -> None:
    given = (0.0, 1.234, -1.234, 9.999, 12.34, 99.97, 1234.5)
    assert [report.number(value) for value in given] == ['0.00', '1.23', '-1.23', '10.0', '12.3', '100', '1234']


def test_names_are_unique() -> None:
    assert len({metric.id for metric in METRICS}) == len(METRICS)
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
