"""The files around the code agree with each other and with what is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from adora_ros.dataflow import json_schema

ROOT = Path(__file__).parents[2]
PACKAGE = ET.parse(ROOT / 'package.xml').getroot()  # noqa: S314 - our own file
OPTIONAL = {'launch'}
"""What has no wheel, and is only imported where it is there."""
COMMANDS = {
    'adora': 'adora_ros.cli.main:main',
    'coordinator': 'adora_ros.cli.coordinator:main',
    'manager': 'adora_ros.cli.manager:main',
}


def names(text: str) -> set[str]:
    """Return the names of the packages that requirement lines ask for."""
    lines = (line.strip() for line in text.splitlines())
    return {re.split(r'[\[<>=~! ]', line)[0].lower() for line in lines if line and not line.startswith('#')}


def test_versions_agree() -> None:
    version = PACKAGE.findtext('version')
    command = [sys.executable, '-W', 'ignore', 'setup.py', '--version']
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    assert printed.split()[-1] == version
    assert metadata.version('adora_ros') == version
    newest = re.search(r'^(\d+\.\d+\.\d+)', (ROOT / 'CHANGELOG.rst').read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version


def test_package_xml_is_an_ament_python_package() -> None:
    assert PACKAGE.get('format') == '3'
    assert PACKAGE.findtext('name') == 'adora_ros'
    assert PACKAGE.findtext('export/build_type') == 'ament_python'
    assert PACKAGE.findtext('license') == 'Apache-2.0'
    assert 'Apache License' in (ROOT / str(PACKAGE.find('license').get('file'))).read_text()  # type: ignore[union-attr]


def test_every_ros_dependency_has_a_wheel() -> None:
    wheels = names((ROOT / 'requirements' / 'ros.txt').read_text())
    depends = {str(element.text) for element in PACKAGE.findall('exec_depend')}
    ros = {name for name in depends - OPTIONAL if not name.startswith('python3-')}
    assert {f'ros-{name.replace("_", "-")}' for name in ros} <= wheels


def test_install_requires_is_what_the_set_up_installs() -> None:
    declared = [line for line in metadata.requires('adora_ros') or [] if 'extra ==' not in line]
    assert names('\n'.join(declared)) == names((ROOT / 'requirements' / 'runtime.txt').read_text())


def test_requirements_name_no_index() -> None:
    for path in (ROOT / 'requirements').iterdir():
        assert not re.search(r'://|^-', path.read_text(), re.MULTILINE), path


def test_entry_points() -> None:
    scripts = metadata.distribution('adora_ros').entry_points.select(group='console_scripts')
    points = {point.name: point for point in scripts}
    assert {name: point.value for name, point in points.items()} == COMMANDS
    for point in points.values():
        assert callable(point.load())


@pytest.mark.parametrize('name', COMMANDS)
def test_help_of_each_command(name: str) -> None:
    module = COMMANDS[name].partition(':')[0]
    script = f'import sys; sys.argv[0] = {name!r}; from {module} import main; sys.exit(main())'
    command = [sys.executable, '-c', script, '--help']
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, '')
    assert re.search(rf'usage: .*{name}', result.stdout, re.IGNORECASE)


def test_shipped_schema_is_that_of_the_model() -> None:
    shipped = json.loads((ROOT / 'resource' / 'dataflow.schema.json').read_text())
    assert shipped == json_schema(), 'run `make schema`'


def targets() -> set[str]:
    """Return the targets of the Makefile."""
    declared = re.search(r'^TARGETS := (.*)$', (ROOT / 'Makefile').read_text(), re.MULTILINE)
    assert declared is not None
    return set(declared[1].split())


def test_every_target_of_the_makefile_is_one_of_the_script() -> None:
    cases = set(re.findall(r'^    ([\w-]+)(?: \|.*)?\)$', (ROOT / 'scripts' / 'run').read_text(), re.MULTILINE))
    assert cases == targets()


def test_help_lists_every_target() -> None:
    result = subprocess.run(
        ['sh', 'scripts/run'],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert set(re.findall(r'^  ([\w-]+) ', result.stdout, re.MULTILINE)) == targets()


def test_readmes_name_existing_targets() -> None:
    for path in ROOT.glob('README*.md'):
        named = set(re.findall(r'(?:^|`|\$ )make ([a-z]+)', path.read_text(), re.MULTILINE))
        assert {'demo', 'test'} <= named <= targets(), path.name


@pytest.mark.parametrize('name', ['scripts/run', '.ci/run'])
def test_scripts_are_executable_posix_sh(name: str) -> None:
    path = ROOT / name
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith('#!/bin/sh\n')
    subprocess.run(['sh', '-n', str(path)], timeout=30, check=True)


def test_the_demo_runs_a_dataflow_that_is_there() -> None:
    demo = re.search(r"^DEMO='(\S+) ", (ROOT / 'scripts' / 'run').read_text(), re.MULTILINE)
    assert demo is not None
    assert (ROOT / demo[1]).is_file()
