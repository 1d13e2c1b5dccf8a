"""A process that is started warm behaves like one that is started cold."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.errors import SpawnError
from adora_ros.manager.warm import ColdError
from manager.harness import descriptors
from support import eventually
from warm.harness import KINDS, Starter, ended

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS = """
import gc, json, os, resource, signal, sys, threading, time

def bits(name):
    status = dict(line.split(':', 1) for line in open('/proc/self/status'))
    return [n for n in map(int, signal.valid_signals()) if int(status[name], 16) >> (n - 1) & 1]

def stream(s):
    return [s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.fileno()]

def shown(name):
    return [part for part in open(f'/proc/self/{name}').read().replace('\\0', '\\n').splitlines() if part]

umask = os.umask(0)
main = {k: repr(v).partition(' at 0x')[0] for k, v in sorted(globals().items())}
import __main__
print(json.dumps({
    'argv': sys.argv, 'orig_argv': sys.orig_argv, 'path': sys.path, 'flags': repr(sys.flags), 'main': main,
    'itself': __main__.__dict__ is globals(), 'cwd': os.getcwd(), 'env': dict(os.environ), 'umask': umask,
    'leader': os.getpid() == os.getsid(0) == os.getpgid(0), 'parent': os.getppid(), 'nice': os.nice(0),
    'fds': {n: os.readlink(f'/proc/self/fd/{n}').partition(':')[0] for n in os.listdir('/proc/self/fd')
            if os.path.exists(f'/proc/self/fd/{n}')},
    'ignored': bits('SigIgn'), 'blocked': bits('SigBlk'), 'caught': bits('SigCgt'),
    'handlers': [str(signal.getsignal(n)).partition(' at 0x')[0] for n in sorted(signal.valid_signals())],
    'limits': [resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith('RLIMIT_')],
    'cpus': sorted(os.sched_getaffinity(0)), 'threads': [threading.active_count(), threading.current_thread().name],
    'streams': [stream(s) for s in (sys.stdin, sys.stdout, sys.stderr)], 'input': sys.stdin.read(),
    'gc': [gc.isenabled(), gc.get_threshold()], 'shown_line': ' '.join(' '.join(shown('cmdline')).split()),
    'shown_env': sorted(shown('environ')), 'comm': shown('comm'), 'zone': time.tzname, 'executable': sys.executable,
    'hooks': [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace()],
}))
"""
ENDS = {
    'exit code': 'import sys; sys.exit(7)',
    'exit with a text': 'import sys; sys.exit("enough")',
    'exit with nothing': 'raise SystemExit',
    'exit at once': 'import os; print("said"); os._exit(5)',
    'signal': 'import os; os.kill(os.getpid(), 11)',
    'terminated': 'import os, time; os.kill(os.getpid(), 15); time.sleep(60)',
    'interrupted': 'import os, time\ndef wait():\n    time.sleep(60)\nos.kill(os.getpid(), 2)\nwait()\n',
    'interrupted with a clean-up': 'import atexit, os\natexit.register(print, "bye")\nraise KeyboardInterrupt\n',
    'exception': 'def fail(x):\n    return 1 / x\n\nprint("before")\nfail(0)\n',
    'exception of another': 'try:\n    1 / 0\nexcept ArithmeticError as e:\n    raise ValueError("text") from e\n',
    'exception while handling': 'try:\n    {}["k"]\nexcept LookupError:\n    raise RuntimeError\n',
    'exception with a note of its own class': 'class Mine(Exception):\n    pass\nraise Mine("a", 1)\n',
    'wrong syntax': 'print("never")\ndef f(:\n',
    'hook': 'import sys\nsys.excepthook = lambda *a: print("hooked", a[0].__name__, a[2].tb_lineno)\nraise OSError\n',
    'hook that fails': 'import sys\ndef hook(*a):\n    raise LookupError("hook")\nsys.excepthook = hook\n1 / 0\n',
    'hook that exits': 'import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1 / 0\n',
    'exit handlers': 'import atexit\natexit.register(print, "second")\natexit.register(print, "first")\nprint("main")\n',
    'a file that is not closed': 'file = open(1, "w", closefd=False)\nfile.write("written")\n',
    'a file that is not closed in a cycle': 'class A: pass\na = A()\na.a = a\na.file = open(1, "w", closefd=False)\na.file.write("written")\n',
    'a file that a module has not closed': 'import json\njson.file = open(1, "w", closefd=False)\njson.file.write("written")\n',
    'an object that says so when it ends': 'class A:\n    def __del__(self): print("ends")\na = A()\n',
    'exit handlers that import': 'import atexit\n@atexit.register\ndef end():\n    import decimal, json, os\n    print(json.dumps(os.getpid() > 1))\n',
    'failing exit handler': 'import atexit\natexit.register(lambda: 1 / 0)\n',
    'thread that stays': 'import threading, time\n'
    'def late():\n    time.sleep(0.05); import __main__; print("late", __main__.X)\n'
    'X = 3\nthreading.Thread(target=late).start()\n',
    'thread that fails': 'import threading\nt = threading.Thread(target=lambda: 1 / 0, name="T")\nt.start()\nt.join()\n',
    'warning': 'import warnings\ndef old():\n    warnings.warn("old", FutureWarning, stacklevel=2)\nold()\n',
    'deprecation in main': 'import warnings\nwarnings.warn("gone", DeprecationWarning)\n',
    'logging': 'import logging\nlogging.warning("w")\nlogging.info("i")\n',
    'text that is not ASCII': 'print("grün \\U0001f916"); import sys; print("é", file=sys.stderr)',
    'pickle': 'import pickle\nclass A:\n    def __init__(self): self.x = 4\n'
    'print(pickle.loads(pickle.dumps(A())).x, A.__module__, A.__qualname__)\n',
    'names of main': 'import dataclasses, enum, typing\n@dataclasses.dataclass\nclass D:\n    a: "int"\n'
    'E = enum.Enum("E", "P Q")\nprint(D(1), E.P, typing.get_type_hints(D), E.__module__)\nx: int = 3\nprint(__annotations__)\n'
    if sys.version_info < (3, 14)
    else 'print(1)',
    'future import is not inherited': 'def f(a: 1 + 1): pass\nprint(f.__annotations__)\n',
    'stale bytecode': 'print(__name__, __spec__, __package__, __doc__)\n',
    'process by spawn': 'import multiprocessing as m\nclass C:\n    def __init__(s, x): s.x = x\n'
    'def work(c, q): q.put(C(c.x + 1))\nif __name__ == "__main__":\n    m.set_start_method("spawn")\n'
    '    q = m.Queue(); p = m.Process(target=work, args=(C(1), q)); p.start(); print(q.get().x); p.join(); print(p.exitcode)\n',
    'process by fork': 'import multiprocessing as m\ndef work(q): q.put("ok")\nif __name__ == "__main__":\n'
    '    c = m.get_context("fork"); q = c.SimpleQueue(); p = c.Process(target=work, args=(q,)); p.start(); print(q.get()); p.join()\n',
    'process': 'import subprocess, sys\nprint(subprocess.run([sys.executable, "-c", "print(2)"], capture_output=True).stdout)\n',
    'default signals of a process': 'import subprocess\n'
    'print(subprocess.run(["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"], capture_output=True).stdout)\n',
    'event loop': 'import asyncio\nasync def main():\n    await asyncio.sleep(0.01); return 5\nprint(asyncio.run(main()))\n',
    'broken pipe': 'import os\nr, w = os.pipe(); os.close(r)\ntry:\n    os.write(w, b"x")\nexcept BrokenPipeError:\n    print("pipe")\n',
    'sibling': 'import sibling_of_script\nprint(sibling_of_script.VALUE)\n',
}
"""Scripts by what they show; each ends cold and warm with the same code, output and complaints."""
ADDRESS = re.compile(' at 0x[0-9a-f]+')


@pytest.fixture(scope='module')
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    made = Starter(tmp_path_factory.mktemp('warm'))
    (made.folder / 'sibling_of_script.py').write_text('VALUE = 6\n', encoding='utf-8')
    yield made
    made.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Starter]:
    """Return a starter whose warm process is no other test's."""
    made = Starter(tmp_path)
    yield made
    made.close()


def facts(starter: Starter, kind: str, **keys: Any) -> dict[str, Any]:
    file = starter.write(FACTS, 'facts.py')
    done = starter.run(kind, file, 'a', 'b c', env={'ADORA_TEST_VALUE': 'ü=1\n2', 'TZ': 'Asia/Tokyo'}, **keys)
    assert (done.code, done.err) == (0, '')
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_it_finds_the_same_around_itself(starter: Starter) -> None:
    passed = os.dup(0)
    cpu = max(os.sched_getaffinity(0))
    found = {kind: facts(starter, kind, pass_fds=(passed,), cpu_affinity=(cpu,)) for kind in KINDS}
    os.close(passed)
    assert found['warm'] == found['cold']
    assert found['warm']['parent'] == os.getpid()
    assert found['warm']['leader']
    assert set(found['warm']['fds']) == {'0', '1', '2', str(passed)}


@pytest.mark.parametrize('script', ENDS)
def test_it_ends_the_same(starter: Starter, script: str) -> None:
    cold, warm = (starter.run(kind, ENDS[script]) for kind in KINDS)
    assert (warm.code, warm.out, ADDRESS.sub('', warm.err)) == (cold.code, cold.out, ADDRESS.sub('', cold.err))


def test_a_script_that_cannot_be_read_or_started_says_the_same(starter: Starter) -> None:
    missing = starter.folder / 'missing.py'
    cold, warm = (starter.run(kind, missing) for kind in KINDS)
    assert (warm.code, warm.err) == (cold.code, cold.err)
    texts = []
    for kind in KINDS:
        with pytest.raises(SpawnError) as caught:
            starter.run(kind, 'pass', cwd=starter.folder / 'missing')
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_a_link_to_a_script_finds_the_modules_beside_the_script(starter: Starter, tmp_path: Path) -> None:
    script = starter.write('import sibling_of_script, sys\nprint(sys.path[0], __file__)\n', 'linked.py')
    link = tmp_path / 'link.py'
    link.symlink_to(script)
    cold, warm = (starter.run(kind, link) for kind in KINDS)
    assert (warm.code, warm.out) == (cold.code, cold.out) == (0, f'{starter.folder} {link}\n')


def test_what_is_drawn_at_random_differs(starter: Starter) -> None:
    script = 'import random, uuid, numpy; print(random.random(), numpy.random.rand(), uuid.uuid4(), uuid.uuid1())'
    drawn = [starter.run('warm', script).out.split() for _ in range(2)]
    assert len({*drawn[0], *drawn[1]}) == 8


def test_many_at_once_are_all_warm(starter: Starter) -> None:
    """More than fit into the socket of the warm process."""
    file = starter.write('import sys; print(sys.argv[1])', 'many.py')
    env = {'ADORA_TEST_VALUE': 'x' * 20_000}
    children = starter.start_many([starter.command(file, str(number), env=env) for number in range(40)])
    assert [ended(child).out for child in children] == [f'{number}\n' for number in range(40)]


def test_a_descriptor_that_is_passed_on_works_and_nobody_else_keeps_it(starter: Starter) -> None:
    read, write = os.pipe()
    file = starter.write('import os, sys; os.write(int(sys.argv[1]), b"through")')
    child = starter.start('warm', starter.command(file, str(write), pass_fds=(write,)))
    os.close(write)
    assert ended(child).code == 0
    assert os.read(read, 100) == b'through'
    assert os.read(read, 100) == b''
    os.close(read)


def test_nothing_is_left_of_a_process_in_the_manager(starter: Starter) -> None:
    starter.run('warm', 'pass')
    before = descriptors()
    done = starter.run('warm', 'import os, sys\nif not os.fork():\n    os.setsid()\n')
    assert done.code == 0
    assert descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(done.pid, os.WNOHANG)


@pytest.mark.parametrize(
    ('env', 'name'),
    [({'PYTHONHASHSEED': '3'}, 'PYTHONHASHSEED'), ({'LD_PRELOAD': ''}, 'LD_PRELOAD'), ({'LC_ALL': 'C'}, 'LC_ALL')],
)
def test_what_python_reads_when_it_starts_has_to_be_the_same(starter: Starter, env: dict[str, str], name: str) -> None:
    with pytest.raises(ColdError, match=name):
        starter.run('warm', 'pass', env=env)


def test_a_module_that_another_one_of_its_name_would_hide_has_to_be_loaded_first(
    starter: Starter, tmp_path: Path
) -> None:
    (tmp_path / 'yaml.py').write_text('MINE = True\n', encoding='utf-8')
    script = tmp_path / 'script.py'
    script.write_text('import yaml\nprint(yaml.MINE)\n', encoding='utf-8')
    assert starter.run('cold', script).out == 'True\n'
    with pytest.raises(ColdError, match='has a module yaml, and another one is loaded already'):
        starter.run('warm', script)


def test_ros_and_arrow_are_loaded_and_ros_has_no_thread_yet(starter: Starter) -> None:
    script = """
    import os, sys
    print({'rclpy', 'pyarrow', 'numpy', 'adora_ros.node.api', 'std_msgs.msg'} <= set(sys.modules))
    print(len(os.listdir('/proc/self/task')))
    """
    assert starter.run('warm', script).out.split() == ['True', '1']
    names = [task.read_text() for task in Path(f'/proc/{starter.warm.pid}/task').glob('*/comm')]
    assert names
    assert not [name for name in names if name.startswith('dds.')]


def replaced(starter: Starter, first: int) -> bool:
    starter.turn(0.01)
    return starter.warm.pid not in {first, None}


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_a_warm_process_that_ends_is_replaced(own: Starter, number: int) -> None:
    first = own.warm.pid
    assert first is not None
    os.kill(first, number)

    eventually(lambda: replaced(own, first))
    assert own.run('warm', 'print(1)').out == '1\n'


def test_one_that_hangs_is_replaced_and_its_late_child_does_nothing(
    own: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('adora_ros.manager.warm.REPORT_PATIENCE', 0.2)
    own.run('warm', 'pass')
    first = own.warm.pid
    assert first is not None
    mark = own.folder / 'mark'
    file = own.write(f'open({str(mark)!r}, "w")')
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(ColdError, match=r'no report within 0\.2 s'):
        own.start('warm', own.command(file))
    monkeypatch.undo()
    eventually(lambda: replaced(own, first))
    assert own.run('warm', 'print(1)').out == '1\n'
    assert not mark.exists()
