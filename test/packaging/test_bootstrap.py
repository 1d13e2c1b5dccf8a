"""The set-up behind ``make demo`` and ``make test``: what it decides, reports and leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import bootstrap
import setup_plan
from setup_plan import DEV, JAZZY, RUNTIME, Plan, Progress, State, decide, diagnosis, digests

ROOT = Path(__file__).parents[2]
NOTHING = Plan(recreate=False, install=False)
INSTALL = Plan(recreate=False, install=True)
AFRESH = Plan(recreate=True, install=True)
READY = State('here', {RUNTIME: 'r1', DEV: 'd1'}, complete=True)


@pytest.mark.parametrize(
    ('state', 'wanted', 'digest', 'plan'),
    [
        (None, RUNTIME, 'r1', AFRESH),
        (State('here'), RUNTIME, 'r1', AFRESH),
        (replace(READY, complete=False), DEV, 'd1', AFRESH),
        (replace(READY, identity='elsewhere'), DEV, 'd1', AFRESH),
        (READY, RUNTIME, 'r1', NOTHING),
        (READY, DEV, 'd1', NOTHING),
        (READY, RUNTIME, 'r2', INSTALL),
        (READY, DEV, 'd2', INSTALL),
        (State('here', {RUNTIME: 'r1'}, complete=True), DEV, 'd1', INSTALL),
    ],
)
def test_decide(state: State | None, wanted: str, digest: str, plan: Plan) -> None:
    assert decide(state, 'here', wanted, digest) == plan


class FakeInstaller:
    """Records what it is asked for; ``fails`` makes the installation fail, as without a network."""

    calls: list[str]
    ros = True
    fails = False

    def __init__(self, _root: Path, venv: Path, _lock: int) -> None:
        self._venv = venv

    def create(self, *, system_site: bool) -> None:
        """Make what read_state looks for."""
        self.calls.append(f'create system_site={system_site}')
        (self._venv / 'bin').mkdir()
        (self._venv / 'bin' / 'python').touch()

    def ros_works(self) -> bool:
        """Answer as the test wants."""
        return self.ros

    def install(self, wanted: str, *, wheels: bool) -> None:
        """Record, then fail if the test wants it."""
        self.calls.append(f'install {wanted} wheels={wheels}')
        if self.fails:
            msg = 'no network'
            raise bootstrap.SetupError(msg)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the installer and hide the ROS 2 of this machine."""
    monkeypatch.setattr(FakeInstaller, 'calls', [], raising=False)
    monkeypatch.setattr(bootstrap, 'Installer', FakeInstaller)
    monkeypatch.setattr(bootstrap, 'host_rclpy', lambda: None)
    return FakeInstaller.calls


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with what the digests are made of."""
    (tmp_path / 'requirements').mkdir()
    for name in (
        *setup_plan.PACKAGE_FILES,
        'requirements/runtime.txt',
        'requirements/dev.txt',
        *(f'requirements/{file}' for file in setup_plan.ROS_REQUIREMENTS.values()),
    ):
        (tmp_path / name).write_text(name)
    return tmp_path


def build(project: Path, wanted: str, calls: list[str]) -> list[str]:
    """Run a set-up and return what it asked of the installer."""
    calls.clear()
    bootstrap.build(project, project / '.venv', wanted, -1)
    return list(calls)


def test_second_run_does_and_says_nothing(project: Path, calls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert build(project, RUNTIME, calls) == ['create system_site=False', 'install runtime wheels=True']
    capsys.readouterr()
    assert build(project, RUNTIME, calls) == []
    assert capsys.readouterr().out == ''


def test_dev_comes_on_top_of_runtime_and_includes_it(project: Path, calls: list[str]) -> None:
    build(project, RUNTIME, calls)
    assert build(project, DEV, calls) == ['install dev wheels=True']
    assert build(project, RUNTIME, calls) == []
    assert build(project, DEV, calls) == []


@pytest.mark.parametrize('name', ['requirements/runtime.txt', 'requirements/ros.txt', 'setup.py', 'package.xml'])
def test_changed_files_are_installed_again(project: Path, calls: list[str], name: str) -> None:
    build(project, DEV, calls)
    (project / name).write_text('other')
    assert build(project, RUNTIME, calls) == ['install runtime wheels=True']
    assert build(project, DEV, calls) == ['install dev wheels=True']


def test_changed_dev_requirements_leave_the_runtime_alone(project: Path, calls: list[str]) -> None:
    build(project, DEV, calls)
    (project / 'requirements/dev.txt').write_text('other')
    assert build(project, RUNTIME, calls) == []
    assert build(project, DEV, calls) == ['install dev wheels=True']


def test_half_done_setup_is_done_afresh(project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeInstaller, 'fails', True)
    with pytest.raises(bootstrap.SetupError, match='no network'):
        build(project, RUNTIME, calls)
    (project / '.venv' / 'rest').touch()
    monkeypatch.setattr(FakeInstaller, 'fails', False)
    assert build(project, RUNTIME, calls) == ['create system_site=False', 'install runtime wheels=True']
    assert not (project / '.venv' / 'rest').exists()


def test_missing_interpreter_is_done_afresh(project: Path, calls: list[str]) -> None:
    build(project, RUNTIME, calls)
    (project / '.venv' / 'bin' / 'python').unlink()
    assert build(project, RUNTIME, calls) == ['create system_site=False', 'install runtime wheels=True']


def test_ros_of_the_machine_is_used_without_wheels(
    project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, 'host_rclpy', lambda: '/opt/ros/kilted/lib/python3/site-packages/rclpy/__init__.py')
    assert build(project, RUNTIME, calls) == ['create system_site=True', 'install runtime wheels=False']
    assert build(project, DEV, calls) == ['install dev wheels=False']
    monkeypatch.setattr(bootstrap, 'host_rclpy', lambda: None)
    assert build(project, RUNTIME, calls) == ['create system_site=False', 'install runtime wheels=True']


def test_unusable_ros_of_the_machine_is_replaced_by_wheels(
    project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, 'host_rclpy', lambda: '/opt/ros/broken/rclpy/__init__.py')
    monkeypatch.setattr(FakeInstaller, 'ros', False)
    assert build(project, RUNTIME, calls) == [
        'create system_site=True',
        'create system_site=False',
        'install runtime wheels=True',
    ]
    assert build(project, RUNTIME, calls) == []


def test_python_without_wheels_is_refused(project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, 'NEWEST_PYTHON_WITH_WHEELS', (3, 9))
    with pytest.raises(bootstrap.SetupError, match='set PYTHON to one from') as caught:
        build(project, RUNTIME, calls)
    assert caught.value.code == bootstrap.EXIT_UNSUPPORTED
    assert calls == []


def test_venv_of_somebody_else_is_left_alone(project: Path, calls: list[str]) -> None:
    (project / '.venv').mkdir()
    (project / '.venv' / 'pyvenv.cfg').touch()
    with pytest.raises(bootstrap.SetupError, match='was not made by this set-up; move it away') as caught:
        build(project, RUNTIME, calls)
    assert caught.value.code == bootstrap.EXIT_UNSUPPORTED
    assert [path.name for path in (project / '.venv').iterdir()] == ['pyvenv.cfg']


def test_empty_keeps_a_linked_folder(tmp_path: Path) -> None:
    target, link = tmp_path / 'target', tmp_path / '.venv'
    target.mkdir()
    link.symlink_to(target)
    for name in (bootstrap.STATE_NAME, 'file'):
        (target / name).touch()
    (target / 'folder').mkdir()
    (target / 'outside').symlink_to(tmp_path)
    bootstrap.empty(link)
    assert link.is_symlink()
    assert list(target.iterdir()) == []
    assert tmp_path.is_dir()


@pytest.mark.parametrize('text', ['', 'nonsense', '[]', '{"identity": "x", "unknown": 1}'])
def test_unreadable_state_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / bootstrap.STATE_NAME).write_text(text)
    assert bootstrap.read_state(tmp_path) is None


def test_state_survives_the_file(tmp_path: Path) -> None:
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin' / 'python').touch()
    bootstrap.write_state(tmp_path, READY)
    assert bootstrap.read_state(tmp_path) == READY
    assert json.loads((tmp_path / bootstrap.STATE_NAME).read_text())['complete'] is True


def test_every_named_file_exists_and_counts() -> None:
    found = digests(ROOT)
    assert sorted(found) == [DEV, JAZZY, RUNTIME]
    assert len(set(found.values())) == len(found)


PIP_OUTPUT = """\
Looking in indexes: somewhere
Requirement already satisfied: numpy in ./site-packages (from -r requirements.txt (line 1)) (2.4.6)
Collecting ros-rclpy[fastrtps]==9.1.2
  Downloading ros_rclpy-9.1.2-cp311-cp311-manylinux_2_28_x86_64.whl (2.7 MB)
Collecting pyarrow>=14
  Downloading pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (3.0 kB)
  Using cached pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl (55.0 MB)
Processing /wheels/rich-15.0.0-py3-none-any.whl
Collecting ros-std-srvs
  Downloading ros_std_srvs-5.5.1-cp311-cp311-manylinux_2_28_x86_64.whl (317 kB)
""".splitlines()


def test_progress_counts_packages_and_megabytes() -> None:
    progress = Progress(10)
    assert str(progress) == 'downloading packages, 0 of about 10, 0 MB'
    for line in PIP_OUTPUT:
        progress.feed(line)
    assert str(progress) == 'downloading packages, 5 of about 10, 58 MB'
    progress.feed('Installing collected packages: pyarrow, ros-rclpy, rich, ros-std-srvs')
    assert str(progress) == 'installing 4 packages (58 MB downloaded)'


def test_progress_never_shows_more_done_than_there_are() -> None:
    progress = Progress(1)
    for line in PIP_OUTPUT:
        progress.feed(line)
    assert str(progress) == 'downloading packages, 5 of about 5, 58 MB'


@pytest.mark.parametrize(
    ('output', 'text'),
    [
        (
            [
                "WARNING: Retrying after connection broken by 'NewConnectionError: Connection refused'",
                'ERROR: No matching distribution found for rich',
            ],
            'the package index cannot be reached; check the network and the configuration of pip',
        ),
        (['ERROR: Could not install: [Errno 28] No space left on device'], 'the disk is full'),
        (
            ['ERROR: first', 'ERROR: No matching distribution found for rich', ''],
            'No matching distribution found for rich',
        ),
        (['something odd', ''], 'something odd'),
        ([], 'pip said nothing'),
    ],
)
def test_diagnosis(output: list[str], text: str) -> None:
    assert diagnosis(output) == text


def test_clean_environment() -> None:
    given = {
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        'LD_LIBRARY_PATH': '/other/lib',
        'PIP_TARGET': '/tmp/x',
        'PIP_USER': '1',
        'PIP_RETRIES': '9',
        'HOME': '/home/x',
    }
    clean = bootstrap.clean_environment(given)
    assert clean == {
        'HOME': '/home/x',
        'PIP_DISABLE_PIP_VERSION_CHECK': '1',
        'PIP_NO_INPUT': '1',
        'PIP_REQUIRE_VIRTUALENV': '0',
        'PIP_RETRIES': '9',
        'PIP_USER': '0',
    }
    assert bootstrap.clean_environment({'LD_LIBRARY_PATH': '/opt/ros/lib'})['LD_LIBRARY_PATH'] == '/opt/ros/lib'


def test_setups_wait_for_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bootstrap.locked(tmp_path), subprocess.Popen(['flock', '--nonblock', str(tmp_path), 'true']) as other:
        assert other.wait(10) == 1
    with bootstrap.locked(tmp_path):
        pass
    assert capsys.readouterr().out == ''


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call scripts/run."""
    return subprocess.run(
        ['sh', 'scripts/run', *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_unusable_python_is_one_line_and_exit_2() -> None:
    result = run('demo', PYTHON='/nonexistent/python')
    assert result.returncode == 2
    assert result.stdout == ''
    assert result.stderr == (
        'set-up: error: /nonexistent/python is not a Python 3.10 to 3.14; install python3 or set PYTHON to one\n'
    )


def test_unknown_target_is_exit_2() -> None:
    result = run('tset')
    assert (result.returncode, result.stderr) == (2, "scripts/run: no target 'tset'; see scripts/run help\n")


def test_jazzy_has_an_environment_of_its_own_and_comes_as_wheels(
    project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, 'host_rclpy', lambda: '/opt/ros/kilted/rclpy/__init__.py')
    assert setup_plan.VENVS[JAZZY] != setup_plan.VENVS[DEV]
    assert build(project, JAZZY, calls) == ['create system_site=False', 'install jazzy wheels=True']
    assert build(project, JAZZY, calls) == []
    (project / 'requirements' / 'ros-jazzy.txt').write_text('newer')
    assert build(project, JAZZY, calls) == ['install jazzy wheels=True']


def test_both_releases_of_ros_list_the_same_packages() -> None:
    kilted, jazzy = (
        {line.partition('==')[0] for line in (ROOT / 'requirements' / name).read_text().splitlines() if '==' in line}
        for name in ('ros.txt', 'ros-jazzy.txt')
    )
    assert kilted == jazzy
