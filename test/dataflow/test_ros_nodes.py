"""Existing ROS 2 nodes: finding them, binding their ports, their command line."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import yaml

from adora_ros.dataflow import DataflowError, NodeKind, command
from adora_ros.dataflow.command import parameter_text

if TYPE_CHECKING:
    from pathlib import Path

    from dataflow.conftest import Check, Make

ROS = 'nodes:\n  - id: n\n    ros:\n      executable: run\n'
"""A ROS node, whose further `ros` keys begin in line 5, column 7."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the package ``nav`` with the executable ``planner`` in an ament index; return its prefix."""
    prefix = tmp_path / 'install'
    (prefix / 'lib' / 'nav').mkdir(parents=True)
    (prefix / 'lib' / 'nav' / 'planner').touch(mode=0o755)

    def get_package_prefix(package: str) -> str:
        if package != 'nav':
            raise LookupError(package)
        return str(prefix)

    packages = SimpleNamespace(
        get_package_prefix=get_package_prefix, get_packages_with_prefixes=lambda: {'nav': str(prefix)}
    )
    monkeypatch.setitem(sys.modules, 'ament_index_python', SimpleNamespace(packages=packages))
    monkeypatch.setitem(sys.modules, 'ament_index_python.packages', packages)
    return prefix


def test_a_file(make: Make, folder: Path) -> None:
    node = make(ROS).node('n')
    assert node.kind is NodeKind.ROS
    assert (node.path, node.program, node.full_name) == (None, None, '/robot/n')
    assert node.ros is not None
    assert (node.ros.executable, node.ros.package, node.ros.lifecycle) == (folder / 'run', None, None)
    assert command(node) == (str(folder / 'run'), '--ros-args', '-r', '__node:=n', '-r', '__ns:=/robot')


def test_a_script_runs_on_this_interpreter(make: Make, folder: Path) -> None:
    node = make(ROS.replace('run', './a.py')).node('n')
    assert command(node)[:3] == (sys.executable, str(folder / 'a.py'), '--ros-args')


def test_a_package(make: Make, workspace: Path) -> None:
    node = make('nodes: [{id: n, ros: {package: nav, executable: planner}}]').node('n')
    assert node.ros is not None
    assert (node.ros.package, node.ros.executable) == ('nav', workspace / 'lib' / 'nav' / 'planner')


@pytest.mark.parametrize(
    ('package', 'executable', 'expected'),
    [
        ('navi', 'planner', '1:32: error: node `n`: ROS package `navi` is not installed; did you mean `nav`?'),
        ('zzz', 'planner', '1:32: error: node `n`: ROS package `zzz` is not installed; source its workspace'),
        ('nav', 'planer', '1:49: error: node `n`: ROS package `nav` has no executable `planer` in <folder>/install/lib/nav; did you mean `planner`?'),
    ],
)  # fmt: skip
@pytest.mark.usefixtures('workspace')
def test_a_package_that_is_not_there(check: Check, package: str, executable: str, expected: str) -> None:
    assert check(f'nodes: [{{id: n, ros: {{package: {package}, executable: {executable}}}}}]') == [expected]


def test_a_package_without_an_ament_index(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'ament_index_python', None)
    monkeypatch.setitem(sys.modules, 'ament_index_python.packages', None)
    assert check('nodes: [{id: n, ros: {package: nav, executable: x}}]') == [
        (
            '1:32: error: node `n`: the ROS package `nav` cannot be looked up: ament_index_python is missing; '
            'source your ROS 2 setup'
        )
    ]


def test_a_package_without_a_sourced_workspace(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip('ament_index_python')
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    assert check('nodes: [{id: n, ros: {package: nav, executable: x}}]') == [
        (
            '1:32: error: node `n`: the ROS package `nav` cannot be looked up: AMENT_PREFIX_PATH is not set; '
            'source your ROS 2 setup'
        )
    ]


def test_rules_for_one_node_of_a_process_come_before_those_for_all(make: Make) -> None:
    node = make(f'{ROS}      remappings: {{a: /b, "second:__node": other}}\n').node('n')
    assert command(node)[2:] == (
        '-r', 'second:__node:=other', '-r', '__node:=n', '-r', '__ns:=/robot', '-r', 'a:=/b'
    )  # fmt: skip


def test_the_whole_command_line(make: Make, folder: Path) -> None:
    node = make(
        'nodes:\n'
        '  - {id: cam, path: a.py, outputs: {image: {type: sensor_msgs/Image}}}\n'
        '  - id: det\n'
        '    ros:\n'
        '      executable: run\n'
        '      namespace: front\n'
        '      name: detector\n'
        '      lifecycle: true\n'
        '      arguments: --gpu "0 1"\n'
        '      remappings: {cmd: /base/cmd}\n'
        '      parameters:\n'
        '        rate: 10\n'
        '        model: {file: "a: b", scale: 1.0, ids: [1, 2]}\n'
        '    inputs: {image: cam/image, scan: {topic: /scan}}\n'
        '    outputs: {boxes: {topic: /boxes}, mask: {type: sensor_msgs/Image}}\n'
    ).node('det')
    assert node.full_name == '/robot/front/detector'
    assert node.ros is not None
    assert node.ros.lifecycle is True
    assert node.ros.parameters == {'rate': 10, 'model.file': 'a: b', 'model.scale': 1.0, 'model.ids': [1, 2]}
    assert command(node) == (
        str(folder / 'run'), '--gpu', '0 1', '--ros-args',
        '-r', '__node:=detector', '-r', '__ns:=/robot/front',
        '-p', 'rate:=10', '-p', 'model.file:="a: b"', '-p', 'model.scale:=1.0', '-p', 'model.ids:=[1, 2]',
        '-r', 'cmd:=/base/cmd',
        '-r', 'boxes:=/boxes', '-r', 'mask:=/robot/detector/mask',
        '-r', 'image:=/robot/cam/image', '-r', 'scan:=/scan',
    )  # fmt: skip


def test_a_parameter_file(make: Make, folder: Path) -> None:
    (folder / 'p.yaml').touch()
    node = make(f'{ROS}      parameters: ./p.yaml\n      arguments: [--x, a b]\n      namespace: /\n').node('n')
    assert node.ros is not None
    assert node.ros.parameters == folder / 'p.yaml'
    assert node.full_name == '/n'
    assert command(node)[1:] == (
        '--x', 'a b', '--ros-args', '-r', '__node:=n', '-r', '__ns:=/', '--params-file', str(folder / 'p.yaml')
    )  # fmt: skip


@pytest.mark.parametrize(
    'value', [True, 0, -5, 2**63 - 1, 1.0, 1e-9, 1e300, math.inf, -math.inf, '', 'yes', '1', 'a "b" \\ : #\n', [1, 2], ['x'], [1.5]]
)  # fmt: skip
def test_parameters_survive_as_yaml(value: object) -> None:
    assert yaml.safe_load(parameter_text(value).replace('e-', '.0e-').replace('e+', '.0e+')) == value


def test_nan_is_a_parameter() -> None:
    assert parameter_text(math.nan) == '.nan'


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('executble: x', '5:7: error: node `n`: unknown key `executble`; did you mean `executable`?'),
        ('name: a-b', '5:13: error: node `n`: `a-b` is not a ROS node name; use letters, digits and _, no digit first'),
        ('namespace: a//b', '5:18: error: node `n`: `/robot/a//b` is not a ROS name: an empty part (a slash at the end, or two in a row); use letters, digits and _, no digit first'),
        ('lifecycle: maybe', '5:18: error: node `n`: `lifecycle` must be auto, true or false, got the text "maybe"'),
        ('arguments: 3', '5:18: error: node `n`: `arguments` must be text or a list, got 3; write it in quotes'),
        ("arguments: '\"x'", '5:18: error: node `n`: `arguments` is not quoted as in a shell: no closing quotation'),
        ('arguments: [1]', '5:19: error: node `n`: item 1 of `arguments` must be text, got 1; write it in quotes'),
        ('remappings: {a: 1}', '5:23: error: node `n`: `a` must be text, got 1; write it in quotes'),
        ('remappings: {a: "b c"}', '5:20: error: node `n`: `a` to `b c` is not a remapping of ROS names'),
        ('parameters: p.yaml', '5:19: error: node `n`: there is no file `<folder>/p.yaml`'),
        ('parameters: [1]', '5:19: error: node `n`: `parameters` must be text or a mapping, got a list'),
        ('parameters: {a: }', '5:22: error: node `n`: parameter `a` has no value'),
        ('parameters: {a: {b: [1, x]}}', '5:27: error: node `n`: parameter `a.b` must be a list of texts, of numbers of one kind, or of true and false'),
        ('parameters: {a: []}', '5:23: error: node `n`: parameter `a` is an empty list, whose type ROS 2 cannot tell; leave it out'),
        ('parameters: {a: 9223372036854775808}', '5:23: error: node `n`: parameter `a` does not fit into 64 bits'),
        ('parameters: {a.b: 1, a: {b: 2}}', '5:32: error: node `n`: parameter `a.b` is given twice'),
        ('parameters: {n: {ros__parameters: {a: 1}}}', '5:24: error: node `n`: `ros__parameters` belongs to a parameter file; write the parameters themselves'),
    ],
)  # fmt: skip
def test_errors(check: Check, lines: str, expected: str) -> None:
    assert check(f'{ROS}      {lines}\n') == [expected]


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('inputs: {t: dora/timer/secs/1}', '5:17: error: node `n`: input `t`: a timer cannot feed a `ros` node, which has no Node API; use a timer of its own'),
        ('inputs: {x: c/arrow}', '5:17: error: node `n`: input `x`: a `ros` node cannot read Arrow values; give output `c/arrow` a `type`'),
        ('inputs: {x-y: c/typed}', '5:5: error: node `n`: `x-y` of inputs is not a ROS name, which a port of a `ros` node must be; use letters and _'),
        ('outputs: [x.y]', '5:5: error: node `n`: `x.y` of outputs is not a ROS name, which a port of a `ros` node must be; use letters and _'),
        ('args: x', '5:5: warning: node `n`: `args` has no effect on a `ros` node; use `arguments` in `ros`'),
        ('inputs: {x: {source: c/typed, queue_size: 1}}', '5:35: warning: node `n`: input `x`: `queue_size` has no effect on a `ros` node, which reads its topics by itself'),
        ('inputs: {x: {source: c/typed, input_timeout: 1}}', '5:35: warning: node `n`: input `x`: `input_timeout` has no effect on a `ros` node, which reads its topics by itself'),
    ],
)  # fmt: skip
def test_ports(check: Check, lines: str, expected: str) -> None:
    producer = '  - {id: c, path: a.py, outputs: {arrow: {}, typed: {type: std_msgs/String}}}\n'
    assert check(f'{ROS}    {lines}\n{producer}') == [expected]


def test_a_port_is_not_remapped_twice(check: Check) -> None:
    assert check(f'{ROS}      remappings: {{image: /x}}\n    outputs: [image]\n') == [
        '5:20: error: node `n`: `image` is a port of this node; give the port the `topic` instead'
    ]


def test_an_output_of_a_ros_node_needs_a_type_for_the_node_api(check: Check) -> None:
    text = f'{ROS}    outputs: [image]\n  - id: c\n    path: a.py\n    inputs:\n      x: INPUT\n'
    assert check(text.replace('INPUT', 'n/image')) == [
        (
            '9:10: error: node `c`: input `x`: output `n/image` of a `ros` node has no message type; '
            'give one of the two a `type`'
        )
    ]
    assert check(text.replace('INPUT', '{source: n/image, type: sensor_msgs/Image, qos: latched}')) == []


def test_ros_nodes_feed_each_other_without_a_type(make: Make) -> None:
    dataflow = make(
        f'{ROS}    outputs: [image]\n  - id: m\n    ros: {{executable: run}}\n    inputs: {{image: n/image}}\n'
    )
    assert dataflow.node('m').input('image').type is None
    assert command(dataflow.node('m'))[-2:] == ('-r', 'image:=/robot/n/image')


def test_ros_names_that_collide(check: Check) -> None:
    text = 'nodes:\n  - {id: a, path: a.py}\n  - {id: b, ros: {executable: run, name: a}}\n'
    assert check(text) == [
        '3:10: error: node `b`: `a` (on line 2) and `b` both become the ROS name `/robot/a`; rename one'
    ]


def test_command_of_a_path_node(make: Make, folder: Path) -> None:
    dataflow = make('nodes:\n  - {id: a, path: a.py, args: -x 1}\n  - {id: b, path: run}\n')
    assert command(dataflow.node('a')) == (sys.executable, str(folder / 'a.py'), '-x', '1')
    assert command(dataflow.node('b')) == (str(folder / 'run'),)


def test_a_node_without_a_program_has_no_command(make: Make) -> None:
    from dataclasses import replace  # noqa: PLC0415 - used once

    node = replace(make('nodes: [{id: a, path: a.py}]').node('a'), program=None)
    with pytest.raises(DataflowError, match='node `a` has nothing to run; give it a `path`'):
        command(node)
