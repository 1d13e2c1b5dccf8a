"""Every kind of error, with its place and its words."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import DataflowError, DataflowErrors, load, loads

if TYPE_CHECKING:
    from pathlib import Path

    from dataflow.conftest import Check

NODE = 'nodes:\n  - id: a\n    path: a.py\n'
"""A valid dataflow of one node, whose further keys begin in line 4, column 5."""
CAMERA = NODE + '    outputs: [image, scan]\n  - id: b\n    path: b.py\n    inputs:\n'
"""A camera and a consumer, whose inputs begin in line 8."""


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', '1:1: error: the file is empty; it needs `nodes`, a list of nodes'),
        ('# nothing\n', '1:1: error: the file is empty; it needs `nodes`, a list of nodes'),
        ('- a\n', '1:1: error: the file must be a mapping; it needs `nodes`, a list of nodes'),
        ('env: {}\n', '1:1: error: `nodes` is missing'),
        ('nodes:\n', '1:7: error: `nodes` must be a list, got nothing'),
        ('nodes: []\n', '1:8: error: `nodes` is empty; a dataflow needs at least one node'),
        ('nodes: {}\n', '1:8: error: `nodes` must be a list, got a mapping'),
        ('nodes:\n  - a\n', '2:5: error: node number 1: it must be a mapping, got the text "a"'),
        ('nodes:\n  - path: a.py\n', '2:5: error: node number 1: `id` is missing'),
        (
            'nodes:\n  - id: 7\n    path: a.py\n',
            '2:9: error: node number 1: `id` must be text, got 7; write it in quotes',
        ),
    ],
)
def test_not_a_dataflow(check: Check, text: str, expected: str) -> None:
    assert check(text) == [expected]


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('nodes: [\n', '2:1: error: not valid YAML: while parsing a flow node expected the node content, '),
        ('nodes:\n\t- id: a\n', '2:1: error: not valid YAML: while scanning for the next token found character'),
        ('a: 1\n---\nb: 2\n', '2:1: error: not valid YAML: expected a single document in the stream'),
        ('nodes: *x\n', '1:8: error: not valid YAML: found undefined alias'),
        ('nodes: &x [*x]\n', '1:8: error: not valid YAML: an alias is inside of its own anchor'),
        ('a: &x {<<: *x}\n', '1:4: error: not valid YAML: an alias is inside of its own anchor'),
        ('a: {<<: 3}\n', '1:9: error: not valid YAML: `<<` takes a mapping'),
        ('a: !!binary aGk=\n', '1:4: error: not valid YAML: the tag tag:yaml.org,2002:binary is not supported'),
        ('a: !thing {}\n', '1:4: error: not valid YAML: the tag !thing is not supported'),
        ('? [a]\n: b\n', '1:3: error: not valid YAML: a key must be text'),
        ('a: \x07\n', "1:4: error: not valid YAML: '\\x07' is not allowed in YAML"),
        ('ok: 1\nab: \x07\n', "2:5: error: not valid YAML: '\\x07' is not allowed in YAML"),
        ('a: !!int x\n', '1:4: error: not valid YAML: `x` is not a number'),
        ('[' * 3000, '1:1: error: not valid YAML: nested too deeply'),
    ],
)
def test_not_yaml(check: Check, text: str, expected: str) -> None:
    (problem,) = check(text)
    assert problem.startswith(expected)


def test_aliases_that_multiply_are_refused(check: Check) -> None:
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'] + [
        f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 10)}]' for n in range(1, 9)
    ]
    assert check('\n'.join(lines)) == ['1:34: error: not valid YAML: aliases expand to too many values']


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('restart_polcy: always', '4:5: error: node `a`: unknown key `restart_polcy`; did you mean `restart_policy`?'),
        ('queue_size: 3', '4:5: error: node `a`: unknown key `queue_size`; it belongs to an input'),
        ('restart_strategy: one_for_all', '4:5: error: node `a`: unknown key `restart_strategy`; it belongs to the top level'),
        ('package: nav', '4:5: error: node `a`: unknown key `package`; it belongs to the `ros` of a node'),
        ('deploy: {machin: x}', '4:14: error: node `a`: unknown key `machin`; did you mean `machine`?'),
        ('deploy: {xyz: x}', '4:14: error: node `a`: unknown key `xyz`; known: distribute, labels, machine, working_dir'),
        ('id: b', '4:5: error: `id` is given twice; the first is on line 2'),
        ('7: b', "4:5: error: a key must be text; write '7' in quotes"),
        ('true: b', "4:5: error: a key must be text; write 'true' in quotes"),
        ('args: "x \'y"', '4:11: error: node `a`: `args` is not quoted as in a shell: no closing quotation'),
        ('restart_policy: on_failure', '4:21: error: node `a`: `restart_policy` must be `never`, `on-failure` or `always`, got the text "on_failure"; did you mean `on-failure`?'),
        ('restart_policy: true', '4:21: error: node `a`: `restart_policy` must be `never`, `on-failure` or `always`, got true'),
        ('on_give_up: stop', '4:17: error: node `a`: `on_give_up` must be `ignore` or `stop_dataflow`, got the text "stop"'),
        ('restart_delay: "1"', '4:20: error: node `a`: `restart_delay` must be a number, got the text "1"; remove the quotes'),
        ('restart_delay: 1s', '4:20: error: node `a`: `restart_delay` must be a number, got the text "1s"'),
        ('restart_delay: -0.5', '4:20: error: node `a`: `restart_delay` must be >= 0, got -0.5'),
        ('restart_delay: .inf', '4:20: error: node `a`: `restart_delay` must be a finite number, got .inf'),
        ('restart_delay: -.inf', '4:20: error: node `a`: `restart_delay` must be a finite number, got -.inf'),
        ('restart_delay: 1e999', '4:20: error: node `a`: `restart_delay` must be a finite number, got .inf'),
        ('restart_delay: 1e10', '4:20: error: node `a`: `restart_delay` must be <= 1e+09, got 10000000000.0'),
        ('restart_delay: true', '4:20: error: node `a`: `restart_delay` must be a number, got true'),
        ('restart_window: 0', '4:21: error: node `a`: `restart_window` must be > 0, got 0'),
        ('health_check_timeout: 0', '4:27: error: node `a`: `health_check_timeout` must be > 0, got 0'),
        ('startup_timeout: []', '4:22: error: node `a`: `startup_timeout` must be a number, got a list'),
        ('stop_grace: -1', '4:17: error: node `a`: `stop_grace` must be >= 0, got -1'),
        ('finish_grace_secs: {}', '4:24: error: node `a`: `finish_grace_secs` must be a number, got a mapping'),
        ('max_restarts: 4294967296', '4:19: error: node `a`: `max_restarts` must be <= 4294967295, got 4294967296'),
        ('cpu_affinity: [0, -1]', '4:23: error: node `a`: item 2 of `cpu_affinity` must be >= 0, got -1'),
        ('warm: hot', '4:11: error: node `a`: `warm` must be auto, true or false, got the text "hot"'),
        ('cpu_affinity: 1', '4:19: error: node `a`: `cpu_affinity` must be a list, got 1'),
        ('max_log_size: 5XB', '4:19: error: node `a`: `5XB` is not a size; write it as a number with B, KB, MB or GB'),
        ('max_log_size: -1', '4:19: error: node `a`: `-1` is not a size; write it as a number with B, KB, MB or GB'),
        ('max_log_size: 1.5', '4:19: error: node `a`: `max_log_size` must be a size such as 50MB, got 1.5'),
        ('max_log_size: 99999999999999GB', '4:19: error: node `a`: `99999999999999GB` is too large'),
        ('max_log_size: 0', '4:19: error: node `a`: `max_log_size` must be above 0'),
        ('max_rotated_files: 0', '4:24: error: node `a`: `max_rotated_files` must be >= 1, got 0'),
        ('max_rotated_files: 101', '4:24: error: node `a`: `max_rotated_files` must be <= 100, got 101'),
        ('min_log_level: inf', '4:20: error: node `a`: `inf` is not a log level; use error, warn, info, debug, trace, stdout; did you mean `info`?'),
        ('name: [x]', '4:11: error: node `a`: `name` must be text, got a list'),
        ('env: {A: [1]}', '4:14: error: node `a`: `A` must be text, a number, true or false, got a list'),
        ('env: {A: }', '4:13: error: node `a`: `A` must be text, a number, true or false, got nothing'),
        ('env: {A=B: x}', '4:11: error: node `a`: `A=B` is not the name of an environment variable'),
        ('env: {A: $ADORA_UNSET}', '4:14: error: node `a`: the environment variable `ADORA_UNSET` is not set; set it, or write ${ADORA_UNSET:-default}'),
        ('env: [A]', '4:10: error: node `a`: `env` must be a mapping, got a list'),
        ('deploy: {machine: 1}', '4:23: error: node `a`: `machine` must be text, got 1; write it in quotes'),
        ('{deploy: {}, _unstable_deploy: {}}', None),
        ('ros: {executable: run}', '4:5: error: node `a`: `path` and `ros` exclude each other; give one'),
        ('pattern: server', '4:14: error: node `a`: `pattern` must be `service-server`, `service-client`, `action-server` or `action-client`, got the text "server"; did you mean `action-server`?'),
        ('outputs: x', '4:14: error: node `a`: `outputs` must be a list or a mapping, got the text "x"'),
        ('outputs: [x, x]', '4:18: error: node `a`: output `x`: output `x` is given twice; the first is on line 4'),
        ('outputs: [x y]', "4:15: error: node `a`: output `x y`: the id `x y` has the character ' ' in it; use letters, digits, _, -, . and /"),
        ("outputs: ['']", '4:15: error: node `a`: output ``: the id of an input or output must not be empty'),
        ('outputs: [/x]', '4:15: error: node `a`: output `/x`: the id `/x` must not begin or end with a slash, nor have two in a row'),
        ('outputs: [3]', '4:15: error: node `a`: output `1`: it must be text or a mapping, got 3'),
        ('outputs: [{topic: /x}]', '4:15: error: node `a`: output `1`: `id` is missing'),
        ('outputs: {x: y}', '4:18: error: node `a`: output `x`: it must be a mapping, got the text "y"'),
        ('outputs: {x: {typ: y}}', '4:19: error: node `a`: output `x`: unknown key `typ`; did you mean `type`?'),
        ('outputs: {x: {type: Image}}', '4:25: error: node `a`: output `x`: `Image` is not a message type; write it as package/msg/Name, such as sensor_msgs/msg/Image'),
        ('outputs: {x: {topic: /a//b}}', '4:26: error: node `a`: output `x`: `/a//b` is not a ROS name: an empty part (a slash at the end, or two in a row); use letters, digits and _, no digit first'),
        ('outputs: {x: {topic: 2d}}', '4:26: error: node `a`: output `x`: `/robot/2d` is not a ROS name: its part `2d`; use letters, digits and _, no digit first'),
        ('outputs: {x: {qos: fast}}', '4:24: error: node `a`: output `x`: `qos` must be `default`, `reliable`, `sensor_data` or `latched`, got the text "fast"'),
        ('outputs: {x: {qos: {depth: 0}}}', '4:32: error: node `a`: output `x`: `depth` must be >= 1, got 0'),
        ('outputs: {x: {topic: /robot/events}}', '4:18: error: node `a`: output `x`: the topic `/robot/events` is that of the events of the dataflow; choose another'),
        ('outputs: [x-y, x.y]', '4:20: error: node `a`: output `x.y`: outputs `a/x-y` (on line 4) and `a/x.y` both become the topic `/robot/a/x_y`; rename one'),
        (f'outputs: [{"x" * 250}]', f'4:15: error: node `a`: output `{"x" * 250}`: the topic `/robot/a/{"x" * 250}` is longer than 247 characters'),
        ('inputs: [x]', '4:13: error: node `a`: `inputs` must be a mapping, got a list'),
    ],
)  # fmt: skip
def test_keys_of_a_node(check: Check, lines: str, expected: str | None) -> None:
    if expected is None:
        lines = 'deploy: {}\n    _unstable_deploy: {}'
        expected = '5:5: error: node `a`: `deploy` is given too; remove the older name'
    assert [line for line in check(f'{NODE}    {lines}\n') if ': error: ' in line] == [expected]


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('x: a/imag', '8:10: error: node `b`: input `x`: node `a` has no output `imag`; did you mean `image`?'),
        ('x: a/zzz', '8:10: error: node `b`: input `x`: node `a` has no output `zzz`; it has `image`, `scan`'),
        ('x: b/y', '8:10: error: node `b`: input `x`: node `b` has no output `y`; it has no outputs'),
        ('x: aa/image', '8:10: error: node `b`: input `x`: there is no node `aa`; did you mean `a`?'),
        ('x: {source: c/image}', '8:19: error: node `b`: input `x`: there is no node `c`'),
        ('x: image', '8:10: error: node `b`: input `x`: `image` is not a source; write node/output, or dora/timer/millis/100 for a timer'),
        ('x: ""', '8:10: error: node `b`: input `x`: `` is not a source; write node/output, or dora/timer/millis/100 for a timer'),
        ('x: a/', '8:10: error: node `b`: input `x`: the id of an input or output must not be empty'),
        ('x: 5', '8:10: error: node `b`: input `x`: it must be text or a mapping, got 5'),
        ('x:', '8:9: error: node `b`: input `x`: it must be text or a mapping, got nothing'),
        ('x: {}', '8:10: error: node `b`: input `x`: it needs a `source` (node/output or a timer) or a `topic`'),
        ('x: {source: 5}', '8:19: error: node `b`: input `x`: `source` must be text or a mapping, got 5'),
        ('x: {sorce: a/image}', '8:11: error: node `b`: input `x`: unknown key `sorce`; did you mean `source`?'),
        ('x: {source: a/image, restart_delay: 1}', '8:28: error: node `b`: input `x`: unknown key `restart_delay`; it belongs to a node'),
        ('x: {source: a/image, queue_size: "5"}', '8:40: error: node `b`: input `x`: `queue_size` must be a whole number, got the text "5"; remove the quotes'),
        ('x: {source: a/image, queue_policy: drop}', '8:42: error: node `b`: input `x`: `queue_policy` must be `drop_oldest` or `backpressure`, got the text "drop"'),
        ('x: {source: a/image, input_timeout: 0}', '8:43: error: node `b`: input `x`: `input_timeout` must be > 0, got 0'),
        ('x: {source: a/image, first_message_timeout: .nan}', '8:51: error: node `b`: input `x`: `first_message_timeout` must be a finite number, got .nan'),
        ('x: {source: a/image, topic: /x}', '8:28: error: node `b`: input `x`: `topic` and `source` exclude each other; give one'),
        ('x: {source: {topic: /x}, type: std_msgs/String}', '8:32: error: node `b`: input `x`: `type` is also in `source`; give it once'),
        ('x: {source: {topic: /x, tipe: y}}', '8:31: error: node `b`: input `x`: unknown key `tipe`; did you mean `type`?'),
        ('x: {source: {topic: a b}}', '8:27: error: node `b`: input `x`: `/robot/a b` is not a ROS name: its part `a b`; use letters, digits and _, no digit first'),
        ('x: {topic: /x, type: y}', '8:28: error: node `b`: input `x`: `y` is not a message type; write it as package/msg/Name, such as sensor_msgs/msg/Image'),
        ('x: {source: a/image, type: sensor_msgs/Image}', '8:34: error: node `b`: input `x`: output `a/image` carries Arrow values, not sensor_msgs/msg/Image; give it that `type`, or none here'),
        ('x: {source: a/image, qos: latched}', '8:33: error: node `b`: input `x`: output `a/image` is volatile, so a transient_local input never gets a message from it'),
        ('x: {source: dora/timer/secs/1, type: std_msgs/Empty}', '8:38: error: node `b`: input `x`: a timer has no `type`; remove it'),
        ('x: dora/logs/info/c', '8:10: error: node `b`: input `x`: there is no node `c`'),
        ('x: {source: adora/logs, type: std_msgs/String}', '8:31: error: node `b`: input `x`: log lines have no `type`; remove it'),
        ('x y: a/image', "8:7: error: node `b`: input `x y`: the id `x y` has the character ' ' in it; use letters, digits, _, -, . and /"),
    ],
)  # fmt: skip
def test_inputs(check: Check, line: str, expected: str) -> None:
    assert check(f'{CAMERA}      {line}\n') == [expected]


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('path: c.py', '3:11: error: node `n`: there is no file `<folder>/c.py`, nor a program of that name on PATH'),
        ('path: ./runn', '3:11: error: node `n`: there is no file `<folder>/runn`; did you mean `run`?'),
        ('path: .', '3:11: error: node `n`: `<folder>` is a folder, not a file, nor a program of that name on PATH'),
        ('path: no/such/thing', '3:11: error: node `n`: there is no file `<folder>/no/such/thing`'),
        ('path: no-such-program-anywhere', '3:11: error: node `n`: there is no file `<folder>/no-such-program-anywhere`, nor a program of that name on PATH'),
        ('path: text', '3:11: error: node `n`: `<folder>/text` is not executable; run `chmod +x <folder>/text`'),
        ('path: ""', '3:11: error: node `n`: `path` is empty; name the program to run'),
        ('description: x', '2:5: error: node `n`: it has nothing to run; give it a `path`, or `ros` for an existing ROS 2 node'),
        ('path: shell\n    args: ls', '3:11: error: node `n`: `path: shell` runs any command, which is off; set ADORA_ALLOW_SHELL_NODES=true to allow it'),
        ('path: /bin/sh\n    git: -x', '4:10: error: node `n`: `-x` is not the `git` of a repository'),
        ('path: /bin/sh\n    git: x\n    tag: a\n    rev: b', '6:5: error: node `n`: `tag` and `rev` exclude each other; give one'),
        ('path: x/y\n    build: make', '3:11: error: node `n`: there is no file `<folder>/x/y`; run `adora build robot.yml` first'),
        ('module: m.yml', '3:13: error: node `n`: there is no module file `<folder>/m.yml`'),
        ('hub: dora-yolo@1', '3:5: error: node `n`: `hub` is not supported yet; install the node yourself and give its `path`'),
    ],
)  # fmt: skip
def test_what_a_node_runs(check: Check, folder: Path, lines: str, expected: str) -> None:
    (folder / 'text').touch(mode=0o644)
    assert check(f'nodes:\n  - id: n\n    {lines}\n') == [expected]


@pytest.mark.parametrize(
    ('lines', 'place'),
    [
        ('path: {}', '3:11'),
        ('module: {}', '3:13'),
        ('operator: {{python: {}}}', '3:24'),
        ('ros: {{executable: {}}}', '3:23'),
    ],
)
def test_a_name_that_no_file_can_have(check: Check, lines: str, place: str) -> None:
    name = f'{"x" * 300}.py'
    (problem,) = check(f'nodes:\n  - id: n\n    {lines.format("./" + name)}\n')
    assert problem.startswith(f'{place}: error: node `n`: ')
    assert f'`<folder>/{name}` cannot be looked at: File name too long' in problem


@pytest.mark.parametrize('lines', ['path: program.py', 'operator: {python: program.py}'])
def test_a_script_that_cannot_be_read(check: Check, folder: Path, lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / 'program.py'
    script.touch()
    access = os.access
    monkeypatch.setattr(os, 'access', lambda path, mode: path != script and access(path, mode))
    (problem,) = check(f'nodes:\n  - id: n\n    {lines}\n')
    assert problem.endswith('`<folder>/program.py` cannot be read; run `chmod +r <folder>/program.py`')


@pytest.mark.parametrize(
    ('line', 'words'),
    [
        ('branch: x', '`branch` has no effect without `git`; give the repository'),
        ('path_sha256: x', '`path_sha256` is for a `path` that is a URL'),
    ],
)
def test_keys_that_belong_to_others(check: Check, line: str, words: str) -> None:
    assert check(f'{NODE}    {line}\n') == [f'4:5: error: node `a`: {words}']


def test_downloads(check: Check) -> None:
    node = 'nodes:\n  - id: n\n    path: https://x.org/d/n?q=1\n'
    missing = 'error: node `n`: there is no file `<folder>/build'
    assert check(node) == [
        '3:5: warning: node `n`: nothing says what the download must be; give its `path_sha256`',
        f'3:11: {missing}/n`; run `adora build robot.yml` first',
    ]
    digest = 64 * 'A'
    assert check(f'{node}    path_sha256: {digest}\n') == [
        f'3:11: {missing}/{digest.lower()}/n`; run `adora build robot.yml` first'
    ]
    (problem, _) = check(f'{node}    path_sha256: ../x\n')[::-1]
    assert problem.startswith('4:18: error: node `n`: `../x` is not a SHA-256 sum')


def test_params_without_a_module(check: Check) -> None:
    assert check(f'{NODE}    params: {{x: "1"}}\n') == [
        '4:5: error: node `a`: `params` are for a `module`; use `args` or `env`'
    ]


@pytest.mark.parametrize(
    ('node_id', 'expected'),
    [
        ('dora', '2:9: error: node `dora`: `dora` cannot be the id of a node: sources such as dora/timer/millis/100 begin with it'),
        ('adora', '2:9: error: node `adora`: `adora` cannot be the id of a node: sources such as adora/timer/millis/100 begin with it'),
        ('.a', '2:9: error: node `.a`: the node id `.a` must not begin with a dot'),
        ('a/b', "2:9: error: node `a/b`: the node id `a/b` has the character '/' in it; use letters, digits, _, - and ."),
        ('ä', "2:9: error: node `ä`: the node id `ä` has the character 'ä' in it; use letters, digits, _, - and ."),
        ('""', '2:9: error: node ``: the id of a node must not be empty'),
        ('manager', '2:9: error: node `manager`: `/robot/manager` is reserved for the manager; rename the node'),
        ('manager-b', '2:9: error: node `manager-b`: `/robot/manager_b` is reserved for the manager; rename the node'),
        ('n' * 256, f'2:9: error: node `{"n" * 256}`: the id is longer than 255 characters'),
    ],
)  # fmt: skip
def test_node_ids(check: Check, node_id: str, expected: str) -> None:
    assert check(f'nodes:\n  - id: {node_id}\n    path: a.py\n') == [expected]


def test_duplicate_and_colliding_ids(check: Check) -> None:
    text = 'nodes:\n' + ''.join(f'  - id: {name}\n    path: a.py\n    outputs: [o]\n' for name in ('a-b', 'a-b', 'a.b'))
    assert check(text) == [
        '5:9: error: node `a-b`: this id is given twice; the first is on line 2',
        '8:9: error: node `a.b`: `a-b` (on line 2) and `a.b` both become the ROS name `/robot/a_b`; rename one',
        (
            '10:15: error: node `a.b`: output `o`: outputs `a-b/o` (on line 4) and `a.b/o` both become the topic '
            '`/robot/a_b/o`; rename one'
        ),
    ]


def test_ids_of_the_coordinator_are_reserved_in_its_namespace(folder: Path) -> None:
    with pytest.raises(DataflowErrors, match='`/adora/store` is reserved for the coordinator; rename the node'):
        loads('nodes:\n  - {id: store, path: a.py}\n', path=folder / 'adora.yml')


def test_a_shared_topic_has_one_type(check: Check) -> None:
    text = (
        'nodes:\n'
        '  - {id: a, path: a.py, outputs: {x: {topic: /t, type: std_msgs/String}}}\n'
        '  - {id: b, path: a.py, outputs: {x: {topic: /t, type: std_msgs/msg/String}}}\n'
        '  - {id: c, path: a.py, outputs: {x: {topic: /t}}}\n'
    )
    assert check(text) == [
        (
            '4:38: error: node `c`: output `x`: the topic `/t` is Arrow here and std_msgs/msg/String on line 2; '
            'one topic has one type'
        )
    ]


@pytest.mark.parametrize(
    ('output', 'line', 'expected'),
    [
        ('{type: std_msgs/String}', '{source: a/x, type: std_msgs/Int8}', '7:30: error: node `b`: input `i`: output `a/x` is of type std_msgs/msg/String, not std_msgs/msg/Int8'),
        ('{topic: /t, type: std_msgs/String}', '{topic: /t, type: std_msgs/Int8}', '7:28: error: node `b`: input `i`: output `a/x` is of type std_msgs/msg/String, not std_msgs/msg/Int8'),
        ('{topic: /t}', '{topic: /t, type: std_msgs/Int8}', '7:28: error: node `b`: input `i`: output `a/x` carries Arrow values, not std_msgs/msg/Int8; give it that `type`, or none here'),
        ('{qos: sensor_data}', '{source: a/x, qos: reliable}', '7:29: error: node `b`: input `i`: output `a/x` is best_effort, so a reliable input never gets a message from it'),
        ('{qos: {durability: volatile}}', '{source: a/x, qos: {durability: transient_local}}', '7:29: error: node `b`: input `i`: output `a/x` is volatile, so a transient_local input never gets a message from it'),
    ],
)  # fmt: skip
def test_the_ends_of_an_edge_agree(check: Check, output: str, line: str, expected: str) -> None:
    text = (
        f'nodes:\n  - {{id: a, path: a.py, outputs: {{x: {output}}}}}\n'
        f'  - id: b\n    path: a.py\n    inputs:\n      # one\n      i: {line}\n'
    )
    assert check(text) == [expected]


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('nodez: []', '4:1: error: unknown key `nodez`; did you mean `nodes`?'),
        ('health_check_interval: 0', '4:24: error: `health_check_interval` must be > 0, got 0'),
        ('health_check_interval: "5"', '4:24: error: `health_check_interval` must be a number, got the text "5"; remove the quotes'),
        ('restart_strategy: one-for-all', '4:19: error: `restart_strategy` must be `one_for_one`, `rest_for_one` or `one_for_all`, got the text "one-for-all"; did you mean `one_for_all`?'),
        ('stop_grace: -1', '4:13: error: `stop_grace` must be >= 0, got -1'),
        ('exit_when_nodes_finish: "true"', '4:25: error: `exit_when_nodes_finish` must be true or false, got the text "true"; remove the quotes'),
        ('exit_when_nodes_finish: yes', '4:25: error: `exit_when_nodes_finish` must be true or false, got the text "yes"'),
        ('env: {A: $ADORA_UNSET}', '4:10: error: the environment variable `ADORA_UNSET` is not set; set it, or write ${ADORA_UNSET:-default}'),
        ('type_rules: [{from: a}]', '4:14: error: `to` is missing'),
        ('queue_size: 1', '4:1: error: unknown key `queue_size`; it belongs to an input'),
    ],
)  # fmt: skip
def test_keys_of_the_top_level(check: Check, line: str, expected: str) -> None:
    assert check(f'{NODE}{line}\n') == [expected]


@pytest.mark.parametrize(
    ('value', 'words'),
    [
        ('"3"', '`max_restarts` must be a whole number, got the text "3"; remove the quotes'),
        ('-1', '`max_restarts` must be >= 0, got -1'),
        ('1.5', '`max_restarts` must be a whole number, got 1.5'),
        ('.nan', '`max_restarts` must be a whole number, got .nan'),
        ('true', '`max_restarts` must be a whole number, got true'),
    ],
)
def test_a08_a_restart_limit_of_the_wrong_type_is_refused(check: Check, value: str, words: str) -> None:
    text = f'{NODE}    restart_policy: always\n    restart_delay: 1\n    max_restarts: {value}\n'
    assert check(text) == [f'6:19: error: node `a`: {words}']


def test_all_errors_come_at_once_in_order_of_place(check: Check) -> None:
    text = (
        'nodes:\n'
        '  - id: camera\n'
        '    path: gone.py\n'
        '    restart_policy: on-fail\n'
        '    outputs: [image]\n'
        '  - id: camera\n'
        '    path: a.py\n'
        '    max_restarts: "3"\n'
        '    inputs:\n'
        '      a: camera/imagee\n'
        '      b: dora/timer/millis/x\n'
        '      c: {source: camera/image, queue_size: -1}\n'
        'extra: 1\n'
    )
    assert check(text) == [
        '3:11: error: node `camera`: there is no file `<folder>/gone.py`, nor a program of that name on PATH',
        (
            '4:21: error: node `camera`: `restart_policy` must be `never`, `on-failure` or `always`, '
            'got the text "on-fail"; did you mean `on-failure`?'
        ),
        '6:9: error: node `camera`: this id is given twice; the first is on line 2',
        '8:19: error: node `camera`: `max_restarts` must be a whole number, got the text "3"; remove the quotes',
        '10:10: error: node `camera`: input `a`: node `camera` has no output `imagee`; did you mean `image`?',
        '11:10: error: node `camera`: input `b`: millis takes a whole number, got `x`',
        '12:45: error: node `camera`: input `c`: `queue_size` must be >= 0, got -1',
        (
            '13:1: error: unknown key `extra`; known: _unstable_deploy, debug, deploy, env, exit_when_nodes_finish, '
            'health_check_interval, nodes, restart_strategy, shared_memory_limit, stop_grace, strict_types, type_rules, warm'
        ),
    ]


def test_what_an_error_hides_is_not_an_error_too(check: Check) -> None:
    text = (
        'nodes:\n'
        '  - id: a\n'
        '    path: a.py\n'
        '    outputs: [x, 7]\n'
        '  - id: b\n'
        '    pth: a.py\n'
        '    inputs: {y: a/z, w: c/z}\n'
        '  - path: a.py\n'
    )
    assert check(text) == [
        '4:18: error: node `a`: output `2`: it must be text or a mapping, got 7',
        '6:5: error: node `b`: unknown key `pth`; did you mean `path`?',
        '8:5: error: node number 3: `id` is missing',
    ]


def test_an_output_in_error_does_not_contradict_its_inputs(check: Check) -> None:
    text = (
        'nodes:\n'
        '  - {id: a, path: a.py, outputs: {x: {type: Image}}}\n'
        '  - {id: b, path: a.py, inputs: {x: {source: a/x, type: sensor_msgs/Image}}}\n'
    )
    (problem,) = check(text)
    assert problem.startswith('2:45: error: node `a`: output `x`: `Image` is not a message type')


@pytest.mark.parametrize('escape', ['\\0', '\\ud800'])
def test_text_that_no_process_can_be_given(check: Check, escape: str) -> None:
    assert check(f'{NODE}    description: "x{escape}"\n') == [
        '4:18: error: a text must not have a NUL or half of a surrogate pair in it'
    ]


def test_text_of_the_error_is_one_line_an_error(folder: Path) -> None:
    file = folder / 'x.yml'
    file.write_text('nodes:\n  - id: a\n    path: a.py\n    shared_memory_pool_size: 1\n    max_restarts: -1\nfoo: 1\n')
    with pytest.raises(DataflowErrors) as caught:
        load(file)
    lines = str(caught.value).split('\n')
    assert [line.split(' ')[:2] for line in lines] == [[f'{file}:5:19:', 'error:'], [f'{file}:6:1:', 'error:']]
    assert [problem.severity for problem in caught.value.problems] == ['warning', 'error', 'error']
    assert isinstance(caught.value, DataflowError)
    assert isinstance(caught.value, ValueError)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / 'none.yml'
    with pytest.raises(DataflowErrors) as caught:
        load(missing)
    assert str(caught.value) == f'{missing}:1:1: error: cannot be read: No such file or directory'


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / 'x.yml'
    file.write_bytes(b'nodes:\n  - \xff\n')
    with pytest.raises(DataflowErrors) as caught:
        load(file)
    assert str(caught.value) == f'{file}:2:5: error: this is not UTF-8 text; save the file as UTF-8'
