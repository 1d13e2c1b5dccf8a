"""The parts of a warm process, without one."""

from __future__ import annotations

import subprocess
import sys

from adora_ros.warm.block import fitting
from adora_ros.warm.environment import common_environment, differences
from adora_ros.warm.request import Request

THREADED = """
import socket
import threading

from adora_ros.warm.request import Request
from adora_ros.warm.server import Server

request = Request(argv=('python', '/nowhere/script.py'), env={}, cwd='/', descriptors=(), limits={})
server = Server(socket.socketpair()[0])
server.note_state()
print(server.reason_for_cold(request) or 'none')
threading.Thread(target=threading.Event().wait, daemon=True).start()
print(server.reason_for_cold(request))
"""


def test_the_shortest_variables_have_the_first_place() -> None:
    env = {'LONG': 'x' * 50, 'A': '1', 'MARK': 'run'}
    assert fitting(env, 100) == b'A=1\0MARK=run\0LONG=' + b'x' * 50 + b'\0'
    assert fitting(env, 20) == b'A=1\0MARK=run\0'
    assert fitting({}, 0) == b''


def test_only_what_is_read_early_has_to_be_the_same() -> None:
    warm = {'PATH': '/bin', 'PYTHONPATH': '/a', 'LANG': 'C'}
    assert differences({'PATH': '/usr/bin', 'PYTHONPATH': '/a', 'LANG': 'C', 'ROS_DOMAIN_ID': '3'}, warm) == []
    assert differences({'PYTHONPATH': '/b', 'OMP_NUM_THREADS': '2'}, warm) == ['LANG', 'OMP_NUM_THREADS', 'PYTHONPATH']


def test_the_user_s_number_of_threads_counts_and_buffering_does_not() -> None:
    assert common_environment({'OPENBLAS_NUM_THREADS': '4', 'PYTHONUNBUFFERED': ''}) == {
        'OPENBLAS_NUM_THREADS': '4',
        'PYTHONUNBUFFERED': '1',
    }


def test_a_request_survives_the_way() -> None:
    request = Request(
        argv=('python', 'ü \udcff.py'),
        env={'A': '\udcfe'},
        cwd='/',
        descriptors=(7, 8),
        limits={'RLIMIT_CORE': (0, -1)},
    )
    assert Request.from_packet(request.to_packet()) == request


def test_nothing_is_forked_once_there_are_threads_that_were_not_there_after_loading() -> None:
    # In a process of its own: this one has the threads of whatever was tested before.
    found = subprocess.run([sys.executable, '-c', THREADED], check=True, capture_output=True, text=True)
    before, after = found.stdout.splitlines()
    assert before == 'none'
    assert after.startswith('the warm process has other threads than after loading: ')
