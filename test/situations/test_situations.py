"""Each dataflow of ``config/`` does what its comment promises."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

from adora_ros.dataflow import load
from coordinator.harness import Coordinators
from situations.harness import ROOT, RUN_LIMIT, STOP_LIMIT
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from situations.harness import Situation

    Start = Callable[..., Situation]

BORN = ['NODE_STARTING 0', 'NODE_UP']
ALL_CLOSED = ['ALL_INPUTS_CLOSED', 'NODE_EXITED exit code 0', 'NODE_ENDED finished']


@pytest.mark.parametrize('file', sorted((ROOT / 'config').glob('*.yml')), ids=lambda file: file.stem)
def test_no_dataflow_has_errors_or_warnings(file: Path) -> None:
    assert load(file).warnings == ()


def test_a_camera_crashes_and_the_robot_goes_on(start: Start) -> None:
    run = start('camera_pipeline')
    assert run.wait() == 0

    assert run.story('camera') == [
        *BORN,
        'NODE_EXITED exit code 1',
        'RESTART_SCHEDULED in 0.5 s',
        'NODE_STARTING 1',
        'NODE_RESTARTED 1 for detector',
        'NODE_EXITED exit code 1',
        'RESTART_SCHEDULED in 1 s',
        'NODE_STARTING 2',
        'NODE_RESTARTED 2 for detector',
        'NODE_EXITED exit code 0',
        'NODE_ENDED finished',
    ]
    for node, name in (('detector', 'image'), ('planner', 'objects')):
        outage = [f'INPUT_CLOSED {name} silent', f'INPUT_RECOVERED {name}']
        assert run.story(node) == [*BORN, *outage, *outage, f'INPUT_CLOSED {name} ended', *ALL_CLOSED]

    assert [line.split(':')[0] for line in run.printed('detector')[:6]] == ['blind', 'camera is back', 'sees again'] * 2
    assert [line.split()[0] for line in run.printed('planner')[:5]] == ['1.0', '0.2', '1.0', '0.2', '1.0']

    output = run.output()
    for text, count in (
        ('OSError: the camera is gone from the USB port', 2),
        ('restart 1 of 5 in 0.5 s (exit code 1)', 1),
        ('restart 2 of 5 in 1 s (exit code 1)', 1),
        ('NODE_RESTARTED', 2),
        ('INPUT_RECOVERED', 4),
    ):
        assert output.count(text) == count, text
    assert run.summary('camera') == ['camera', 'finished', '2', 'exit code 0']
    assert run.summary('planner') == ['planner', 'finished', '0', 'exit code 0']
    assert run.last_line() == 'ok'


def test_a_model_that_runs_out_of_memory_is_given_up(start: Start) -> None:
    run = start('ml_out_of_memory')
    assert run.wait() == 1

    restarts = [
        line
        for number, delay in enumerate(('0.2', '0.4', '0.8'), 1)
        for line in (
            'NODE_EXITED exit code 1',
            f'RESTART_SCHEDULED in {delay} s',
            f'NODE_STARTING {number}',
            f'NODE_RESTARTED {number} for watcher',
        )
    ]
    assert run.story('model') == [
        *BORN,
        *restarts,
        'NODE_EXITED exit code 1',
        'GAVE_UP after 3',
        'NODE_ENDED failed',
    ]
    reason = 'gave up after 3 restarts: exit code 1'
    assert run.story('watcher') == [
        *BORN,
        f'NODE_FAILED model feeding objects: {reason}',
        'INPUT_CLOSED objects ended',
        *ALL_CLOSED,
    ]
    assert [re.sub(r'\d+ results', 'N results', line) for line in run.printed('watcher')] == [
        *['model was restarted; N results so far'] * 3,
        f'model will not come back ({reason}): a human has to take over',
    ]
    assert [event.node for event in run.events() if event.level == 'error'] == ['model']
    assert run.output().count('! MemoryError\n') == 4
    assert run.last_line() == f'failed: model: {reason}'


def test_sensor_fusion_degrades_input_by_input_and_stops_without_its_imu(start: Start) -> None:
    run = start('sensor_fusion', speeds=('/cmd_vel', '/base/drive'))
    run.event('INPUT_RECOVERED', 'fusion', 4)
    eventually(lambda: len(run.printed('fusion')) == 9, message='the speed after the last recovery')
    eventually(lambda: run.listener.speeds['/base/drive'][-1][1] == 1.0, message='full speed at the motors')
    run.interrupt()
    assert run.wait(STOP_LIMIT) == 130

    assert run.story('fusion') == [
        *BORN,
        *(f'INPUT_CLOSED {sensor} silent' for sensor in ('camera', 'gps', 'lidar', 'imu')),
        *(f'INPUT_RECOVERED {sensor}' for sensor in ('imu', 'camera', 'gps', 'lidar')),
        'NODE_EXITED exit code 0',
        'NODE_ENDED stopped',
    ]
    assert run.story('base') == [*BORN, 'NODE_EXITED exit code 0', 'NODE_ENDED stopped']
    assert run.printed('fusion') == [
        '1.0 m/s, without nothing',
        '0.6 m/s, without camera',
        '0.3 m/s, without camera, gps',
        '0.1 m/s, without lidar, camera, gps',
        '0.0 m/s, without lidar, camera, gps, imu',
        '0.1 m/s, without lidar, camera, gps',
        '0.3 m/s, without lidar, gps',
        '0.6 m/s, without lidar',
        '1.0 m/s, without nothing',
    ]
    for topic in ('/cmd_vel', '/base/drive'):
        assert changes(run, topic)[-8:] == [0.3, 0.1, 0.0, 0.1, 0.3, 0.6, 1.0, 0.0], topic


def test_a49_the_base_stops_when_the_publisher_of_its_commands_is_killed(start: Start) -> None:
    timeout = 0.5
    run = start('sensor_fusion', speeds=('/base/drive',))
    drive = run.listener.speeds['/base/drive']
    eventually(lambda: drive and drive[-1][1] > 0.0, RUN_LIMIT, 'the robot drives')

    os.kill(run.pid('fusion'), signal.SIGKILL)
    killed = time.monotonic()
    closed = run.event('INPUT_CLOSED', 'base')
    stopped = eventually(lambda: [at for at, speed in tuple(drive) if at > killed and speed == 0.0])[0]

    match = re.search(r'silent for ([\d.]+) s', closed.text)
    assert match is not None
    assert timeout <= float(match[1]) <= timeout * 1.1
    # The last command may have come a whole period of fusion before the kill.
    assert timeout - 0.1 <= stopped - killed <= timeout * 1.1

    run.event('INPUT_RECOVERED', 'base')
    run.interrupt()
    assert run.wait(STOP_LIMIT) == 130
    assert [line.split(':')[0] for line in run.printed('base')] == ['stopped', 'commands again']
    story = run.story('fusion')
    assert story[story.index('NODE_EXITED signal') :][:4] == [
        'NODE_EXITED signal',
        'RESTART_SCHEDULED in 1 s',
        'NODE_STARTING 1',
        'NODE_RESTARTED 1 for base',
    ]
    assert run.events('NODE_EXITED', 'fusion')[0].values['reason'] == 'signal:SIGKILL'


def test_a_hanging_processor_is_recovered_by_its_health_check(start: Start) -> None:
    run = start('hanging_processor')
    run.event('INPUT_RECOVERED', 'annotate')
    eventually(lambda: run.printed('recorder'), message='the recorder notices the gap')
    run.interrupt()
    assert run.wait(STOP_LIMIT) == 130

    stopped = ['NODE_EXITED exit code 0', 'NODE_ENDED stopped']
    assert run.story('processor') == [
        *BORN,
        'NODE_KILLED health_check',
        'NODE_EXITED health check',
        'RESTART_SCHEDULED in 0.5 s',
        'NODE_STARTING 1',
        'NODE_RESTARTED 1 for annotate',
        *stopped,
    ]
    assert run.story('annotate') == [
        *BORN,
        'INPUT_CLOSED brightness silent',
        'INPUT_RECOVERED brightness',
        *stopped,
    ]
    for undisturbed in ('camera', 'rectify', 'recorder'):
        assert run.story(undisturbed) == [*BORN, *stopped]
    assert run.printed('processor') == ['hangs']
    gap, end = run.printed('recorder')
    assert re.fullmatch(r'missing: 20 to \d+', gap)
    assert re.fullmatch(r'recorded up to \d+', end)
    assert int(end.split()[-1]) > int(gap.split()[-1])


def test_a_batch_job_is_restarted_until_there_are_no_more_batches(start: Start) -> None:
    run = start('batch_job')
    assert run.wait() == 0

    rounds = [
        line
        for number in (1, 2, 3)
        for line in (
            'NODE_EXITED exit code 0',
            'RESTART_SCHEDULED in 0.3 s',
            f'NODE_STARTING {number}',
            f'NODE_RESTARTED {number} for orders ledger',
        )
    ]
    assert run.story('job') == [*BORN, *rounds, 'INPUT_CLOSED batch ended', *ALL_CLOSED]
    assert run.story('orders') == [*BORN, 'NODE_EXITED exit code 0', 'NODE_ENDED finished']
    assert run.story('ledger') == [*BORN, 'INPUT_CLOSED result ended', *ALL_CLOSED]
    assert run.printed('ledger') == [
        'batch 0: 45',
        'job starts anew',
        'batch 1: 145',
        'job starts anew',
        'batch 2: 245',
        'job starts anew',
        'total 435',
    ]


def test_a_coordinator_crashes_and_the_next_one_knows_everything(start: Start, tmp_path: Path) -> None:
    with contextlib.closing(Coordinators(tmp_path)) as coordinators:
        first = coordinators.start()
        run = start('coordinator_crash')
        first.says('dataflow coordinator_crash is Running')
        first.end(signal.SIGKILL)
        second = coordinators.start()
        second.says('dataflow coordinator_crash is Running')
        run.interrupt()
        assert run.wait() == 128 + signal.SIGINT
        second.says('dataflow coordinator_crash is Succeeded')
    for node in ('counter', 'recorder'):
        assert run.story(node) == [*BORN, 'NODE_EXITED exit code 0', 'NODE_ENDED stopped']
    assert re.fullmatch(r'recorded up to \d\d+', '\n'.join(run.printed('recorder')))


def changes(run: Situation, topic: str) -> list[float]:
    """Return the speeds on a topic, consecutive equal ones as one."""
    speeds = [speed for _, speed in run.listener.speeds[topic]]
    return [speed for number, speed in enumerate(speeds) if number == 0 or speeds[number - 1] != speed]
