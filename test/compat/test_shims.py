"""Scripts written for dora and adora find their package in the processes of a dataflow, and only there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.compat import SHIMS, with_shims
from adora_ros.dataflow import loads
from adora_ros.manager.environment import RunContext, environment, node_config

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import adora, dora
from adora import AdoraStatus
from dora import DoraStatus, Node
from dora.builder import DataflowBuilder
import adora_ros
assert dora.Node is adora.Node is adora_ros.Node is Node, Node
assert AdoraStatus is DoraStatus and [status.value for status in DoraStatus] == [0, 1, 2]
assert adora_ros.DataflowBuilder is DataflowBuilder
assert {'Node', 'DoraStatus'} <= set(dir(dora))
scope = {}
exec('from dora import *', scope)
assert scope['Node'] is Node
for module in ('dora.cuda', 'adora.cuda'):
    try:
        __import__(module)
    except ImportError as error:
        print(error)
for call in (dora.run, dora.build):
    try:
        call('flow.yml')
    except ImportError as error:
        print(error)
try:
    dora.nothing
except AttributeError as error:
    print(error)
"""

FLOW = """
nodes:
  - {id: plain, path: n.py}
  - {id: own, path: n.py, env: {PYTHONPATH: /own}}
  - {id: ros, ros: {executable: n.py}}
"""


def python(script: str, env: dict[str, str]) -> str:
    """Return what a script prints."""
    done = subprocess.run(
        [sys.executable, '-c', script], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dora_and_adora_are_this_package_even_where_dora_is_installed(tmp_path: Path) -> None:
    for name in ('dora', 'adora'):
        (tmp_path / name).mkdir()
        (tmp_path / name / '__init__.py').write_text('raise RuntimeError("the installed one")')
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    printed = python(SCRIPT, with_shims({**os.environ, 'PYTHONPATH': path})).splitlines()
    cuda = 'dora.cuda is not available: GPU memory is not shared between nodes, send the array from host memory, '
    assert printed == [
        cuda + 'for example pa.array(tensor.cpu().numpy().ravel())',
        cuda + 'for example pa.array(tensor.cpu().numpy().ravel())',
        "run('flow.yml') is not available inside a node: use `adora run FILE` on the command line",
        "build('flow.yml') is not available inside a node: use `adora build FILE` on the command line",
        "module 'dora' of adora_ros has no attribute 'nothing'",
    ]


def test_an_interpreter_without_adora_ros_says_so(tmp_path: Path) -> None:
    env = {**with_shims({'PATH': os.environ['PATH']}), 'PYTHONNOUSERSITE': '1'}
    command = [sys.executable, '-S', '-c', 'from dora import Node']
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f'ModuleNotFoundError: {sys.executable} runs a node of an adora_ros dataflow and cannot import adora_ros: '
        'install adora_ros and its ROS packages into that environment, or run the node with the interpreter of adora'
    )


def test_only_the_processes_of_path_nodes_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('PYTHONPATH', raising=False)
    (tmp_path / 'n.py').touch()
    dataflow = loads(FLOW, path=tmp_path / 'flow.yml')
    context = RunContext(
        dataflow=dataflow,
        run_id='uuid',
        folder=tmp_path,
        machine='',
        local=frozenset(node.id for node in dataflow.nodes),
        env={},
    )
    paths = {}
    for node in dataflow.nodes:
        config = node_config(context, node, 0, control_fd=9, life_fd=10, end_fd=11, closed_inputs=())
        paths[node.id] = environment(context, node, config, '@a', sys.executable).get('PYTHONPATH')
    assert paths == {'plain': str(SHIMS), 'own': f'{SHIMS}{os.pathsep}/own', 'ros': None}
    assert 'PYTHONPATH' not in os.environ
    spec = importlib.util.find_spec('dora')
    assert spec is None or not Path(spec.origin or '').is_relative_to(SHIMS)
