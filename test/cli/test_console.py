"""The console never makes anybody wait, and loses node output before it loses an event."""

from __future__ import annotations

import io
import os
import threading
from datetime import timezone

from adora_ros.cli.backlog import LINE_COST, Backlog, Dropped, Item, Output
from adora_ros.cli.console import Console, FileDescriptorSink
from adora_ros.cli.ink import Ink
from adora_ros.cli.progress import ERASE, ProgressLine
from adora_ros.cli.render import Renderer
from adora_ros.cli.uptime import UpTimes
from adora_ros.manager.events import EventKind, Level
from adora_ros.manager.logs import Stream
from cli.harness import event


def output(text: str, node: str = 'n') -> Output:
    return Output(node, Stream.STDOUT, (text.encode(),))


def taken(backlog: Backlog) -> list[Item]:
    backlog.close()
    items: list[Item] = []
    while batch := backlog.take():
        items += batch
    return items


class GatedSink:
    """Blocks in every write until :attr:`gate` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.blocked = threading.Event()
        self.written = io.StringIO()

    def write(self, text: str) -> None:
        self.blocked.set()
        self.gate.wait()
        self.written.write(text)


class DeadSink:
    """A pipe that nobody reads any more."""

    def __init__(self) -> None:
        self.writes = 0

    def write(self, _text: str) -> None:
        self.writes += 1
        raise BrokenPipeError


def renderer() -> Renderer:
    return Renderer(Ink(color=False), width=1, zone=timezone.utc)


def test_items_come_in_the_order_in_which_they_arrived() -> None:
    backlog = Backlog()
    items: list[Item] = [output('a'), event(seq=1), output('b'), output('c'), event(seq=2), 'text']
    for item in items:
        if isinstance(item, Output):
            backlog.put_output(item)
        elif not isinstance(item, Dropped):
            backlog.put(item)
    assert taken(backlog) == items


def test_the_oldest_output_is_dropped_and_counted_where_it_was() -> None:
    backlog = Backlog(limit=2 * (1 + LINE_COST))
    backlog.put(event(seq=1))
    for text in 'abcde':
        backlog.put_output(output(text))
    backlog.put(event(seq=2))
    assert taken(backlog) == [event(seq=1), Dropped(3), output('d'), output('e'), event(seq=2)]


def test_output_that_is_too_large_as_a_whole_leaves_its_count() -> None:
    backlog = Backlog(limit=10)
    backlog.put_output(Output('n', Stream.STDERR, (b'x', b'y')))
    assert taken(backlog) == [Dropped(2)]


def test_no_event_is_ever_dropped() -> None:
    backlog = Backlog(limit=0, batch=1)
    for seq in range(5000):
        backlog.put(event(seq=seq))
        backlog.put_output(output('x'))
    items = taken(backlog)
    assert [item.seq for item in items if not isinstance(item, (str, Output, Dropped))] == list(range(5000))
    assert sum(item.count for item in items if isinstance(item, Dropped)) == 5000


def test_a_batch_of_output_is_bounded() -> None:
    backlog = Backlog(batch=1)
    for text in 'ab':
        backlog.put_output(output(text))
    assert [backlog.take(), backlog.take()] == [[output('a')], [output('b')]]


def test_a_console_writes_events_output_and_the_last_text() -> None:
    page = io.StringIO()
    console = Console(page, renderer())
    console.event(event(node='n'))
    console.output('n', Stream.STDERR, [b'one', b'two'])
    assert console.finish('summary\nok')
    assert page.getvalue() == ('07:08:09.123  n  NODE_UP            up\nn ! one\nn ! two\nsummary\nok\n')


def test_debug_events_are_for_those_who_want_them() -> None:
    quiet, verbose = io.StringIO(), io.StringIO()
    for page, wanted in ((quiet, False), (verbose, True)):
        console = Console(page, renderer(), verbose=wanted)
        console.event(event(level=Level.DEBUG))
        assert console.finish()
    assert quiet.getvalue() == ''
    assert verbose.getvalue().count('\n') == 1


def test_node_output_can_be_left_out() -> None:
    page = io.StringIO()
    console = Console(page, renderer(), show_output=False)
    console.output('n', Stream.STDOUT, [b'one'])
    console.event(event())
    assert console.finish()
    assert page.getvalue() == '07:08:09.123     NODE_UP            up\n'


def test_a_blocked_terminal_delays_nobody() -> None:
    sink = GatedSink()
    console = Console(sink, renderer(), backlog=Backlog(limit=100 * (1 + LINE_COST)))
    console.event(event(seq=0))
    assert sink.blocked.wait(10)
    for seq in range(1, 1000):
        console.event(event(seq=seq))
        console.output('n', Stream.STDOUT, [b'x'])
    assert not console.finish('ok', timeout=0.0)
    sink.gate.set()
    assert console.finish(timeout=10)
    lines = sink.written.getvalue().splitlines()
    assert sum('NODE_UP' in line for line in lines) == 1000
    assert sum(line == 'n | x' for line in lines) == 100
    assert '... 899 lines of node output not shown; the log files have them' in lines
    assert lines[-1] == 'ok'


def test_a_reader_that_went_away_is_no_error() -> None:
    sink = DeadSink()
    console = Console(sink, renderer())
    console.event(event())
    assert console.finish('ok')
    assert sink.writes >= 1


def test_a_descriptor_gets_everything_even_when_it_does_not_block() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = 'ä' * 300_000
    thread = threading.Thread(target=FileDescriptorSink(writer, 'utf-8').write, args=(text,))
    thread.start()
    data = b''
    while len(data) < 2 * len(text):
        data += os.read(reader, 65536)
    thread.join(10)
    os.close(reader)
    os.close(writer)
    assert data.decode() == text


def test_a_descriptor_whose_encoding_lacks_a_character_gets_its_number() -> None:
    reader, writer = os.pipe()
    FileDescriptorSink(writer, 'ascii').write('ä\n')
    os.close(writer)
    with os.fdopen(reader, 'rb') as file:
        assert file.read() == b'\\xe4\n'


def test_up_time_is_that_of_the_last_incarnation() -> None:
    times = UpTimes()
    times.take(event(EventKind.NODE_UP, node='a'), 10.0)
    times.take(event(EventKind.NODE_UP, node='b'), 11.0)
    times.take(event(EventKind.NODE_EXITED, node='a'), 15.0)
    assert times.seconds(16.0) == {'a': 5.0, 'b': 5.0}
    times.take(event(EventKind.NODE_STARTING, node='a'), 20.0)
    assert times.seconds(21.0) == {'b': 10.0}
    times.take(event(EventKind.NODE_RESTARTED, node='a'), 22.0)
    times.take(event(EventKind.NODE_EXITED, node='a'), 24.0)
    times.take(event(EventKind.NODE_EXITED, node='c'), 24.0)
    assert times.seconds(100.0) == {'a': 2.0, 'b': 89.0}


def test_a_console_measures_with_its_clock() -> None:
    now = 5.0
    console = Console(io.StringIO(), renderer(), clock=lambda: now)
    console.event(event(node='n'))
    now = 9.0
    assert console.up_times() == {'n': 4.0}
    assert console.finish()


def test_a_terminal_shows_below_everything_else_how_far_a_start_is() -> None:
    line = ProgressLine(is_shown=True)
    assert line.below('a\n') == 'a\n'
    line.take(event(EventKind.DATAFLOW_STARTING, nodes='3'))
    assert line.below('b\n') == 'b\nstarting 0/3 ...'
    line.take(event(EventKind.NODE_UP, node='x'))
    line.take(event(EventKind.NODE_ENDED, node='y'))
    line.take(event(EventKind.NODE_UP, node='x'))
    assert line.below('c\n') == f'{ERASE}c\nstarting 2/3 ...'
    line.take(event(EventKind.DATAFLOW_RUNNING))
    assert line.below('d\n') == f'{ERASE}d\n'
    assert line.below('e\n') == 'e\n'


def test_what_is_not_a_terminal_shows_no_progress() -> None:
    line = ProgressLine(is_shown=False)
    line.take(event(EventKind.DATAFLOW_STARTING, nodes='3'))
    assert line.below('a\n') == 'a\n'
