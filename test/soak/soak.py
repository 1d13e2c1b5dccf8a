"""Kills, hangs and silences of twelve nodes at random for a while; in the end all must be accounted for.

Usage: ``PYTHONPATH=test python test/soak/soak.py [--seconds N] [--seed N]``, or ``SOAK_SECONDS`` and ``SOAK_SEED`` in
the environment. Six pairs of a source and a sink are treated independently of each other, each by a generator of its
own that is seeded with the seed and the number of the pair. What each did to its pair is compared with the events and
counters of the manager; processes, shared memory, and the manager's threads and file descriptors are compared with
those at the start.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from manager.harness import Flow, Run
from supervised.harness import guardian_of, is_alive, left, wait_for_mark
from support import domain_range, eventually, ros_domain_lease

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = 6
HEALTH = 4.0
"""``health_check_timeout`` in seconds."""
INPUT_TIMEOUT = 12.0
"""Longer than a hang with its restart on a busy machine, so that only a silence closes an input."""
SILENCE = INPUT_TIMEOUT + 3.0
MARGIN = 3.0
"""Seconds before the timeout from which on a restart is so late that it may have closed an input as well."""
REST = 2.0
"""Longest rest in seconds between two things that are done to a pair."""
PATIENCE = 60.0
"""Seconds within which the consequence of anything has to be there."""
POOL = min(32, (os.cpu_count() or 1) + 4)
"""Threads of asyncio's default executor, which makes them when it needs them and keeps them."""
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGBUS)


class Pair:
    """What is done to one source and its sink.

    Args:
        number: Which pair it is.
        flow: The dataflow.
        manager: Its manager.
        seed: Where the generator begins.

    """

    def __init__(self, number: int, flow: Flow, manager: Run, seed: int) -> None:
        self.source, self.sink = f'source{number}', f'sink{number}'
        self.done: collections.Counter[str] = collections.Counter()
        self.error = ''
        self.segments: set[str] = set()
        self._flow = flow
        self._manager = manager
        self._random = random.Random(f'{seed}/{number}')
        self._incarnations = {self.source: 0, self.sink: 0}

    def run(self, until: float) -> None:
        """Do things until steady time ``until``."""
        try:
            while time.monotonic() < until:
                time.sleep(self._random.uniform(0.0, REST))
                self._act()
        except AssertionError as error:
            self.error = f'{self.source}, {self.sink}: {str(error)[:2000]}'

    @property
    def restarts(self) -> dict[str, int]:
        """How often each node has been restarted."""
        return dict(self._incarnations)

    def _act(self) -> None:
        acts: list[tuple[Callable[[str], None], int]] = [(self._kill, 6), (self._hang, 2), (self._silence, 2)]
        act = self._random.choices([act for act, _ in acts], [weight for _, weight in acts])[0]
        node = self.source if act == self._silence else self._random.choice([self.source, self.sink])
        act(node)

    def _kill(self, node: str) -> None:
        number = self._random.choice(SIGNALS)
        self._send(node, number)
        self.done[f'kill {node} {signal.Signals(number).name}'] += 1
        self._restarted(node, time.monotonic())

    def _hang(self, node: str) -> None:
        self._send(node, signal.SIGSTOP)
        self.done[f'hang {node}'] += 1
        self._restarted(node, time.monotonic())

    def _silence(self, node: str) -> None:
        before = len(self._manager.all('INPUT_RECOVERED', self.sink))
        self._send(node, signal.SIGUSR1)
        self.done[f'silence {node}'] += 1
        self._manager.event('INPUT_RECOVERED', self.sink, count=before + 1, timeout=PATIENCE)

    def _send(self, node: str, number: int) -> None:
        pid = self._pid(node)
        self.segments |= shared_memory_of(pid)
        os.kill(pid, number)

    def _restarted(self, node: str, since: float) -> None:
        self._incarnations[node] += 1
        self._manager.event('NODE_RESTARTED', node, count=self._incarnations[node], timeout=PATIENCE)
        self._pid(node)
        if node == self.sink:
            number = self._incarnations[node]
            eventually(lambda: number in self._flow.marked(node, 'fed'), PATIENCE, f'a message for {node}')
        else:
            time.sleep(0.5)  # so that the sink has heard of it
            if time.monotonic() - since > INPUT_TIMEOUT - MARGIN:
                self.done[f'late {node}'] += 1

    def _pid(self, node: str) -> int:
        return self._flow.pid(node, self._incarnations[node])


def build(folder: Path) -> Flow:
    """Return the dataflow."""
    flow = Flow(folder, 'soak')
    keys = {
        'restart_policy': 'always',
        'restart_delay': 0.05,
        'max_restart_delay': 0.2,
        'health_check_timeout': HEALTH,
        'startup_timeout': 60.0,
    }
    for number in range(PAIRS):
        flow.node(f'source{number}', 'soak_source.py', SILENCE, outputs=['data'], **keys)
        port = {'source': f'source{number}/data', 'input_timeout': INPUT_TIMEOUT}
        flow.node(f'sink{number}', 'soak_sink.py', inputs={'data': port}, **keys)
    return flow


def shared_memory_of(pid: int) -> set[str]:
    """Return the files in shared memory that a process has open."""
    found = set()
    for link in Path(f'/proc/{pid}/fd').iterdir():
        with contextlib.suppress(OSError):
            target = str(link.readlink())
            if target.startswith('/dev/shm/'):
                found.add(target)
    return found


def resources(pid: int) -> dict[str, int]:
    """Return how many threads and file descriptors a process has, and its resident memory in MiB."""
    status = dict(
        line.split(':', 1)
        for line in Path(f'/proc/{pid}/status').read_text(encoding='utf-8').splitlines()
        if ':' in line
    )
    return {
        'threads': int(status['Threads']),
        'descriptors': len(list(Path(f'/proc/{pid}/fd').iterdir())),
        'memory': int(status['VmRSS'].split()[0]) // 1024,
    }


def expected(manager: Run, pairs: list[Pair]) -> dict[str, int]:
    """Return the counters that the manager must have; the closings of inputs are checked pair by pair."""
    done: collections.Counter[str] = collections.Counter()
    for pair in pairs:
        for what, times in pair.done.items():
            done[what.split()[0]] += times
    return {
        'restarts': done['kill'] + done['hang'],
        'health_kills': done['hang'],
        'startup_kills': 0,
        'input_timeouts': len(manager.all('INPUT_CLOSED')),
        'cb_recoveries': len(manager.all('INPUT_RECOVERED')),
    }


def problems(manager: Run, pairs: list[Pair]) -> list[str]:
    """Return what the manager said that does not fit what was done."""
    found = [pair.error for pair in pairs if pair.error]

    def check(what: str, is_: object, should: object) -> None:
        if is_ != should:
            found.append(f'{what}: {is_}, not {should}')

    for pair in pairs:
        for node, restarts in pair.restarts.items():
            kills = collections.Counter(
                {
                    f'exited: signal:{key.split()[2]}': n
                    for key, n in pair.done.items()
                    if key.startswith(f'kill {node} ')
                }
            )
            exits = collections.Counter(
                'health' if text.startswith('exited: health check') else text
                for text in manager.texts('NODE_EXITED', node)[:restarts]
            )
            hangs = pair.done[f'hang {node}']
            check(f'exits of {node}', exits, kills + collections.Counter({'health': hangs}))
            check(f'kills of {node}', len(manager.all('NODE_KILLED', node)), hangs)
            check(f'announced restarts of {node}', len(manager.all('RESTART_SCHEDULED', node)), restarts)
            check(f'restarts of {node}', len(manager.all('NODE_RESTARTED', node)), restarts)
            check(f'exits in all of {node}', len(manager.all('NODE_EXITED', node)), restarts + 1)
        silences = pair.done[f'silence {pair.source}']
        closings = len(manager.all('INPUT_CLOSED', pair.sink))
        late = pair.done[f'late {pair.source}']
        check(f'closings of {pair.sink}', max(silences, min(closings, silences + late)), closings)
        check(f'recoveries of {pair.sink}', len(manager.all('INPUT_RECOVERED', pair.sink)), closings)
    counters = ' '.join(f'{name}={value}' for name, value in expected(manager, pairs).items())
    last = (manager.texts('STATS') or ['fault tolerance stats none'])[-1]
    check('counters', last, f'fault tolerance stats {counters}')
    check('warnings', manager.texts('WARNING'), [])
    check('restarts that did not take place', manager.texts('RESTART_CANCELLED') + manager.texts('GAVE_UP'), [])
    check('numbers of events', [e['seq'] for e in manager.events], list(range(1, len(manager.events) + 1)))
    check('final states', set(manager.states().values()) if manager.outcome else None, {'stopped'})
    return found


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(f'{text}\n')
    sys.stdout.flush()


def replaced(manager: Run, guardian: int) -> None:
    """Wait until the manager has another guardian."""
    eventually(lambda: guardian_of(manager.process.pid) != guardian, PATIENCE, 'another guardian')


def kill_guardians(manager: Run, seed: int, over: threading.Event) -> None:
    """Kill the guardian now and then; it has to be replaced."""
    chance = random.Random(f'{seed}/guardian')
    while not over.wait(chance.uniform(5.0, 15.0)):
        pid = guardian_of(manager.process.pid)
        os.kill(pid, signal.SIGKILL)
        replaced(manager, pid)


def soak(folder: Path, seconds: float, seed: int) -> list[str]:
    """Run it and return what is wrong."""
    flow = build(folder)
    manager = Run(flow, env={'ROS_LOG_DIR': str(folder / 'log')})
    try:
        manager.event('DATAFLOW_RUNNING', timeout=120.0)
        for number in range(PAIRS):
            wait_for_mark(flow, f'sink{number}', 'fed', PATIENCE)
        before = resources(manager.process.pid)
        run_id = manager.run_id
        processes = len(left(run_id))
        pairs = [Pair(number, flow, manager, seed) for number in range(PAIRS)]
        over = threading.Event()
        threads = [threading.Thread(target=pair.run, args=(time.monotonic() + seconds,)) for pair in pairs]
        killer = threading.Thread(target=kill_guardians, args=(manager, seed, over))
        for thread in (*threads, killer):
            thread.start()
        for thread in threads:
            thread.join()
        over.set()
        killer.join()
        time.sleep(6.0)  # a sweep of the counters
        after = resources(manager.process.pid)
        allowed = {'threads': before['threads'] + POOL, 'descriptors': before['descriptors']}
        found = [
            f'{what} of the manager: {after[what]}, not {most} at most'
            for what, most in allowed.items()
            if after[what] > most
        ]
        if len(left(run_id)) != processes:
            found.append(f'processes: {len(left(run_id))}, not {processes}')
        guardian = guardian_of(manager.process.pid)
        code = manager.interrupt()
        if code != 130:
            found.append(f'exit code: {code}, not 130')
        found += problems(manager, pairs)
        if left(run_id) or is_alive(guardian):
            found.append(f'processes left: {left(run_id)}')
        segments = set().union(*(pair.segments for pair in pairs))
        segments = {path for path in segments if Path(path).exists() and 'port' not in path}
        if segments:
            found.append(f'shared memory left: {sorted(segments)}')
        if found:
            sys.stderr.write(manager.report('the whole run:') + '\n')
        done = sum((pair.done for pair in pairs), collections.Counter())
        late = sum(times for what, times in done.items() if what.startswith('late'))
        say(
            f'done: {sum(done.values()) - late} things, {late} restarts were late; counters: {expected(manager, pairs)}'
        )
        say(f'manager: {before} at the start, {after} at the end')
    finally:
        manager.kill()
    return found


def main() -> int:
    """Run the soak test and return its exit code."""
    parser = argparse.ArgumentParser(prog='soak', description='Random kills, hangs and silences of twelve nodes.')
    seconds = float(os.environ.get('SOAK_SECONDS', '600'))
    seed = int(os.environ.get('SOAK_SEED', '0')) or random.SystemRandom().randrange(1, 10**6)
    parser.add_argument('--seconds', type=float, default=seconds, help='how long (default: 600, or SOAK_SECONDS)')
    parser.add_argument('--seed', type=int, default=seed, help='of the generator (default: random, or SOAK_SEED)')
    arguments = parser.parse_args()
    say(f'seed {arguments.seed}, {arguments.seconds:g} s')
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    domains = domain_range(os.environ.get('ADORA_TEST_DOMAINS'))
    with ros_domain_lease(domains) as domain, tempfile.TemporaryDirectory() as folder:
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        found = soak(Path(folder), arguments.seconds, arguments.seed)
    say('\n'.join(f'wrong: {text}' for text in found) or 'ok')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
