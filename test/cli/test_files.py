"""``adora validate``, ``graph`` and ``schema`` as a user runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from adora_ros.cli.graphpage import page
from adora_ros.cli.help import EXAMPLES
from adora_ros.cli.main import parser
from adora_ros.dataflow import json_schema, load
from adora_ros.manager.runfile import RunFacts, RunFile
from cli.harness import ADORA, Project, run

GRAPH = """\
flowchart LR
  n0["camera"]
  n1["detector"]
  x0(["dora/timer/millis/50"])
  x0 -->|"tick"| n0
  n0 -->|"image"| n1
"""
ENDLESS = 'restart_policy: on-failure, restart_delay: 30, max_restarts: 20, restart_window: 300'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.add('camera', '', 'inputs: {tick: dora/timer/millis/50}, outputs: [image]')
    return project.add('detector', '', 'inputs: {image: camera/image}')


def broken(tmp_path: Path) -> Path:
    file = tmp_path / 'broken.yml'
    file.write_text('nodes:\n  - id: a\n    path: nowhere.py\n    max_restart: 3\n    restart_delay: "1"\n')
    return file


def test_a_good_file_is_counted(project: Project) -> None:
    done = run('validate', str(project.file))
    assert (done.returncode, done.stdout, done.stderr) == (0, 'ok: 2 nodes, 1 edge\n', '')


def test_warnings_are_shown_and_harm_nothing(project: Project) -> None:
    project.add('looper', '', ENDLESS)
    done = run('validate', str(project.file))
    assert (done.returncode, done.stdout) == (0, 'ok: 3 nodes, 1 edge\n')
    assert re.fullmatch(rf'{project.file}:4:\d+: warning: node `looper`: .*\n', done.stderr)


@pytest.mark.parametrize('command', ['validate', 'graph', 'run'])
def test_every_error_is_a_line_with_its_place(tmp_path: Path, command: str) -> None:
    done = run(command, str(broken(tmp_path)))
    assert (done.returncode, done.stdout) == (2, '')
    places = [re.match(r'.*/broken\.yml:(\d+):(\d+): error: ', line) for line in done.stderr.splitlines()]
    assert [place and place.groups() for place in places] == [('3', '11'), ('4', '5'), ('5', '20')]


@pytest.mark.parametrize('command', ['validate', 'graph', 'run'])
def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, command: str) -> None:
    done = run(command, str(tmp_path / 'no.yml'))
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'{tmp_path}/no.yml:1:1: error: cannot be read: No such file or directory\n'


def test_a_path_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b'/caf\xe9'))
    folder.mkdir()
    file = folder / 'flow.yml'
    file.write_text('nodes: [{id: n, path: n.py}]\n', encoding='utf-8')
    for command, folder_of in ((('validate', file), None), (('run', 'flow.yml'), folder)):
        done = subprocess.run([*ADORA, *command], cwd=folder_of, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, b'')
        (line,) = done.stderr.splitlines()
        assert line.endswith(b'is not text in UTF-8, which is all that ROS 2 takes; rename it')


def test_a_terminal_that_lacks_a_character_gets_another(project: Project) -> None:
    target = project.file.with_name('größe.mmd')
    done = run('graph', str(project.file), '--output', str(target), env={'PYTHONIOENCODING': 'ascii'})
    assert (done.returncode, done.stdout, done.stderr) == (0, f'{target.parent}/gr\\xf6\\xdfe.mmd\n', '')


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / 'flow' / 'run'
    folder.mkdir(parents=True)
    facts = RunFacts(uuid='u', dataflow='flow', file='', manager='', domain='0', machine='', pid=1, started='')
    RunFile(folder, facts).end(stamp='', error='')
    log = folder / 'n.log'
    log.symlink_to(log)  # whoever may read everything cannot read this either
    done = run('logs', 'flow', env={'ROS_LOG_DIR': str(tmp_path)})
    assert (done.returncode, done.stderr) == (1, f'adora: error: {log}: Too many levels of symbolic links\n')


def test_a_graph_is_printed_as_mermaid(project: Project) -> None:
    done = run('graph', str(project.file))
    assert (done.returncode, done.stdout, done.stderr) == (0, GRAPH, '')


def test_a_graph_is_written_to_a_file(project: Project) -> None:
    target = project.folder / 'graph.mmd'
    done = run('graph', str(project.file), '--output', str(target))
    assert (done.returncode, done.stdout) == (0, f'{target}\n')
    assert target.read_text() == GRAPH


def test_a_file_that_cannot_be_written_is_one_line(project: Project) -> None:
    target = project.folder / 'nowhere' / 'graph.mmd'
    done = run('graph', str(project.file), '--output', str(target))
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'adora: error: {target}: cannot be written: No such file or directory\n'


def test_a_graph_opens_in_a_browser_and_the_path_is_printed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = project.folder / 'shown'
    browser = project.folder / 'browser'
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}\n')
    browser.chmod(0o755)
    monkeypatch.setenv('BROWSER', str(browser))
    target = project.folder / 'graph.html'
    done = run('graph', str(project.file), '--open', '--output', str(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, f'{target}\n', '')
    assert shown.read_text() == f'file://{target}\n'
    assert '<svg' in target.read_text()


def test_without_a_browser_the_page_is_still_there(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('BROWSER', '/bin/false')
    monkeypatch.setenv('PATH', str(project.folder))
    monkeypatch.setenv('TMPDIR', str(project.folder))
    monkeypatch.delenv('DISPLAY', raising=False)
    monkeypatch.delenv('WAYLAND_DISPLAY', raising=False)
    done = run('graph', str(project.file), '--open')
    (target,) = project.folder.glob('flow-*.html')
    assert (done.returncode, done.stdout) == (0, f'{target}\n')
    assert done.stderr == f'adora: no browser could be started; open {target} in one\n'


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag for name, _ in attrs if name in {'src', 'href'}]
        self.found += [tag] if tag in {'script', 'link', 'iframe'} else []


def drawing(text: str) -> ET.Element:
    return ET.fromstring(text[text.index('<svg') : text.index('</svg>') + len('</svg>')])  # noqa: S314 - our own page


def test_the_page_shows_every_node_and_needs_no_network(project: Project) -> None:
    project.add(
        'loop',
        '',
        'inputs: {own: loop/x, seen: detector2/box, pos: {topic: /odom, type: nav_msgs/msg/Odometry}}, outputs: [x]',
    )
    project.add('detector2', '', 'inputs: {image: camera/image, depth: loop/x}, outputs: [box]')
    text = page(load(project.file))
    links = _Links()
    links.feed(text)
    assert links.found == []
    svg = drawing(text)
    names = {'{http://www.w3.org/2000/svg}' + tag for tag in ('rect', 'text', 'path')}
    assert names <= {element.tag for element in svg.iter()}
    boxes = [group.findtext('{*}text') for group in svg.findall('{*}g')]
    assert sorted(filter(None, boxes)) == sorted(
        ['camera', 'detector', 'loop', 'detector2', 'dora/timer/millis/50', '/odom']
    )
    assert len(list(svg.findall('{*}path'))) == 7
    labels = [element.text for element in svg.findall('{*}text')]
    assert sorted(filter(None, labels)) == ['depth', 'image', 'image', 'own', 'pos', 'seen', 'tick']


def test_boxes_do_not_overlap_and_are_inside_the_drawing(project: Project) -> None:
    for number in range(5):
        project.add(f'consumer_with_a_long_name_{number}', '', 'inputs: {image: camera/image}')
    svg = drawing(page(load(project.file)))
    areas: list[tuple[float, float, float, float]] = []
    for rect in svg.iter('{http://www.w3.org/2000/svg}rect'):
        x, y, width, height = (float(rect.attrib[name]) for name in ('x', 'y', 'width', 'height'))
        assert 0 <= x < x + width <= float(svg.attrib['width'])
        assert 0 <= y < y + height <= float(svg.attrib['height'])
        for left, top, right, bottom in areas:
            assert x >= right or x + width <= left or y >= bottom or y + height <= top
        areas.append((x, y, x + width, y + height))
    assert len(areas) == 8


def test_names_cannot_break_the_page(project: Project) -> None:
    project.add('odd', '', 'description: "<b>&\\"</b>"')
    text = page(load(project.file, name='a<b'))
    assert '<b>' not in text
    drawing(text)


def test_the_schema_is_that_of_the_model() -> None:
    done = run('schema')
    assert (done.returncode, done.stderr) == (0, '')
    assert json.loads(done.stdout) == json_schema()


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen([*ADORA, 'schema'], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b''
        assert process.wait(20) == 141


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        ([], 'COMMAND'),
        (['fly'], "'fly'"),
        (['run'], 'FILE'),
        (['run', 'f.yml', '--stop-after', 'soon'], '`soon` is not a duration; write it like 25, 25s, 500ms, 2m or 1h'),
        (['run', 'f.yml', '--env', 'A'], '`A` is not NAME=VALUE, with a name of letters, digits and _'),
        (['run', 'f.yml', '--color', 'pink'], "'pink'"),
        (['run', 'f.yml', '--name', ''], '--name: the name is empty; leave it out for the default'),
        (
            ['run', 'f.yml', '--stop-afer', '1s'],
            'unrecognized arguments: --stop-afer 1s; did you mean `--stop-after`?',
        ),
        (
            ['node', 'info', 'n', '--jsn'],
            'node info: error: unrecognized arguments: --jsn; did you mean `--json`?',
        ),
        (['logs', 'f', 'g'], 'adora logs: error: unrecognized arguments: g; see `adora logs --help`'),
    ],
)
def test_a_wrong_command_line_is_explained(arguments: list[str], text: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert text in done.stderr
    assert 'Traceback' not in done.stderr


@pytest.mark.parametrize('command', [(), ('run',), ('validate',), ('graph',), ('schema',)])
def test_help_tells_of_the_exit_codes_where_there_are_several(command: tuple[str, ...]) -> None:
    done = run(*command, '--help')
    assert (done.returncode, done.stderr) == (0, '')
    assert ('130' in done.stdout) is (command in {(), ('run',)})


def test_the_help_of_every_command_shows_what_can_be_typed() -> None:
    made = parser()
    for command, examples in EXAMPLES.items():
        for example in examples:
            arguments = made.parse_args([*command.split(), *example.partition('>')[0].split()])
            assert arguments.parser.prog == f'adora {command}'
            assert f'\n  adora {command} {example}'.rstrip() in arguments.parser.format_help()
            assert ('500ms' in arguments.parser.format_help()) is ('TIME' in arguments.parser.format_usage())


def test_the_version_is_that_of_the_package() -> None:
    done = run('--version')
    assert (done.returncode, done.stderr) == (0, '')
    assert re.fullmatch(r'adora \d+\.\d+\.\d+\n', done.stdout)


@pytest.mark.parametrize('command', ['validate', 'graph', 'schema'])
def test_looking_at_a_file_needs_no_ros(project: Project, command: str) -> None:
    file = [] if command == 'schema' else [str(project.file)]
    probe = (
        'import sys; from adora_ros.cli.main import main; code = main(sys.argv[1:]);'
        ' sys.exit(code or any(name.split(".")[0] in {"rclpy", "pyarrow"} for name in sys.modules))'
    )
    assert run(command, *file, program=(sys.executable, '-c', probe)).returncode == 0
