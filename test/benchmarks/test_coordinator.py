"""The benchmark of the coordinator: what it makes of samples, and that it runs."""

from __future__ import annotations

from benchmarks.coordinator import cli, measures
from benchmarks.pages import sections_of, with_section

MACHINE = {'cpu': 'x', 'cores': 2, 'memory_gib': 1.0, 'kernel': 'k', 'python': 'p', 'load_before': 0.1, 'when': 'now'}


def test_a_section_keeps_its_place_and_the_rest_of_the_page() -> None:
    page = with_section('# Page\n\ntext\n', 'one', 'first')
    page = with_section(page, 'two', 'second')
    changed = with_section(page, 'one', 'changed \\1')
    assert changed == page.replace('first', 'changed \\1')
    assert sections_of(changed) == changed.removeprefix('# Page\n\ntext\n\n')
    assert with_section(changed, 'one', 'first') == page
    assert sections_of('# Page\n') == ''


def test_the_table_has_what_was_measured() -> None:
    text = cli.section({'durable': {'samples': [400.0, 600.0, 800.0], 'machine': MACHINE}})
    assert '| steps written to the disk, one after another | 1/s | at least 500 | **600** (400 to 800; 3) |' in text
    assert 'kept the machine busy' not in text
    busy = cli.section({'durable': {'samples': [1.0], 'machine': {**MACHINE, 'load_before': 5.0}}})
    assert 'kept the machine busy' in busy


def test_steps_are_durable_at_the_rate_that_is_promised() -> None:
    found = measures.durable()
    assert len(found['durable']) == 8
    assert max(found['durable']) > 100
