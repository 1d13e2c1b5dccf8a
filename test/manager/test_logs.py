"""Log files and the thread that fills them."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from adora_ros.manager.logfile import LogFile
from adora_ros.manager.logs import CHUNK, LINE_LIMIT, LogPump, Stream
from manager.harness import descriptors
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STAMP = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00'


class Sink:
    """Remembers what it is told, and has a pump and pipes to tell it."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[tuple[str, Stream, bytes]] = []
        self.file = LogFile(folder / 'n.log')
        self.pump = LogPump(self.output)

    def output(self, node: str, stream: Stream, lines: list[bytes]) -> None:
        """Take lines."""
        self.lines += [(node, stream, line) for line in lines]

    def attach(self, node: str = 'n', file: LogFile | None = None) -> tuple[int, int]:
        """Return the write ends of a node's streams."""
        out, err = os.pipe(), os.pipe()
        self.pump.attach(node, (out[0], err[0]), file or self.file)
        return out[1], err[1]

    def texts(self) -> list[bytes]:
        """Return the lines so far."""
        return [line for _, _, line in list(self.lines)]

    def written(self) -> list[str]:
        """Return the lines of the log file without their time."""
        text = self.file.path.read_text(encoding='utf-8') if self.file.path.exists() else ''
        assert all(re.match(STAMP + ' ', line) for line in text.splitlines())
        return [line.split(' ', 1)[1] for line in text.splitlines()]


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[Sink]:
    made = Sink(tmp_path)
    yield made
    made.pump.close()
    made.file.close()


def put(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)


def test_a_pump_gives_back_what_it_takes(tmp_path: Path) -> None:
    before = descriptors()
    sink = Sink(tmp_path)
    out, err = sink.attach()
    sink.pump.close()
    sink.pump.write(sink.file, 'too late')
    close(out, err)
    sink.file.close()
    assert descriptors() == before


def test_lines_reach_the_file_and_the_listener(sink: Sink) -> None:
    out, err = sink.attach()
    put(out, b'one\ntwo\n')
    eventually(lambda: len(sink.lines) == 2)
    put(err, b'bad\n')
    eventually(lambda: len(sink.lines) == 3)
    close(out, err)
    assert sink.lines == [('n', Stream.STDOUT, b'one'), ('n', Stream.STDOUT, b'two'), ('n', Stream.STDERR, b'bad')]
    assert sink.written() == ['stdout one', 'stdout two', 'stderr bad']


def test_a_line_is_passed_on_when_it_is_complete(sink: Sink) -> None:
    out, err = sink.attach()
    put(out, b'par')
    put(err, b'other\n')
    eventually(lambda: sink.texts() == [b'other'])
    put(out, b'tial\nand the rest')
    eventually(lambda: sink.texts() == [b'other', b'partial'])
    close(out, err)
    eventually(lambda: sink.texts() == [b'other', b'partial', b'and the rest'])


def test_empty_lines_are_kept_and_the_end_adds_none(sink: Sink) -> None:
    out, err = sink.attach()
    put(out, b'\n\na\n')
    close(out, err)
    eventually(lambda: sink.texts() == [b'', b'', b'a'])


def test_a_line_without_an_end_is_cut_into_pieces(sink: Sink) -> None:
    out, err = sink.attach()
    size = 5 * LINE_LIMIT + 17
    put(out, b'x' * size)
    close(out, err)
    eventually(lambda: sum(map(len, sink.texts())) == size)
    assert max(map(len, sink.texts())) <= LINE_LIMIT + CHUNK
    assert set(b''.join(sink.texts())) == {ord('x')}


def test_what_is_no_text_is_kept_as_it_is(sink: Sink) -> None:
    out, err = sink.attach()
    put(out, b'\xff\x00\x1b[31m\n')
    close(out, err)
    eventually(lambda: sink.texts() == [b'\xff\x00\x1b[31m'])
    assert b'stdout \xff\x00\x1b[31m\n' in sink.file.path.read_bytes()


def test_pipes_are_closed_at_their_end_and_files_once_released(sink: Sink) -> None:
    before = descriptors()
    out, err = sink.attach()
    put(out, b'x\n')
    sink.pump.release(sink.file)
    eventually(lambda: sink.texts() == [b'x'])
    put(err, b'y\n')
    close(out, err)
    eventually(lambda: descriptors() == before)
    assert sink.written() == ['stdout x', 'stderr y']


def test_closing_reads_what_is_left(sink: Sink) -> None:
    out, err = sink.attach()
    put(out, b''.join(b'%d\n' % number for number in range(2000)))
    sink.pump.write(sink.file, 'by the manager')
    sink.pump.close()
    close(out, err)
    assert sink.texts() == [b'%d' % number for number in range(2000)]
    assert len(sink.written()) == 2001
    assert 'by the manager' in sink.written()


def test_closing_does_not_wait_for_a_process_that_never_stops_printing(sink: Sink) -> None:
    out, err = sink.attach()
    with subprocess.Popen(['/usr/bin/yes'], stdout=out) as chatty:
        eventually(lambda: sink.lines)
        begin = time.monotonic()
        sink.pump.close(timeout=0.2)
        assert time.monotonic() - begin < 2.0
        chatty.kill()
    close(out, err)


def test_a_chatty_node_loses_nothing_and_does_not_delay_another(tmp_path: Path) -> None:
    count = {'chatty': 0, 'quiet': 0}

    def listen(node: str, _stream: Stream, lines: list[bytes]) -> None:
        count[node] += sum(map(len, lines)) + len(lines)

    pump = LogPump(listen)
    files = {node: LogFile(tmp_path / f'{node}.log') for node in count}
    pipes = {node: (os.pipe(), os.pipe()) for node in count}
    for node, (out, err) in pipes.items():
        pump.attach(node, (out[0], err[0]), files[node])
    size = 20_000_000
    begin = time.monotonic()
    command = ['/bin/sh', '-c', f'yes 0123456789 | head -c {size}']
    with subprocess.Popen(command, stdout=pipes['chatty'][0][1], start_new_session=True):
        put(pipes['quiet'][0][1], b'hello\n')
        eventually(lambda: count['quiet'] == len(b'hello\n'), 1.0)
    for out, err in pipes.values():
        close(out[1], err[1])
    eventually(lambda: count['chatty'] >= size, 20.0)
    assert time.monotonic() - begin < 10.0, 'less than 2 MB/s'
    pump.close()
    for file in files.values():
        file.close()


def test_a_log_rotates_by_size_and_drops_the_oldest(tmp_path: Path) -> None:
    log = LogFile(tmp_path / 'n.log', max_size=100, max_files=2)
    for number in range(10):
        log.write(b'%040d\n' % number)
    log.close()
    contents = {file.name: [int(line) for line in file.read_text().split()] for file in tmp_path.iterdir()}
    assert contents == {'n.log': [8, 9], 'n.1.log': [6, 7], 'n.2.log': [4, 5]}


def test_a_log_without_rotated_files_begins_anew(tmp_path: Path) -> None:
    log = LogFile(tmp_path / 'n.log', max_size=100, max_files=0)
    for number in range(5):
        log.write(b'%040d\n' % number)
    log.close()
    assert [int(line) for line in (tmp_path / 'n.log').read_text().split()] == [4]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize('max_files', [0, 1, 3])
def test_a66_no_file_is_ever_larger_than_it_may_be(tmp_path: Path, max_files: int) -> None:
    limit = 1000
    log = LogFile(tmp_path / 'n.log', max_size=limit, max_files=max_files)
    written = b''
    for number in range(200):
        data = b''.join(b'%d %s\n' % (number, b'x' * ((number * 37 + part * 11) % 150)) for part in range(number % 9))
        data += b'y' * 2500 + b'\n' if number == 77 else b'z\n'
        log.write(data)
        written += data
        files = list(tmp_path.iterdir())
        assert len(files) <= 1 + max_files
        assert all(file.stat().st_size <= limit for file in files)
    log.close()
    assert (log.error, log.lost) == (None, 0)
    names = [*(f'n.{number}.log' for number in range(max_files, 0, -1)), 'n.log']
    kept = b''.join((tmp_path / name).read_bytes() for name in names)
    assert written.endswith(kept)
    assert all((tmp_path / name).read_bytes().endswith(b'\n') for name in names)
    assert len(kept) > max_files * (limit - 150)


def test_a_line_longer_than_a_file_is_cut(tmp_path: Path) -> None:
    log = LogFile(tmp_path / 'n.log', max_size=10, max_files=9)
    log.write(b'x' * 25 + b'\n')
    log.close()
    sizes = [(tmp_path / name).stat().st_size for name in ('n.2.log', 'n.1.log', 'n.log')]
    assert sizes == [10, 10, 6]


def test_a_log_goes_on_where_an_earlier_one_ended(tmp_path: Path) -> None:
    (tmp_path / 'n.log').write_bytes(b'x' * 90)
    log = LogFile(tmp_path / 'n.log', max_size=100)
    log.write(b'y' * 20 + b'\n')
    log.close()
    assert (tmp_path / 'n.1.log').read_bytes() == b'x' * 90


def test_a66_a_full_disk_loses_lines_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / 'n.log'
    path.symlink_to('/dev/full')
    log = LogFile(path)
    log.write(b'lost\n')
    errors = [log.error]
    log.close()
    path.unlink()
    log.write(b'kept\n')
    errors.append(log.error)
    log.close()
    assert errors == [f'{path}: No space left on device', None]
    assert path.read_bytes() == b'kept\n'


def test_a_full_disk_does_not_stop_the_pump(sink: Sink) -> None:
    sink.file.path.symlink_to('/dev/full')
    out, err = sink.attach()
    for number in range(100):
        put(out, b'%d\n' % number)
    close(out, err)
    eventually(lambda: sink.texts() == [b'%d' % number for number in range(100)])
    assert 'No space left on device' in (sink.file.error or '')


def test_a_limit_on_the_size_of_files_is_an_error_like_any_other(tmp_path: Path) -> None:
    script = """
    import resource, signal, sys
    from pathlib import Path
    from adora_ros.manager.logfile import LogFile
    from adora_ros.manager.processes import use_default_signals
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    use_default_signals()
    log = LogFile(Path(sys.argv[1]))
    for _ in range(30):
        log.write(b'x' * 99 + b'\\n')
    print(log.error)
    """
    path = tmp_path / 'n.log'
    command = [sys.executable, '-c', re.sub(r'^    ', '', script, flags=re.MULTILINE), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f'{path}: File too large\n')
    assert path.stat().st_size == 1000
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_a_folder_that_is_gone_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    log = LogFile(tmp_path / 'gone' / 'n.log')
    log.write(b'lost\n')
    assert 'No such file or directory' in (log.error or '')
    (tmp_path / 'gone').mkdir()
    log.write(b'kept\n')
    assert log.error is None
    log.close()


def test_a66_that_files_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    shown: list[bytes] = []
    pump = LogPump(lambda _node, _stream, lines: shown.extend(lines), complain=said.append)
    path = tmp_path / 'n.log'
    path.symlink_to('/dev/full')
    files = [LogFile(path), LogFile(tmp_path / 'm.log')]
    for number in range(100):
        pump.write(files[0], f'{number}')
        pump.write(files[1], f'{number}')
    eventually(lambda: (tmp_path / 'm.log').exists() and len((tmp_path / 'm.log').read_text().splitlines()) == 100)
    complaint = f'{path}: No space left on device; log lines are lost until it can be written, nothing else is'
    assert said == [complaint]
    files[0].close()
    path.unlink()
    pump.write(files[0], 'again')
    pump.close()
    assert said == [complaint, 'the log files can be written again']
    assert path.read_text().endswith(' again\n')
    assert files[0].lost == 100
    for file in files:
        file.close()
