"""Real node processes, driven by a stand-in for the manager."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.transport.answers import MOMENT
from adora_ros.transport.contract import InputConfig, ManagerOp, OutputConfig
from node.harness import timer_input, topic_input, topic_output

if TYPE_CHECKING:
    from node.harness import Dataflow, NodeProcess

ECHO = """
    from adora_ros.node import Node
    node = Node()
    print('up', flush=True)
    for event in node:
        value = event['value'].to_pylist() if event['type'] == 'INPUT' else event.get('value', '')
        print(event['type'], event['id'], value, flush=True)
    print('end', flush=True)
"""


def source(body: str) -> str:
    return f"""
    import time
    import pyarrow as pa
    from adora_ros.node import Node
    node = Node()
    {body}
    """


def events(node: NodeProcess) -> list[str]:
    return [line for line in node.lines if line.split(' ')[0].isupper()]


def states(node: NodeProcess) -> list[str]:
    return [p['state'] for p in node.ops('hello', 'state')]


def test_a_node_is_driven_and_answers(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO)
    node.notice('READY=1')
    assert node.packets[0] == {'op': 'hello', 'state': 'unconfigured'}
    assert node.transition('configure') == {'op': 'reply', 'id': 1, 'ok': True, 'state': 'inactive', 'error': ''}
    assert node.transition('configure')['ok']
    assert node.transition('activate') == {'op': 'reply', 'id': 3, 'ok': True, 'state': 'active', 'error': ''}
    node.line('up')
    assert node.transition('deactivate')['state'] == 'inactive'
    assert node.transition('activate')['state'] == 'active'
    node.stop()
    assert node.wait() == 0
    assert states(node) == ['unconfigured', 'inactive', 'active', 'inactive', 'active', 'inactive']
    assert events(node) == ['STOP MANUAL ']
    assert node.lines[-1] == 'end'
    assert node.notices[-1][1] == 'STOPPING=1'


@pytest.mark.parametrize(
    ('transition', 'error'),
    [
        ('activate', 'cannot activate in state unconfigured'),
        ('deactivate', 'cannot deactivate in state unconfigured'),
        ('jump', "unknown transition 'jump': use configure, activate, deactivate"),
    ],
)
def test_a_transition_that_is_not_possible_is_refused(dataflow: Dataflow, transition: str, error: str) -> None:
    node = dataflow.node('n', ECHO)
    node.notice('READY=1')
    reply = node.transition(transition)
    assert reply == {'op': 'reply', 'id': 1, 'ok': False, 'state': 'unconfigured', 'error': error}


def test_the_constructor_returns_when_the_dataflow_starts(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO, watchdog=0.8)
    node.configure()
    lives = len(node.notices)
    node.until(lambda: len(node.notices) >= lives + 5 or None)
    assert 'up' not in node.lines
    node.activate()
    node.line('up')


def test_a34_a_failing_transition_leaves_its_traceback_and_its_last_line(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO, outputs=(topic_output(node='n', type='sensor_msgs/msg/Imagee'),))
    node.notice('READY=1')
    reply = node.transition('configure')
    assert (reply['ok'], reply['state']) == (False, 'unconfigured')
    assert reply['error'].startswith('adora_ros.errors.TransportError: message type ')
    node.line('Traceback (most recent call last):')
    node.until(lambda: any('on_configure failed' in line for line in node.lines) or None)
    assert 'up' not in node.lines


def test_no_message_is_lost_and_the_end_comes_last(dataflow: Dataflow) -> None:
    count = 1000
    src = dataflow.node(
        'src',
        source(f'[node.send_output("out", pa.array([i])) for i in range({count})]'),
        outputs=(topic_output(depth=count),),
    )
    sinks = [dataflow.node(f'sink{i}', ECHO, inputs=(topic_input(queue_size=count),)) for i in range(3)]
    for node in (*sinks, src):
        node.configure()
    for sink in sinks:
        sink.activate()
    src.activate({'out': [f'/df/sink{i}' for i in range(3)]})
    assert src.wait() == 0
    for sink in sinks:
        sink.send(ManagerOp.INPUT_CLOSED, input='in')
        sink.stop('ALL_INPUTS_CLOSED')
    for sink in sinks:
        assert sink.wait() == 0
        expected = [f'INPUT in [{i}]' for i in range(count)]
        assert events(sink) == [*expected, 'INPUT_CLOSED in ', 'STOP ALL_INPUTS_CLOSED ']


def test_a_slow_sink_gets_all_that_was_sent_before_the_end(dataflow: Dataflow) -> None:
    script = """
        import time
        from adora_ros.node import Node
        node = Node()
        for number, event in enumerate(node):
            if number == 0:
                time.sleep(1.0)
            print(event['type'], event['id'], flush=True)
    """
    src = dataflow.node(
        'src', source('[node.send_output("out", pa.array([i])) for i in range(50)]'), outputs=(topic_output(depth=50),)
    )
    sink = dataflow.node('sink', script, inputs=(topic_input(queue_size=50),))
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    assert src.wait() == 0
    sink.send(ManagerOp.INPUT_CLOSED, input='in')
    sink.stop('ALL_INPUTS_CLOSED')
    assert sink.wait() == 0
    assert events(sink) == ['INPUT in'] * 50 + ['INPUT_CLOSED in', 'STOP ALL_INPUTS_CLOSED']
    assert states(sink)[-1] == 'inactive'


def test_a_stopping_node_is_not_activated_again(dataflow: Dataflow) -> None:
    node = dataflow.node('n', source('node.next(); print("told", flush=True); time.sleep(60)'))
    node.start()
    node.stop()
    node.line('told')
    node.packet(lambda p: p == {'op': 'state', 'state': 'inactive'} and len(states(node)) == 4)
    reply = node.transition('activate')
    assert (reply['ok'], reply['state'], reply['error']) == (
        False,
        'inactive',
        'cannot activate a node that is stopping',
    )


def test_activation_goes_on_without_a_subscriber_that_does_not_come(dataflow: Dataflow) -> None:
    src = dataflow.node('src', source('print("up", flush=True)'), outputs=(topic_output(),))
    src.configure()
    begin = time.monotonic()
    src.activate({'out': ['/df/ghost']})
    assert 5.0 <= time.monotonic() - begin < 8.0
    src.line('up')
    assert any('/df/ghost (out)' in line for line in src.lines)


def test_a_stop_ends_the_wait_for_subscribers(dataflow: Dataflow) -> None:
    src = dataflow.node('src', ECHO, outputs=(topic_output(),))
    src.configure()
    src.send(ManagerOp.TRANSITION, id=99, transition='activate', subscribers={'out': {'/df/ghost': 0}})
    src.stop()
    assert src.wait(4.0) == 0
    assert events(src) == ['STOP MANUAL ']


def test_values_and_metadata_arrive_as_they_were_sent(dataflow: Dataflow) -> None:
    src = dataflow.node(
        'src',
        source("""
    import datetime
    stamp = datetime.datetime(2030, 1, 2, 3, 4, 5, 678901, datetime.timezone.utc)
    metadata = {'a': 1, 'b': 1.5, 'c': True, 'd': 'x', 'e': [1, 2], 'f': [1.5], 'g': ['p'], 'h': [], 'w': stamp}
    node.send_output('out', pa.array([{'x': None}, None, {'x': 'y'}]), metadata)
    node.send_output('out', b'abc')
    node.send_output('out', pa.nulls(0))
    """),
        outputs=(topic_output(),),
    )
    sink = dataflow.node(
        'sink',
        """
        import datetime
        from adora_ros.node import Node
        node = Node()
        for _ in range(3):
            event = node.next()
            metadata = event.pop('metadata')
            now = datetime.datetime.now(datetime.timezone.utc)
            assert abs((now - metadata.pop('timestamp')).total_seconds()) < 10
            value = event.pop('value')
            print('event', event, value.type, value.to_pylist(), metadata, flush=True)
        """,
        inputs=(topic_input(),),
    )
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    assert sink.wait() == 0
    key = "{'kind': 'dora', 'type': 'INPUT', 'id': 'in'}"
    stamp = 'datetime.datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)'
    sent = f"{{'a': 1, 'b': 1.5, 'c': True, 'd': 'x', 'e': [1, 2], 'f': [1.5], 'g': ['p'], 'h': [], 'w': {stamp}}}"
    assert [line for line in sink.lines if line.startswith('event')] == [
        f"event {key} struct<x: string> [{{'x': None}}, None, {{'x': 'y'}}] {sent}",
        f'event {key} uint8 [97, 98, 99] {{}}',
        f'event {key} null [] {{}}',
    ]


def test_ports_with_a_type_carry_ros_messages(dataflow: Dataflow) -> None:
    src = dataflow.node(
        'src',
        source(
            'from std_msgs.msg import String; '
            'node.send_output("out", String(data="hello")); node.send_output("out", pa.array([{"data": "again"}]))'
        ),
        outputs=(topic_output(type='std_msgs/msg/String'),),
    )
    sink = dataflow.node(
        'sink',
        """
        from adora_ros.node import Node
        node = Node()
        for event in (node.next(), node.next()):
            print('got', event['message'], event['value'].to_pylist(), list(event['metadata']), flush=True)
        """,
        inputs=(topic_input(type='std_msgs/msg/String'),),
    )
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    assert sink.wait() == 0
    assert [line for line in sink.lines if line.startswith('got')] == [
        "got std_msgs.msg.String(data='hello') [{'data': 'hello'}] ['timestamp']",
        "got std_msgs.msg.String(data='again') [{'data': 'again'}] ['timestamp']",
    ]


def test_a_message_that_is_not_arrow_is_an_error_event(dataflow: Dataflow) -> None:
    src = dataflow.node(
        'src',
        source('from std_msgs.msg import UInt8MultiArray; node.send_output("out", UInt8MultiArray(data=b"junk"))'),
        outputs=(topic_output(type='std_msgs/msg/UInt8MultiArray'),),
    )
    sink = dataflow.node(
        'sink', 'from adora_ros.node import Node; print("got", Node().next(), flush=True)', inputs=(topic_input(),)
    )
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    assert sink.wait() == 0
    assert sink.line('got').startswith("got {'kind': 'dora', 'type': 'ERROR', 'error': \"input 'in': ")


def test_a_value_that_cannot_be_sent_is_the_users_error(dataflow: Dataflow) -> None:
    src = dataflow.node('src', source('node.send_output("out", [1, 2])'), outputs=(topic_output(),))
    src.start()
    assert src.wait() == 1
    assert src.lines[-1].startswith("adora_ros.errors.TransportError: output 'out': cannot send a value of type list")


def test_timers_tick_at_their_rate_and_the_first_at_once(dataflow: Dataflow) -> None:
    node = dataflow.node(
        'n',
        """
        import time
        from adora_ros.node import Node
        node = Node()
        begin = time.monotonic()
        counts = {'fast': 0, 'slow': 0}
        value = None
        while counts['fast'] < 31:
            event = node.next()
            counts[event['id']] += 1
            value = event
        print('value', value['value'].type, len(value['value']), sorted(value['metadata']), flush=True)
        print('took', time.monotonic() - begin, counts, flush=True)
        """,
        inputs=(timer_input('fast', 0.05), timer_input('slow', 0.5)),
    )
    node.start()
    assert node.wait() == 0
    assert node.line('value') == "value null 0 ['timestamp']"
    took, counts = node.line('took')[5:].split(' ', 1)
    assert 1.4 < float(took) < 2.0
    assert counts in ("{'fast': 31, 'slow': 3}", "{'fast': 31, 'slow': 4}")


CHATTY = 'while (event := node.next()) and event["type"] == "INPUT": node.send_output("out", pa.array([0]))'


def intermittent(
    dataflow: Dataflow, sink_script: str, subscribers: dict[str, list[str]] | None = None, **sink_options: Any
) -> tuple[NodeProcess, NodeProcess]:
    """Return a source that sends a message per line of a file that grows, and its sink."""
    src = dataflow.node(
        'src',
        source("""
    import pathlib
    commands = pathlib.Path(__file__).with_name('commands')
    sent = 0
    while (event := node.next()) and event['type'] != 'STOP':
        wanted = len(commands.read_text()) if commands.exists() else 0
        while sent < wanted:
            node.send_output('out', pa.array([sent]))
            sent += 1
    """),
        inputs=(timer_input('tick', 0.01),),
        outputs=(topic_output(),),
    )
    sink = dataflow.node('sink', sink_script, **sink_options)
    for node in (sink, src):
        node.configure()
    sink.activate(subscribers)
    src.activate({'out': ['/df/sink']})
    return src, sink


def send(dataflow: Dataflow) -> None:
    """Make the source of :func:`intermittent` send one more message."""
    with (dataflow.folder / 'commands').open('a', encoding='utf-8') as file:
        file.write('x')


def test_a49_silence_closes_an_input_and_a_message_recovers_it(dataflow: Dataflow) -> None:
    _, sink = intermittent(dataflow, ECHO, inputs=(topic_input(input_timeout=0.5),))
    send(dataflow)
    sink.line('INPUT in [0]')
    begin = time.monotonic()
    sink.line('INPUT_CLOSED in')
    assert 0.4 < time.monotonic() - begin < 0.7
    send(dataflow)
    sink.line('INPUT in [1]')
    sink.until(lambda: len(sink.ops('input_closed')) == 2 or None)
    sink.stop()
    assert sink.wait() == 0
    assert events(sink) == [
        'INPUT in [0]',
        'INPUT_CLOSED in ',
        'INPUT_RECOVERED in ',
        'INPUT in [1]',
        'INPUT_CLOSED in ',
        'STOP MANUAL ',
    ]
    reports = sink.ops('input_closed', 'input_recovered')
    assert [(p['op'], p['input']) for p in reports] == [
        ('input_closed', 'in'),
        ('input_recovered', 'in'),
        ('input_closed', 'in'),
    ]
    assert all(0.5 <= p['age'] < 0.6 for p in reports if p['op'] == 'input_closed')


@pytest.mark.parametrize(
    'busy',
    [
        'time.sleep(30)',
        'exec("while True: pass")',
        'threading.Lock().__enter__(); lock = threading.Lock(); lock.acquire(); lock.acquire()',
    ],
)
def test_a51_a_blocked_callback_does_not_delay_the_report_of_silence(dataflow: Dataflow, busy: str) -> None:
    script = f"""
        import threading, time
        from adora_ros.node import Node
        node = Node()
        event = node.next()
        print('busy', flush=True)
        {busy}
    """
    _, sink = intermittent(dataflow, script, inputs=(topic_input(input_timeout=0.5),))
    send(dataflow)
    sink.line('busy')
    packet = sink.packet(lambda p: p['op'] == 'input_closed', 2.0)
    assert packet['input'] == 'in'
    assert 0.5 <= packet['age'] < 0.6


def test_a52_a_slow_consumer_sees_no_silence_while_messages_arrive(dataflow: Dataflow) -> None:
    script = """
        import time
        from adora_ros.node import Node
        node = Node()
        for event in node:
            print(event['type'], event['id'], flush=True)
            time.sleep(0.3)
    """
    src = dataflow.node('src', source(CHATTY), inputs=(timer_input('tick', 0.02),), outputs=(topic_output(),))
    sink = dataflow.node('sink', script, inputs=(topic_input(input_timeout=0.25),))
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    sink.until(lambda: len(events(sink)) >= 8 or None)
    sink.stop()
    assert sink.wait() == 0
    assert set(events(sink)[:-1]) == {'INPUT in'}
    assert sink.ops('input_closed', 'input_recovered') == []


def test_a53_an_input_that_never_delivered_is_not_closed_unless_asked(dataflow: Dataflow) -> None:
    first = InputConfig(id='first', source='x/y', node='x', topic='/df/x/y', first_message_timeout=0.4)
    node = dataflow.node('n', ECHO, inputs=(topic_input(input_timeout=0.1), first, timer_input('tick', 1.0)))
    node.start()
    node.until(lambda: node.lines.count('INPUT tick []') >= 2 or None)
    assert [p['input'] for p in node.ops('input_closed')] == ['first']
    assert events(node).count('INPUT_CLOSED first ') == 1


def test_after_a_stop_the_stream_ends_and_outputs_still_work(dataflow: Dataflow) -> None:
    src = dataflow.node(
        'src',
        source("""
    assert node.next() == {'kind': 'dora', 'type': 'STOP', 'id': 'MANUAL'}
    node.send_output('out', pa.array(['zero twist']))
    print('ends', node.next(), node.next(timeout=5), node.try_recv(), list(node), flush=True)
    try:
        node.drain()
    except RuntimeError as error:
        print('drain', type(error).__name__, error, flush=True)
    """),
        outputs=(topic_output(),),
    )
    sink = dataflow.node('sink', ECHO, inputs=(topic_input(),))
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    src.stop()
    sink.line("INPUT in ['zero twist']")
    assert src.wait() == 0
    assert src.line('ends') == 'ends None None None []'
    assert src.line('drain').startswith('drain NodeError Could not drain events. Channel is closed')
    assert states(src)[-1] == 'inactive'


def test_a_deactivated_node_neither_sends_nor_receives(dataflow: Dataflow) -> None:
    probe = dataflow.node('probe', ECHO, inputs=(topic_input('back', 'sink/back', queue_size=1000),))
    probe.start()
    _, sink = intermittent(
        dataflow,
        """
        from adora_ros.node import Node
        node = Node()
        while (event := node.next(timeout=0.05)) and event['type'] != 'STOP':
            if event['type'] == 'INPUT':
                print('INPUT', event['value'].to_pylist(), flush=True)
            node.send_output('back', event.get('value', b''))
        """,
        {'back': ['/df/probe']},
        inputs=(topic_input(),),
        outputs=(topic_output('back', 'sink'),),
    )
    send(dataflow)
    sink.line('INPUT [0]')
    probe.line('INPUT back [0]')
    assert sink.transition('deactivate')['ok']
    send(dataflow)
    warning = json.loads(sink.line('{"timestamp"'))
    assert (warning['level'], warning['message']) == ('warn', 'output `back` is dropped while the node is not active')
    assert sink.transition('activate')['ok']
    send(dataflow)
    sink.line('INPUT [2]')
    probe.line('INPUT back [2]')
    assert [line for line in events(sink) if line.startswith('INPUT')] == ['INPUT [0]', 'INPUT [2]']
    assert sum(line.startswith('{') for line in sink.lines) == 1


@pytest.mark.parametrize('body', ['exec("while True: pass")', 'time.sleep(60)', 'node.next(); time.sleep(60)'])
def test_a20_a_node_whose_manager_dies_ends_whatever_it_does(dataflow: Dataflow, body: str) -> None:
    node = dataflow.node('n', source(f'print("up", flush=True); {body}'))
    node.start()
    node.line('up')
    begin = time.monotonic()
    node.hang_up()
    assert node.wait(5.0) == 1
    assert time.monotonic() - begin < 2.0


def test_a20_a_node_whose_manager_dies_is_told_to_stop_first(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO)
    node.start()
    node.line('up')
    node.hang_up()
    assert node.wait(2.0) == 0
    assert events(node) == ['STOP MANUAL ']


@pytest.mark.parametrize('driven', [False, True])
def test_a20_a_node_whose_manager_dies_before_the_start_ends(dataflow: Dataflow, driven: bool) -> None:  # noqa: FBT001
    node = dataflow.node('n', ECHO)
    node.notice('READY=1')
    if driven:
        node.configure()
    node.hang_up()
    assert node.wait(2.0) == 0


def test_next_and_its_relatives(dataflow: Dataflow) -> None:
    node = dataflow.node(
        'n',
        source("""
    print('empty', node.is_empty(), node.try_recv(), node.drain(), flush=True)
    begin = time.monotonic()
    event = node.next(timeout=0.3)
    print('timeout', event, round(time.monotonic() - begin, 1), flush=True)
    print('now', node.next(timeout=0)['type'], flush=True)
    for wrong in (-1.0, float('nan'), float('inf')):
        try:
            node.next(timeout=wrong)
        except ValueError as error:
            print('invalid', error, flush=True)
    print('first', node.next(timeout=20), flush=True)
    while node.is_empty():
        time.sleep(0.01)
    print('second', node.try_recv(), node.try_recv(), flush=True)
    time.sleep(1.0)
    print('third', [event['id'] for event in node.drain()], node.drain(), flush=True)
    """),
    )
    node.start()
    node.line('invalid invalid timeout of inf')
    node.send(ManagerOp.NODE_RESTARTED, node='a')
    node.line('first')
    node.send(ManagerOp.NODE_FAILED, node='b', error='exited with code 3', inputs=['x'])
    node.line('second')
    node.send(ManagerOp.NODE_RESTARTED, node='c')
    node.send(ManagerOp.NODE_RESTARTED, node='d')
    assert node.wait() == 0
    failure = {'source_node_id': 'b', 'error': 'exited with code 3', 'affected_input_ids': ['x']}
    assert [line for line in node.lines if not line.startswith('invalid')] == [
        'empty True None []',
        "timeout {'kind': 'dora', 'type': 'ERROR', 'error': 'Timeout event stream error: Receiver timed out'} 0.3",
        'now ERROR',
        "first {'kind': 'dora', 'type': 'NODE_RESTARTED', 'id': 'a'}",
        f"second {{'kind': 'dora', 'type': 'NODE_FAILED', 'id': 'b', 'value': {failure}}} None",
        "third ['c', 'd'] []",
    ]
    assert sum(line.startswith('invalid invalid timeout of ') for line in node.lines) == 3


def test_recv_async_leaves_the_loop_free_and_loses_nothing(dataflow: Dataflow) -> None:
    node = dataflow.node(
        'n',
        """
        import asyncio
        from adora_ros.node import Node
        node = Node()

        async def main():
            beats = 0
            async def beat():
                nonlocal beats
                while True:
                    await asyncio.sleep(0.01)
                    beats += 1
            task = asyncio.create_task(beat())
            print('timeout', (await node.recv_async(timeout=0.2))['type'], beats > 3, flush=True)
            try:
                await asyncio.wait_for(node.recv_async(), 0.1)
            except asyncio.TimeoutError:
                print('cancelled', flush=True)
            print('first', (await node.recv_async())['id'], flush=True)
            print('stop', await node.recv_async(), await node.recv_async(), flush=True)
            task.cancel()

        asyncio.run(main())
        """,
    )
    node.start()
    node.line('cancelled')
    node.send(ManagerOp.NODE_RESTARTED, node='a')
    node.line('first a')
    node.stop()
    assert node.wait() == 0
    assert node.lines == [
        'timeout ERROR True',
        'cancelled',
        'first a',
        "stop {'kind': 'dora', 'type': 'STOP', 'id': 'MANUAL'} None",
    ]


def test_what_a_node_knows_about_itself(dataflow: Dataflow) -> None:
    descriptor = dataflow.folder / 'descriptor.json'
    descriptor.write_text('{"nodes": [{"id": "n"}]}', encoding='utf-8')
    node = dataflow.node(
        'n',
        source("""
    import datetime
    print('restart', node.is_restart(), node.restart_count(), flush=True)
    print('config', node.node_config(), flush=True)
    print('dataflow', node.dataflow_id(), node.dataflow_descriptor(), flush=True)
    print('age', abs((datetime.datetime.now(datetime.timezone.utc) - node.timestamp()).total_seconds()) < 1, flush=True)
    print('ros', node.ros_node.get_fully_qualified_name(), flush=True)
    node.log('warn', 'text', 'here', {'k': 'v'})
    node.log_error('e')
    try:
        Node()
    except RuntimeError as error:
        print('again', error, flush=True)
    """),
        inputs=(topic_input(), topic_input('b', queue_size=2, input_timeout=0.5), timer_input('t', 0.1)),
        outputs=(topic_output(node='n'),),
        restart_count=3,
        incarnation=4,
        descriptor_file=str(descriptor),
    )
    node.start()
    assert node.wait() == 0
    assert node.line('restart') == 'restart True 3'
    expected = {
        'inputs': {
            'in': 'src/out',
            'b': {'source': 'src/out', 'queue_size': 2, 'input_timeout': 0.5},
            't': 'dora/timer/millis/100',
        },
        'outputs': ['out'],
    }
    assert node.line('config') == f'config {expected}'
    assert node.line('dataflow') == "dataflow run {'nodes': [{'id': 'n'}]}"
    assert node.line('age') == 'age True'
    assert node.line('ros') == 'ros /df/n'
    logs = [json.loads(line) for line in node.lines if line.startswith('{')]
    assert [(log['level'], log['message'], log['node_id']) for log in logs] == [
        ('warn', 'text', 'n'),
        ('error', 'e', 'n'),
    ]
    assert (logs[0]['target'], logs[0]['fields']) == ('here', {'k': 'v'})
    assert node.line('again').startswith("again node 'n' exists already in this process")


def test_a_first_incarnation_is_no_restart(dataflow: Dataflow) -> None:
    node = dataflow.node('n', source('print("restart", node.is_restart(), node.restart_count(), flush=True)'))
    node.start()
    assert node.wait() == 0
    assert node.line('restart') == 'restart False 0'


def test_an_undeclared_output_is_ignored_with_one_warning(dataflow: Dataflow) -> None:
    node = dataflow.node('n', source('[node.send_output(o, b"x") for o in ("no", "no", "other")]'))
    node.start()
    assert node.wait() == 0
    logs = [json.loads(line) for line in node.lines]
    assert [(log['level'], log['message']) for log in logs] == [
        ('warn', "Ignoring output `no` not in node's output list."),
        ('warn', "Ignoring output `other` not in node's output list."),
    ]


def test_inputs_closed_before_this_incarnation_are_told_at_once(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO, inputs=(topic_input(),), closed_inputs=('in',))
    node.start()
    node.line('INPUT_CLOSED in')
    assert node.ops('input_closed') == []


def test_repeated_messages_are_dropped(dataflow: Dataflow) -> None:
    src = dataflow.node(
        'src',
        source("""
    output = node.ros_node.outputs['out']
    for incarnation, numbers in ((1, (1, 2, 2, 3, 1)), (2, (1, 2))):
        output._incarnation = incarnation
        for number in numbers:
            output._sent = number - 1
            node.send_output('out', pa.array([incarnation * 10 + number]))
    """),
        outputs=(topic_output(),),
    )
    sink = dataflow.node('sink', ECHO, inputs=(topic_input(),))
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    sink.line('INPUT in [22]')
    assert events(sink) == [f'INPUT in [{n}]' for n in (11, 12, 13, 21, 22)]


def test_life_comes_from_the_users_loop_only(dataflow: Dataflow) -> None:
    node = dataflow.node(
        'n',
        source("""
    event = node.next(timeout=1.0)
    print('asleep', flush=True)
    time.sleep(1.5)
    print('awake', flush=True)
    node.next()
    """),
        inputs=(timer_input('tick', 60.0), topic_input()),
        watchdog=0.4,
    )
    node.start()
    node.line('asleep')
    asleep = time.monotonic()
    node.line('awake')
    awake = time.monotonic()
    node.stop()
    assert node.wait() == 0
    during = [t for t, text in node.notices if text == 'WATCHDOG=1' and asleep + 0.3 < t < awake - 0.3]
    assert during == []
    waiting = sum(text == 'WATCHDOG=1' and t <= asleep for t, text in node.notices)
    assert waiting >= 1


def test_waiting_in_next_is_life(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO, watchdog=0.4)
    node.start()
    begin = time.monotonic()
    lives = len(node.notices)
    node.until(lambda: len(node.notices) >= lives + 15 or None)
    assert 1.3 < time.monotonic() - begin < 2.5


def test_the_stock_lifecycle_service_works_and_is_reported(dataflow: Dataflow) -> None:
    node = dataflow.node('n', ECHO)
    node.start()
    client = dataflow.node(
        'client',
        """
        import rclpy
        from lifecycle_msgs.srv import ChangeState
        rclpy.init()
        node = rclpy.create_node('operator')
        client = node.create_client(ChangeState, '/df/n/change_state')
        assert client.wait_for_service(15.0)
        for label in ('deactivate', 'activate', 'shutdown'):
            request = ChangeState.Request()
            request.transition.label = label
            future = client.call_async(request)
            rclpy.spin_until_future_complete(node, future, timeout_sec=15.0)
            print(label, future.result().success, flush=True)
        node.destroy_node()
        rclpy.shutdown()
        """,
    )
    assert client.wait() == 0
    assert client.lines == ['deactivate True', 'activate True', 'shutdown True']
    assert node.wait() == 0
    assert states(node) == ['unconfigured', 'inactive', 'active', 'inactive', 'active', 'finalized']
    assert events(node) == ['STOP MANUAL ']


def test_who_asks_for_a_shutdown_has_a_moment_to_receive_the_answer(dataflow: Dataflow) -> None:
    node = dataflow.node(
        'n',
        """
        import time
        from adora_ros.node import Node
        node = Node()
        for event in node:
            pass
        node.close()
        print(time.monotonic(), flush=True)
        """,
    )
    node.start()
    client = dataflow.node(
        'client',
        """
        import signal
        import time
        import rclpy
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState
        rclpy.init()
        node = rclpy.create_node('operator')
        client = node.create_client(ChangeState, '/df/n/change_state')
        assert client.wait_for_service(15.0)
        print(time.monotonic(), flush=True)
        client.call_async(ChangeState.Request(transition=Transition(label='shutdown')))
        signal.pause()
        """,
    )
    assert node.wait() == 0
    assert float(node.lines[-1]) - float(client.lines[-1]) >= MOMENT


def test_a_node_that_is_configured_anew_goes_on_sending(dataflow: Dataflow) -> None:
    src = dataflow.node(
        'src',
        source('while (e := node.next()) and e["type"] != "STOP": node.send_output("out", pa.array([1]))'),
        inputs=(timer_input('tick', 0.05),),
        outputs=(topic_output(),),
    )
    sink = dataflow.node('sink', ECHO, inputs=(topic_input(queue_size=1000),))
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    sink.line('INPUT in')
    client = dataflow.node(
        'client',
        """
        import rclpy
        from lifecycle_msgs.srv import ChangeState
        rclpy.init()
        node = rclpy.create_node('operator')
        client = node.create_client(ChangeState, '/df/src/change_state')
        assert client.wait_for_service(15.0)
        for label in ('deactivate', 'cleanup', 'configure', 'activate'):
            request = ChangeState.Request()
            request.transition.label = label
            future = client.call_async(request)
            rclpy.spin_until_future_complete(node, future, timeout_sec=15.0)
            assert future.result().success, label
        node.destroy_node()
        rclpy.shutdown()
        """,
    )
    assert client.wait() == 0, client.lines
    seen = len(events(sink))
    sink.until(lambda: len(events(sink)) > seen + 3 or None)


def test_a_user_who_has_initialised_ros_keeps_it(dataflow: Dataflow) -> None:
    node = dataflow.node(
        'n',
        """
        import rclpy
        rclpy.init()
        from adora_ros.node import Node
        node = Node()
        node.close()
        print('ok', rclpy.ok(), node.next(), flush=True)
        try:
            node.send_output('out', b'x')
        except RuntimeError as error:
            print('closed', error, flush=True)
        rclpy.shutdown()
        """,
        outputs=(OutputConfig(id='out', topic='/df/n/out'),),
    )
    node.start()
    assert node.wait() == 0
    assert node.line('ok') == 'ok True None'
    assert node.line('closed') == "closed output 'out': the node has been closed, send before close()"


def test_an_exception_of_the_users_loop_ends_the_node_with_its_traceback(dataflow: Dataflow) -> None:
    src = dataflow.node('src', source('node.send_output("out", pa.array([7])); 1 / 0'), outputs=(topic_output(),))
    sink = dataflow.node('sink', ECHO, inputs=(topic_input(),))
    for node in (sink, src):
        node.configure()
    sink.activate()
    src.activate({'out': ['/df/sink']})
    assert src.wait() == 1
    assert src.lines[-1] == 'ZeroDivisionError: division by zero'
    sink.line('INPUT in [7]')
