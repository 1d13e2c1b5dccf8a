"""The helpers of the test suite do what the other tests rely on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import domain_range, eventually, kill_all, processes_with, ros_domain_lease

pytest_plugins = ['pytester']

TEST_FOLDER = Path(__file__).parents[1]


def test_the_domain_of_a_test_is_in_its_environment(ros_domain: int) -> None:
    assert os.environ['ROS_DOMAIN_ID'] == str(ros_domain)
    assert 1 <= ros_domain <= 101
    assert os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


@pytest.mark.parametrize(
    ('text', 'first', 'last'), [(None, 1, 101), ('', 1, 101), ('60-69', 60, 69), ('7', 7, 7)], ids=str
)
def test_domain_range(text: str | None, first: int, last: int) -> None:
    domains = domain_range(text)
    assert (domains[0], domains[-1]) == (first, last)


def test_leases_never_overlap(tmp_path: Path) -> None:
    with ros_domain_lease(range(1, 4), tmp_path) as one, ros_domain_lease(range(1, 4), tmp_path) as two:
        with ros_domain_lease(range(1, 4), tmp_path) as three:
            assert sorted((one, two, three)) == [1, 2, 3]
        with ros_domain_lease(range(1, 4), tmp_path) as again:
            assert again == three


def test_a_killed_holder_frees_its_lease(tmp_path: Path) -> None:
    script = (
        'import sys, pathlib, support\n'
        'with support.ros_domain_lease(range(5, 6), pathlib.Path(sys.argv[1])) as domain:\n'
        '    print(domain, flush=True)\n'
        '    sys.stdin.read()\n'
    )
    environment = {**os.environ, 'PYTHONPATH': str(TEST_FOLDER)}
    with subprocess.Popen(
        [sys.executable, '-c', script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b'5\n'
        holder.kill()
        holder.wait(10)
        with ros_domain_lease(range(5, 6), tmp_path) as domain:
            assert domain == 5


def test_eventually_returns_the_value() -> None:
    values = iter([0, None, 'found'])
    assert eventually(lambda: next(values)) == 'found'


def test_eventually_reports_the_last_assertion() -> None:
    def never() -> bool:
        assert len('abc') == 4, 'three'
        return True

    started = time.monotonic()
    with pytest.raises(AssertionError, match=r'the word not met within 0\.1 s: three'):
        eventually(never, 0.1, 'the word')
    assert time.monotonic() - started < 5


def test_processes_with_finds_children_by_their_environment() -> None:
    mark = f'{os.getpid()}-{time.monotonic_ns()}'
    environment = {**os.environ, 'ADORA_TEST_MARK': mark}
    command = [sys.executable, '-c', 'import sys; print(flush=True); sys.stdin.read()']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert processes_with('ADORA_TEST_MARK', mark) == [child.pid]
        assert processes_with('ADORA_TEST_MARK', mark + '0') == []
        kill_all([child.pid])
        eventually(lambda: not processes_with('ADORA_TEST_MARK', mark))


def test_a_test_that_leaves_a_process_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((TEST_FOLDER / 'conftest.py').read_text())
    pytester.makepyfile(
        support=(TEST_FOLDER / 'support.py').read_text(),
        test_leak="""
        import subprocess, sys

        def test_leak():
            subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)

        def test_clean():
            subprocess.run([sys.executable, '-c', 'pass'], check=True)
        """,
    )
    result = pytester.runpytest_subprocess('-p', 'no:cacheprovider', '-W', 'ignore')
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(['*the test left processes behind: [[]*'])
