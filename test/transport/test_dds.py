"""The Fast DDS profile, and what dead participants leave behind."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from adora_ros.transport import dds

SPACE = '{http://www.eprosima.com}'
PARTICIPANT = """
import pathlib, rclpy
rclpy.init()
node = rclpy.create_node('participant')
for file in pathlib.Path('/proc/self/task').glob('*/comm'):
    print(file.read_text(), end='')
node.destroy_node()
rclpy.shutdown()
"""
HOLDER = 'import fcntl, sys; f = open(sys.argv[1], "ab"); fcntl.flock(f, 2); print("up", flush=True); sys.stdin.read()'


@pytest.mark.parametrize(
    ('env', 'wanted'),
    [
        ({}, True),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}, True),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}, True),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'localhost'}, True),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': ''}, True),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, False),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT'}, False),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', 'ROS_LOCALHOST_ONLY': '1'}, True),
        ({'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp'}, True),
        ({'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, False),
        ({'RMW_IMPLEMENTATION': 'rmw_zenoh_cpp'}, False),
        ({'FASTDDS_DEFAULT_PROFILES_FILE': '/mine.xml'}, False),
        ({'FASTRTPS_DEFAULT_PROFILES_FILE': '/mine.xml'}, False),
        ({'ROS_DISCOVERY_SERVER': '10.0.0.1'}, False),
        ({'ROS_STATIC_PEERS': '10.0.0.1'}, False),
        ({'ROS_STATIC_PEERS': ''}, True),
    ],
)
def test_the_profile_replaces_no_choice_of_the_user(env: dict[str, str], wanted: bool) -> None:  # noqa: FBT001
    assert dds.wants_profile(env) is wanted


def value(profile: str, *path: str) -> str | None:
    root = ET.fromstring(profile)  # noqa: S314 - our own text
    return root.findtext('.//' + '/'.join(SPACE + name for name in path))


@pytest.mark.parametrize(
    ('participants', 'peers', 'announcement'),
    [(1, '32', ('0', '500000000')), (10, '32', ('0', '500000000')), (20, '32', ('0', '500000000')),
     (25, '37', ('0', '625000000')), (40, '52', ('1', '0')), (200, '212', ('1', '0'))],
)  # fmt: skip
def test_everybody_finds_everybody(participants: int, peers: str, announcement: tuple[str, str]) -> None:
    profile = dds.profile(participants, loopback=True)
    assert value(profile, 'maxInitialPeersRange') == peers
    found = (value(profile, 'leaseAnnouncement', 'sec'), value(profile, 'leaseAnnouncement', 'nanosec'))
    assert found == announcement
    assert value(profile, 'leaseDuration', 'sec') == '5'


def test_who_is_introduced_announces_itself_less_often() -> None:
    profile = dds.profile(200, loopback=True, reception=4711, is_guest=True)
    assert value(profile, 'leaseAnnouncement', 'sec') == '2'


def test_the_kernel_tells_at_which_ports_somebody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as somebody:
        somebody.bind(('127.0.0.1', 0))
        port = somebody.getsockname()[1]
        assert port in dds.udp_ports()
    assert port not in dds.udp_ports()
    monkeypatch.setattr(dds, 'UDP_SOCKETS', tmp_path / 'none')
    assert port in dds.udp_ports()


def test_who_looks_for_all_of_a_domain_does_not_look_into_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path))
    (file,) = dds.environment_for_all('adora', {}).values()
    peers = int(value(Path(file).read_text(encoding='utf-8'), 'maxInitialPeersRange') or 0)
    # https://docs.ros.org/en/kilted/Concepts/Intermediate/About-Domain-ID.html
    assert peers == (250 - 10) // 2


def test_participants_do_not_look_up_types() -> None:
    profile = dds.profile(2, loopback=True)
    assert value(profile, 'property', 'name') == 'fastdds.type_propagation'
    assert value(profile, 'property', 'value') == 'disabled'


def test_fast_dds_takes_the_profile(tmp_path: Path) -> None:
    env = dds.write_profile(tmp_path, 3, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
    made = subprocess.run(
        [sys.executable, '-c', PARTICIPANT], env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    assert made.stderr == ''
    assert 'dds.udp' in made.stdout
    assert not re.search(r'dds\.shm\.\d', made.stdout)


def test_the_profile_for_this_host_is_bound_to_it() -> None:
    profile = dds.profile(3, loopback=True)
    assert value(profile, 'interfaceWhiteList', 'address') == '127.0.0.1'
    assert value(profile, 'defaultUnicastLocatorList', 'locator', 'udpv4', 'address') == '127.0.0.1'
    assert value(profile, 'useBuiltinTransports') == 'false'


def test_a_guest_tells_nobody_but_the_reception() -> None:
    guest = dds.profile(3, loopback=True, reception=4711, is_guest=True)
    assert locators(guest, 'initialPeersList') == [('127.0.0.1', '4711')]
    host = dds.profile(3, loopback=True, reception=4711)
    assert locators(host, 'initialPeersList') == [('127.0.0.1', None), ('127.0.0.1', '4711')]
    assert locators(dds.profile(3, loopback=True), 'initialPeersList') == [('127.0.0.1', None)]


def locators(profile: str, name: str) -> list[tuple[str | None, str | None]]:
    found = ET.fromstring(profile).find(f'.//{SPACE}{name}')  # noqa: S314 - our own text
    assert found is not None
    return [(one.findtext(f'.//{SPACE}address'), one.findtext(f'.//{SPACE}port')) for one in found]


def test_the_profile_for_the_network_is_not() -> None:
    assert '127.0.0.1' not in dds.profile(3, loopback=False)


def test_the_profile_is_written_where_fast_dds_looks(tmp_path: Path) -> None:
    env = dds.write_profile(tmp_path, 3, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
    assert env.pop('ROS_AUTOMATIC_DISCOVERY_RANGE') == 'SYSTEM_DEFAULT'
    ((name, file),) = env.items()
    assert name in dds.PROFILE_VARIABLES
    assert '127.0.0.1' in Path(file).read_text(encoding='utf-8')
    other = dds.write_profile(tmp_path, 3, {})
    assert other.keys() == env.keys()
    assert other != env


def test_who_reads_the_profile_while_it_is_written_again_reads_all_of_it(tmp_path: Path) -> None:
    (file,) = dds.write_profile(tmp_path, 3, {}).values()
    with Path(file).open(encoding='utf-8') as reading:
        beginning = reading.read(1)
        dds.write_profile(tmp_path, 3, {})
        assert os.fstat(reading.fileno()).st_ino != Path(file).stat().st_ino
        assert beginning + reading.read() == Path(file).read_text(encoding='utf-8')
    assert [each.name for each in tmp_path.iterdir()] == [Path(file).name]


def segment(folder: Path, number: int, *, age: float = 60.0) -> tuple[Path, Path]:
    name = f'{"fastrtps" if number == 1 else "fastdds"}_{number:016x}'  # Fast DDS 2 and 3
    files = (folder / name, folder / f'{name}_el')
    for file in files:
        file.touch()
        stamp = file.stat().st_mtime - age
        os.utime(file, (stamp, stamp))
    return files


def test_segments_of_the_dead_are_removed_and_those_of_the_living_are_kept(tmp_path: Path) -> None:
    dead, alive, killed = segment(tmp_path, 1), segment(tmp_path, 2), segment(tmp_path, 3)
    command = [sys.executable, '-I', '-S', '-c', HOLDER]
    streams = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE}
    with subprocess.Popen([*command, str(killed[1])], **streams) as holder:  # type: ignore[call-overload]
        assert holder.stdout.readline() == b'up\n'
        holder.kill()
    with subprocess.Popen([*command, str(alive[1])], **streams) as holder:  # type: ignore[call-overload]
        assert holder.stdout.readline() == b'up\n'
        assert dds.clean_segments(tmp_path) == 2
        assert all(file.exists() for file in alive)
        assert not any(file.exists() for file in (*dead, *killed))
        holder.kill()
    assert dds.clean_segments(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_segment_that_may_still_be_in_the_making_is_kept(tmp_path: Path) -> None:
    files = segment(tmp_path, 1, age=1.0)
    assert dds.clean_segments(tmp_path) == 0
    assert all(file.exists() for file in files)
    assert dds.clean_segments(tmp_path, min_age=0.5) == 1


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    names = ('fastdds_port7400', 'fastdds_port7400_el', 'sem.fastdds_port7400_mutex', 'fastdds_XYZ_el', 'somebody')
    for name in names:
        file = tmp_path / name
        file.touch()
        os.utime(file, (0, 0))
    assert dds.clean_segments(tmp_path) == 0
    assert {file.name for file in tmp_path.iterdir()} == set(names)


def test_a_lock_is_held_by_nobody_after_the_look(tmp_path: Path) -> None:
    _, lock = segment(tmp_path, 1, age=0.0)
    dds.clean_segments(tmp_path, min_age=100.0)
    with lock.open('ab') as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_folder_that_is_not_there_has_no_segments(tmp_path: Path) -> None:
    assert dds.clean_segments(tmp_path / 'none') == 0
