"""What a plain ROS node sees of a dataflow, and what is left of one when it is over."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lifecycle_msgs.msg import Transition
from std_msgs.msg import String, UInt8MultiArray

from adora_ros.transport.contract import RUN_VARIABLE
from manager.harness import Flow, descriptors
from manager.observer import last, values
from support import eventually, processes_with

if TYPE_CHECKING:
    from manager.harness import Runs
    from manager.observer import Observer

TICK = {'tick': 'dora/timer/millis/50'}
CHATTER = {'chatter': {'topic': '/chatter', 'type': 'std_msgs/msg/String'}}


def pipeline(flow: Flow, **keys: Any) -> Flow:
    flow.node('talker', 'talker.py', inputs=TICK, outputs=CHATTER, **keys)
    return flow.node('listener', 'events.py', inputs={'data': 'talker/chatter'})


def test_stock_tools_see_states_diagnostics_status_events_and_data(flow: Flow, run: Runs, observer: Observer) -> None:
    diagnostics = observer.diagnostics('/diagnostics', 10)
    manager = run(pipeline(flow)).running()
    for node in ('talker', 'listener', 'manager'):
        assert observer.state(f'/flow/{node}') == 'active'
    chatter = observer.listen(String, '/chatter')
    eventually(lambda: len(chatter) >= 5)
    assert {message.data for message in chatter} == {'hello'}
    late_status = observer.diagnostics('/flow/status')
    late_events = observer.diagnostics('/flow/events')
    healthy = last(late_status, 'flow: listener', lambda found: found['state'] == 'running')
    assert healthy['level'] == '0'
    assert int(healthy['pid']) == flow.pid('listener', 0)
    assert (healthy['incarnation'], healthy['restarts'], healthy['closed_inputs']) == ('0', '0', '')
    kinds = {'DATAFLOW_STARTING', 'NODE_UP', 'DATAFLOW_RUNNING'}
    eventually(lambda: kinds <= {values(m, m.status[0].name)['event'] for m in late_events})
    seen = [int(values(m, m.status[0].name)['seq']) for m in late_events]
    assert seen == list(range(1, len(seen) + 1))
    last(diagnostics, 'flow: talker', lambda found: found['state'] == 'running' and float(found['rss_mb'] or 0) > 1)
    assert manager.interrupt() == 130


def test_diagnostics_come_once_a_second_and_at_once_on_a_change(flow: Flow, run: Runs, observer: Observer) -> None:
    manager = run(pipeline(flow, restart_policy='on-failure', restart_delay=20)).running()
    diagnostics = observer.diagnostics('/diagnostics', 10)
    eventually(lambda: len(diagnostics) >= 2)
    del diagnostics[:]
    begin = time.monotonic()
    eventually(lambda: len(diagnostics) >= 3)
    assert 1.9 <= time.monotonic() - begin <= 3.6
    eventually(lambda: len(diagnostics) >= 4)
    changed = time.monotonic()
    pid = int(values(diagnostics[-1], 'flow: talker')['pid'])
    os.kill(pid, signal.SIGKILL)
    waiting = last(diagnostics, 'flow: talker', lambda found: found['state'] == 'backoff')
    assert time.monotonic() - changed < 0.7
    assert waiting['level'] == '1'
    assert waiting['message'] == 'backoff; signal:SIGKILL'
    assert 18.0 < float(waiting['next_restart_s']) <= 20.0
    assert waiting['pid'] == ''
    assert manager.interrupt() == 1


def test_arrow_data_travels_in_a_stock_message(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.node('source', 'silent_after.py', 0, 1.5, outputs=['data'])
    received = observer.listen(UInt8MultiArray, '/flow/source/data')
    manager = run(flow).running()
    eventually(lambda: received)
    assert len(received[0].data) > 0
    assert manager.interrupt() == 130


def test_an_operator_restarts_stops_and_starts_a_node(flow: Flow, run: Runs, observer: Observer) -> None:
    manager = run(pipeline(flow)).running()
    status = observer.diagnostics('/flow/status')
    answer = observer.trigger('/flow/manager/talker/restart')
    assert (answer.success, answer.message) == (True, 'restart of talker requested')
    manager.event('NODE_RESTARTED', 'talker')
    last(status, 'flow: talker', lambda found: (found['state'], found['incarnation']) == ('running', '1'))
    eventually(lambda: flow.marked('listener', 'NODE_RESTARTED talker') == [0])
    assert observer.trigger('/flow/manager/talker/stop').success
    last(status, 'flow: talker', lambda found: found['state'] == 'stopped' and found['pid'] == '')
    assert observer.trigger('/flow/manager/talker/start').success
    last(status, 'flow: talker', lambda found: (found['state'], found['incarnation']) == ('running', '2'))
    assert manager.interrupt() == 130
    assert manager.errors() == []
    assert manager.states() == {'talker': 'stopped', 'listener': 'stopped'}


def test_the_lifecycle_of_the_manager_starts_and_stops_the_dataflow(flow: Flow, run: Runs, observer: Observer) -> None:
    manager = run(flow.node('n', 'events.py', inputs=TICK), autostart=False)
    for number in range(2):
        assert observer.state('/flow/manager') == 'unconfigured'
        assert observer.change_state('/flow/manager', Transition.TRANSITION_CONFIGURE)
        assert observer.change_state('/flow/manager', Transition.TRANSITION_ACTIVATE)
        manager.event('DATAFLOW_RUNNING', count=number + 1)
        assert observer.state('/flow/n') == 'active'
        assert observer.change_state('/flow/manager', Transition.TRANSITION_DEACTIVATE)
        manager.event('DATAFLOW_ENDED', count=number + 1)
        assert observer.change_state('/flow/manager', Transition.TRANSITION_CLEANUP)
    flow.file.write_text('nodes: [{id: n, path: gone.py}]', encoding='utf-8')
    assert not observer.change_state('/flow/manager', Transition.TRANSITION_CONFIGURE)
    assert manager.interrupt() == 0
    assert len(manager.all('DATAFLOW_ENDED')) == 2
    assert flow.marked('n', 'end') == [0, 0]


def test_two_dataflows_side_by_side_do_not_disturb_each_other(tmp_path: Path, run: Runs) -> None:
    folders = [tmp_path / name for name in ('left', 'right')]
    for folder in folders:
        folder.mkdir()
    left, right = (Flow(folder, folder.name) for folder in folders)
    for flow in (left, right):
        flow.node('source', 'count.py', 300, 0.01, outputs=['data'])
        flow.node('sink', 'events.py', inputs={'data': {'source': 'source/data', 'queue_size': 300}})
    left.node('crash', 'crash.py', '0.2', restart_policy='on-failure', restart_delay=0.2, max_restarts=3)
    managers = [run(left), run(right)]
    assert [manager.wait() for manager in managers] == [1, 0]
    for flow in (left, right):
        assert flow.marks('sink')[1:-3] == [f'0 INPUT data [{number}]' for number in range(300)]
    assert left.marked('crash', 'running') == [0, 1, 2, 3]
    assert managers[1].states() == {'source': 'finished', 'sink': 'finished'}
    assert managers[1].restarts() == {'source': 0, 'sink': 0}


def test_a_second_manager_of_a_name_is_refused_until_the_first_is_gone(flow: Flow, run: Runs) -> None:
    flow.node('n', 'events.py', inputs=TICK)
    first = run(flow).running()
    second = run(flow)
    assert second.wait() == 2
    assert second.error == (
        f'/flow/manager is already running (pid {first.process.pid}); stop it or choose another --name'
    )
    other = run(flow, name='other').running()
    assert [manager.interrupt() for manager in (first, other)] == [130, 130]
    assert run(flow, stop_after=0.1).wait() == 0


def test_nothing_outlives_a_killed_manager(flow: Flow, run: Runs) -> None:
    flow.node('n', 'events.py', inputs=TICK)
    flow.node('stubborn', 'stubborn.py')
    flow.ros_node('plain', 'exit_1_on_sigint.py')
    manager = run(flow)
    for node in ('n', 'stubborn', 'plain'):
        flow.pid(node, 0)
    run_id = manager.run_id
    assert len(processes_with(RUN_VARIABLE, run_id)) >= 4
    manager.process.kill()
    eventually(lambda: not processes_with(RUN_VARIABLE, run_id), 2.0)


def test_the_stop_ladder_ends_what_does_not_obey_and_leaves_nothing(flow: Flow, run: Runs) -> None:
    flow.node('stubborn', 'stubborn.py', stop_grace=0.4)
    flow.node('n', 'events.py', inputs=TICK)
    manager = run(flow).running()
    run_id = manager.run_id
    begin = time.monotonic()
    assert manager.interrupt() == 1
    assert 0.5 < time.monotonic() - begin < 4.0
    assert manager.states() == {'stubborn': 'failed', 'n': 'stopped'}
    assert processes_with(RUN_VARIABLE, run_id) == []
    assert manager.outcome['result']['failures'][0]['reason'] == 'killed: did not stop within its grace period'


def test_a_second_and_a_third_signal_cut_the_ladder_short(flow: Flow, run: Runs) -> None:
    flow.node('stubborn', 'stubborn.py', stop_grace=30)
    manager = run(flow).running()
    manager.process.send_signal(signal.SIGTERM)
    manager.event('DATAFLOW_STOPPING')
    manager.process.send_signal(signal.SIGINT)  # of another kind, since two of one kind that are pending are one
    begin = time.monotonic()
    manager.process.send_signal(signal.SIGTERM)
    assert manager.wait() == 1
    assert time.monotonic() - begin < 4.0


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_in_the_exit_code(flow: Flow, run: Runs, number: signal.Signals, code: int) -> None:
    manager = run(flow.node('n', 'events.py', inputs=TICK)).running()
    manager.process.send_signal(number)
    assert manager.wait() == code
    assert flow.marked('n', 'STOP MANUAL') == [0]


def test_a_run_leaves_no_process_and_no_shared_memory(flow: Flow, run: Runs) -> None:
    manager = run(pipeline(flow)).running()
    run_id = manager.run_id
    pids = [manager.process.pid, *processes_with(RUN_VARIABLE, run_id)]
    assert len(pids) >= 3
    segments = {name: pid for pid in pids for name in segments_of(pid)}
    programs = {pid: Path(f'/proc/{pid}/cmdline').read_bytes() for pid in pids}
    assert manager.interrupt() == 130
    assert processes_with(RUN_VARIABLE, run_id) == []
    left = {name: programs[pid] for name, pid in segments.items() if Path(name).exists()}
    assert left == {}


def segments_of(pid: int) -> set[str]:
    """Return the shared-memory files of Fast DDS and of ours that a process has mapped or open."""
    maps = Path(f'/proc/{pid}/maps').read_text(encoding='utf-8').split()
    links = [str(link.readlink()) for link in Path(f'/proc/{pid}/fd').iterdir() if link.is_symlink()]
    ours = re.compile(r'/dev/shm/(fast(dds|rtps)_[0-9a-f]{16}|adora)')
    return {name for name in (*maps, *links) if ours.match(name)}


def test_counters_are_logged_when_one_has_changed(tmp_path: Path, run: Runs) -> None:
    flow = Flow(tmp_path, health_check_interval=0.5)
    flow.node('n', 'crash.py', '0.1', restart_policy='on-failure', restart_delay=0.05, max_restarts=2)
    flow.node('peer', 'events.py', inputs=TICK)
    manager = run(flow)
    stats = manager.event('STATS')
    eventually(lambda: manager.all('STATS')[-1]['text'].split()[3] == 'restarts=2')
    assert stats['text'].startswith('fault tolerance stats restarts=')
    assert manager.texts('STATS')[-1] == (
        'fault tolerance stats restarts=2 health_kills=0 startup_kills=0 input_timeouts=0 cb_recoveries=0'
    )
    manager.event('NODE_ENDED', 'n')
    count = len(manager.all('STATS'))
    assert manager.interrupt() == 1
    assert len(manager.all('STATS')) == count


def test_the_log_folder_has_a_file_a_node_and_the_events(flow: Flow, run: Runs) -> None:
    manager = run(pipeline(flow))
    manager.running()
    manager.interrupt()
    folder = Path(manager.outcome['folder'])
    assert folder == Path(os.environ['ROS_LOG_DIR']) / 'flow' / manager.run_id
    assert {'manager.log', 'dataflow.json'} <= {file.name for file in folder.iterdir()}
    descriptor = json.loads((folder / 'dataflow.json').read_text(encoding='utf-8'))
    assert [node['id'] for node in descriptor['nodes']] == ['talker', 'listener']
    log = (folder / 'manager.log').read_text(encoding='utf-8')
    assert log.index('DATAFLOW_STARTING') < log.index('NODE_UP') < log.index('DATAFLOW_ENDED')


def test_a_node_may_have_a_long_id(tmp_path: Path, run: Runs) -> None:
    name = 'n' * 100
    flow = Flow(tmp_path).node(name, 'events.py', inputs=TICK)
    manager = run(flow).running()
    assert manager.interrupt() == 130
    assert flow.marked(name, 'STOP MANUAL') == [0]


def test_a_signal_during_the_start_ends_it(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'events.py', inputs=TICK))
    manager.event('NODE_STARTING')
    assert manager.interrupt() == 130
    assert manager.states() == {'n': 'stopped'}


def test_starting_and_stopping_again_and_again_leaks_no_descriptors(flow: Flow, run: Runs, observer: Observer) -> None:
    manager = run(flow.ros_node('n', 'lifecycle_node.py'), autostart=False)
    assert observer.state('/flow/manager') == 'unconfigured'
    assert observer.change_state('/flow/manager', Transition.TRANSITION_CONFIGURE)
    counts = []
    for number in range(3):
        assert observer.change_state('/flow/manager', Transition.TRANSITION_ACTIVATE)
        manager.event('DATAFLOW_RUNNING', count=number + 1)
        assert observer.change_state('/flow/manager', Transition.TRANSITION_DEACTIVATE)
        eventually(lambda: observer.state('/flow/manager') == 'inactive')
        counts.append(len(descriptors(manager.process.pid)))
    assert flow.marked('n', 'deactivate active') == [0, 0, 0]
    assert counts[2] == counts[1]
    assert manager.interrupt() == 0
