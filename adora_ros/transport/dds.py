"""Fast DDS under a supervisor that kills.

A participant that is killed while others share memory with it can block their ``publish()``, starve its own successor
for seconds and leave its segment behind. The profile made here lets the data of a dataflow travel over UDP, makes
participants announce themselves as often as their number allows, and lets a dead one be forgotten after 5 s. Writers
ask often (instead of every 3 s) for what has not been acknowledged, so that a node which ends soon knows that its last
messages have arrived. Participants do not look up the structure of each other's types, which nothing in
ROS 2 asks for: each asks each other one, and 50 of them keep two cores busy for good with that alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError
from adora_ros.transport.rundir import dataflow_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILE_VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
"""Kilted and newer read the first and complain about the second, which is the one that Jazzy reads."""
HEARTBEATS = ('heartbeat_period', 'heartbeatPeriod')
"""The same element in Fast DDS 3 and 2, of which each rejects a whole profile that has the other."""
SUPPRESSIONS = ('nack_supression_duration', 'nackSupressionDuration')
"""The same, spelt as Fast DDS does. For this time after a message, requests to send it again are not listened to. With
the default of none, a thread of Fast DDS wakes up for every message while it is still being sent, to end that time, and
contends with the sender. With 5 ms it does so 200 times a second at most."""
HEARTBEAT = 0.025
"""Seconds between two questions of a writer on one host. A request that came too early is repeated after the next one,
so that what was lost is sent again no later, at worst, than without a time in which requests are not listened to."""
REMOTE_HEARTBEAT = 0.1
"""The same where the answer may have to come over a network."""
FIRST_FASTDDS_RCLPY = 8
"""Major version of rclpy from which on it is Fast DDS 3, which reads the first variable and knows the first element."""
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_OTHER_DISCOVERY = (*PROFILE_VARIABLES, 'ROS_DISCOVERY_SERVER', 'ROS_STATIC_PEERS')
ANNOUNCEMENTS = 40
"""Announcements a second that all processes of a dataflow make together: each costs every other one some time."""
ANNOUNCEMENT_LIMITS = (0.5, 1.0)
"""Shortest and longest time in seconds between two announcements of one process. A process that is started again does
not hear the answers to its own first announcement, and has to wait for the next one of each other. Each one, though,
is an opportunity for Fast DDS to lock up: see :mod:`adora_ros.transport.leaving`."""
INTRODUCED_ANNOUNCEMENT = 2.0
"""The longest time for those that a reception introduces, which need not wait for it."""
PEER_MARGIN = 12
"""Participants beside the nodes and the manager that still find everybody: tools, bags, other dataflows."""
MAX_PARTICIPANTS = 120
"""Processes of a host that have ports before those of the next ROS domain, whose processes Fast DDS 2 would take for
its own."""
ALL_PARTICIPANTS = MAX_PARTICIPANTS - PEER_MARGIN
"""Processes on a host that a tool is to find, where they have to be looked for one by one."""
_PORT_BASE, _PORTS = 7400, 250
"""Where the ports of domain 0 begin, and how many each domain has."""
UDP_SOCKETS = Path('/proc/net/udp')
SHM = Path('/dev/shm')  # noqa: S108 - Fast DDS fixes this folder
_SEGMENT_LOCK = re.compile(r'fast(?:dds|rtps)_[0-9a-f]{16}_el')
"""Fast DDS 3 and 2 name them apart."""

_PROFILE = """<?xml version="1.0" encoding="UTF-8" ?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <transport_descriptors><transport_descriptor>
    <transport_id>adora_udp</transport_id><type>UDPv4</type>
    <sendBufferSize>4194304</sendBufferSize><receiveBufferSize>4194304</receiveBufferSize>
    <maxInitialPeersRange>{peers}</maxInitialPeersRange>
    {whitelist}
  </transport_descriptor></transport_descriptors>
  <participant profile_name="adora_participant" is_default_profile="true"><rtps>
    <userTransports><transport_id>adora_udp</transport_id></userTransports>
    <useBuiltinTransports>false</useBuiltinTransports>
    {locators}
    <builtin>{discovery_locators}<discovery_config>
      <leaseDuration><sec>5</sec></leaseDuration>
      <leaseAnnouncement><sec>{announce_sec}</sec><nanosec>{announce_nanosec}</nanosec></leaseAnnouncement>
      {first_announcements}
    </discovery_config></builtin>
    <propertiesPolicy><properties>
      <property><name>fastdds.type_propagation</name><value>disabled</value></property>
    </properties></propertiesPolicy>
  </rtps></participant>
  <data_writer profile_name="adora_writer" is_default_profile="true">
    <times>
      <{heartbeat}><sec>0</sec><nanosec>{heartbeat_nanosec}</nanosec></{heartbeat}>
      <{suppression}><sec>0</sec><nanosec>5000000</nanosec></{suppression}>
    </times>
  </data_writer>
</profiles></dds>
"""


_LOOPBACK_WHITELIST = '<interfaceWhiteList><address>127.0.0.1</address></interfaceWhiteList>'
_LOOPBACK = '<locator><udpv4><address>127.0.0.1</address></udpv4></locator>'
_LOOPBACK_PORT = '<locator><udpv4><port>{port}</port><address>127.0.0.1</address></udpv4></locator>'
_LOOPBACK_LOCATORS = f'<defaultUnicastLocatorList>{_LOOPBACK}</defaultUnicastLocatorList>'
_LOOPBACK_DISCOVERY = (
    f'<metatrafficUnicastLocatorList>{_LOOPBACK}</metatrafficUnicastLocatorList>'
    '<initialPeersList>{peers}</initialPeersList>'
)
_FIRST_ANNOUNCEMENTS = (
    '<initialAnnouncements><count>3</count><period><sec>0</sec><nanosec>5000000</nanosec></period>'
    '</initialAnnouncements>'
)


def wants_profile(env: Mapping[str, str]) -> bool:
    """Return whether the generated profile is to be used.

    It never replaces a choice of the user's: another middleware, profile, discovery server, list of peers or no
    discovery at all.
    """
    return (
        env.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp') == 'rmw_fastrtps_cpp'
        and _discovery_range(env) in {'LOCALHOST', 'SUBNET'}
        and not any(env.get(name) for name in _OTHER_DISCOVERY)
    )


def _discovery_range(env: Mapping[str, str]) -> str:
    if env.get('ROS_LOCALHOST_ONLY') == '1':
        return 'LOCALHOST'
    return env.get(RANGE, '').upper() or 'SUBNET'


def is_loopback_only(env: Mapping[str, str]) -> bool:
    """Return whether discovery is limited to this host."""
    return _discovery_range(env) == 'LOCALHOST'


def profile(participants: int, *, loopback: bool, reception: int | None = None, is_guest: bool = False) -> str:
    """Return the Fast DDS profile for a dataflow.

    On the loopback interface a participant finds others by trying their well-known ports one by one, and stops at
    ``maxInitialPeersRange``: who starts later than that is never found. A guest tries none, and leaves it to the
    reception to introduce it.

    Args:
        participants: Number of processes, the manager included.
        loopback: Whether discovery is limited to this host; else stock tools on other hosts see the dataflow, too.
        reception: Port of an :class:`adora_ros.manager.reception.Reception` that is told of the participant.
        is_guest: Whether nobody else is.

    """
    shortest, longest = ANNOUNCEMENT_LIMITS
    if reception is not None:
        longest = INTRODUCED_ANNOUNCEMENT
    announce = min(max(participants / ANNOUNCEMENTS, shortest), longest)
    peers = ('' if is_guest else _LOOPBACK) + ('' if reception is None else _LOOPBACK_PORT.format(port=reception))
    return _PROFILE.format(
        peers=_peers_range(participants),
        heartbeat_nanosec=round((HEARTBEAT if loopback else REMOTE_HEARTBEAT) * 1e9),
        heartbeat=_of_this_version(HEARTBEATS),
        suppression=_of_this_version(SUPPRESSIONS),
        announce_sec=int(announce),
        announce_nanosec=round(announce % 1 * 1e9),
        whitelist=_LOOPBACK_WHITELIST if loopback else '',
        locators=_LOOPBACK_LOCATORS if loopback else '',
        discovery_locators=_LOOPBACK_DISCOVERY.format(peers=peers) if loopback else '',
        first_announcements=_FIRST_ANNOUNCEMENTS if is_guest else '',
    )


def _peers_range(participants: int) -> int:
    return max(32, participants + PEER_MARGIN)


def domain_of(port: int) -> int:
    """Return the domain that one of :func:`discovery_ports` belongs to."""
    return (port - _PORT_BASE) // _PORTS


def discovery_ports(participants: int, domain: int) -> range:
    """Return the ports at which the participants of a domain listen for others: see the RTPS specification, 9.6.2."""
    first = _PORT_BASE + _PORTS * domain + 10
    return range(first, first + 2 * min(_peers_range(participants), MAX_PARTICIPANTS), 2)


def udp_ports() -> set[int]:
    """Return the ports of all UDP sockets of this network namespace; all that there are if the kernel does not tell."""
    try:
        lines = UDP_SOCKETS.read_text(encoding='ascii').splitlines()[1:]
    except OSError:
        return set(range(1 << 16))
    return {int(line.split(maxsplit=2)[1].rpartition(':')[2], 16) for line in lines}


def write_profile(
    folder: Path, participants: int, env: Mapping[str, str], *, reception: int | None = None, is_guest: bool = False
) -> dict[str, str]:
    """Write the profile into ``folder`` and return the environment that selects it.

    On the loopback interface the profile says everything, and ROS is kept from adding its own transports: with them
    each datagram would be sent twice.

    Args:
        folder: Where to.
        participants: See :func:`profile`, like the rest.
        env: The environment that decides about the range.
        reception: A port.
        is_guest: Whether the process is a guest.

    Raises:
        OSError: the file cannot be written.

    """
    loopback = is_loopback_only(env)
    kind = 'guest' if is_guest else 'loopback' if loopback else 'subnet'
    file = folder / f'fastdds_{kind}_{participants}.xml'
    # In one piece: others may be reading it, and who finds half of it does without.
    part = file.with_name(f'.{file.name}.{os.getpid()}')
    try:
        part.write_text(
            profile(participants, loopback=loopback, reception=reception, is_guest=is_guest), encoding='utf-8'
        )
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    selection = {_of_this_version(PROFILE_VARIABLES): str(file)}
    return {**selection, RANGE: 'SYSTEM_DEFAULT'} if loopback else selection


def environment_for_all(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a process that is to find those of all dataflows; none where the user has chosen.

    Args:
        name: The profile is written into the folder of a dataflow of this name.
        env: The environment.

    Raises:
        ManagerError: the profile cannot be written.

    """
    if not wants_profile(env):
        return {}
    folder = dataflow_folder(name)
    try:
        return write_profile(folder, ALL_PARTICIPANTS, env)
    except OSError as error:
        msg = f'{error.filename}: {error.strerror}; set ROS_LOG_DIR to a folder that can be written'
        raise ManagerError(msg) from error


def _of_this_version(names: tuple[str, str]) -> str:
    """Return the name that is right for the Fast DDS of this machine, of those for version 3 and for version 2."""
    major = int(importlib.metadata.version('rclpy').split('.')[0])
    return names[0 if major >= FIRST_FASTDDS_RCLPY else 1]


def clean_segments(folder: Path = SHM, *, min_age: float = 5.0) -> int:
    """Remove the shared-memory segments of dead Fast DDS participants; return how many there were.

    A killed participant leaves its segment and the lock file beside it. Whoever can take that lock knows its owner
    dead, which is the rule of ``fastdds shm clean``. Files younger than ``min_age`` seconds are left alone: their
    owner may be between creating and locking them.
    """
    locks = dead_segments(folder, min_age=min_age)
    for lock in locks:
        remove_segment(lock)
    return len(locks)


def dead_segments(folder: Path = SHM, *, min_age: float = 5.0) -> list[Path]:
    """Return the lock files of the segments that :func:`clean_segments` removes."""
    locks = [folder / name for name in _listing(folder) if _SEGMENT_LOCK.fullmatch(name)]
    return [lock for lock in locks if _owner_is_dead(lock, min_age)]


def own_segments() -> list[Path]:
    """Return the segments of the participants of this process, and the lock files that it holds beside them."""
    folder = Path('/proc/self/fd')
    found = []
    for name in _listing(folder):
        with contextlib.suppress(OSError):  # the one that the listing had open
            found.append((folder / name).readlink())
    return [file for lock in found if _SEGMENT_LOCK.fullmatch(lock.name) for file in _segment_files(lock)]


def remove_segment(lock: Path) -> None:
    """Remove a segment and its lock file."""
    for path in _segment_files(lock):
        with contextlib.suppress(OSError):
            path.unlink()


def _segment_files(lock: Path) -> tuple[Path, Path]:
    return lock.with_name(lock.name.removesuffix('_el')), lock


def _listing(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _owner_is_dead(lock: Path, min_age: float) -> bool:
    try:
        if time.time() - lock.stat().st_mtime < min_age:
            return False
        with lock.open('ab') as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
