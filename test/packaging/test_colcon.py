"""The package builds and is tested in a colcon workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLCON = shutil.which('colcon', path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get('PATH', ''))))
TESTS = 'test/packaging/test_support.py'
PARTS = ('adora_ros', 'config', 'launch', 'resource', 'test', 'LICENSE', 'package.xml', 'pyproject.toml', 'setup.cfg')

pytestmark = [
    pytest.mark.colcon,
    pytest.mark.skipif(COLCON is None, reason='colcon is not installed'),
    pytest.mark.timeout(300),
]


def colcon(workspace: Path, *arguments: str) -> str:
    """Run colcon in ``workspace`` with the Python of this test and return what it prints."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ['PATH']))
    result = subprocess.run(
        [str(COLCON), '--log-base', 'log', *arguments],
        cwd=workspace,
        env={**os.environ, 'PATH': path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a workspace with a copy of the package in it."""
    source = tmp_path / 'src' / 'adora_ros'
    source.mkdir(parents=True)
    for part in (*PARTS, 'setup.py'):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns('__pycache__'))
        else:
            shutil.copy2(ROOT / part, source / part)
    return tmp_path


@pytest.mark.parametrize('options', [(), ('--symlink-install',)], ids=['copied', 'linked'])
def test_build_installs_what_ros2_run_and_launch_look_for(workspace: Path, options: tuple[str, ...]) -> None:
    colcon(workspace, 'build', *options)
    prefix = workspace / 'install' / 'adora_ros'
    for name in ('adora', 'manager'):
        assert os.access(prefix / 'lib' / 'adora_ros' / name, os.X_OK)
    assert (prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'adora_ros').is_file()
    share = prefix / 'share' / 'adora_ros'
    assert (share / 'package.xml').is_file()
    assert (share / 'dataflow.schema.json').is_file()
    for folder in ('config', 'launch'):
        wanted = {path.relative_to(ROOT) for path in (ROOT / folder).rglob('*') if path.is_file()}
        wanted = {path for path in wanted if '__pycache__' not in path.parts and not path.name.startswith('.')}
        assert {path.relative_to(share) for path in (share / folder).rglob('*') if path.is_file()} == wanted
    command = f'. {workspace}/install/setup.sh && exec {prefix}/lib/adora_ros/adora --help'
    result = subprocess.run(['sh', '-c', command], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, '')
    assert 'usage' in result.stdout.lower()


def test_colcon_test_runs_pytest(workspace: Path) -> None:
    colcon(workspace, 'build')
    colcon(workspace, 'test', '--return-code-on-test-failure', '--pytest-args', TESTS, '-k', 'test_domain_range')
    assert 'Summary: 4 tests, 0 errors, 0 failures, 0 skipped' in colcon(workspace, 'test-result', '--all')
