"""The claim on a name, and who holds one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from adora_ros.errors import ManagerError
from adora_ros.transport.claims import Claim, NameClaim, claims

HOLDER = """
import sys
from adora_ros.transport.claims import NameClaim
claim = NameClaim(sys.argv[1])
print('up', flush=True)
sys.stdin.read()
"""
NAME = '/flow/manager'


def test_a_name_is_refused_while_another_process_holds_it() -> None:
    command = [sys.executable, '-c', HOLDER, NAME]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b'up\n'
        text = rf'^/flow/manager is already running \(pid {holder.pid}\); stop it or choose another --name$'
        for _ in range(20):
            with pytest.raises(ManagerError, match=text):
                NameClaim(NAME)
        NameClaim('/other/manager').release()
        holder.kill()
        holder.wait()
        NameClaim(NAME).release()


def test_a_name_is_free_after_its_release() -> None:
    for _ in range(2):
        NameClaim(NAME).release()


def test_a_name_is_claimed_per_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = NameClaim(NAME)
    monkeypatch.setenv('ROS_DOMAIN_ID', '231')
    NameClaim(NAME).release()
    claim.release()


def test_a_name_may_be_as_long_as_ros_allows() -> None:
    long = '/' + 'n' * 200 + '/manager'
    claim = NameClaim(long)
    NameClaim(long[:-1]).release()
    with pytest.raises(ManagerError, match='already running'):
        NameClaim(long)
    claim.release()


def test_who_holds_a_name_is_known_on_the_host_and_in_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claims() == ()
    second, first = NameClaim('/b/manager'), NameClaim('/a/manager')
    assert claims() == (
        Claim(name='/a/manager', pid=os.getpid()),
        Claim(name='/b/manager', pid=os.getpid()),
    )
    with monkeypatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', '231')
        assert claims() == ()
    first.release()
    second.release()
    assert claims() == ()
