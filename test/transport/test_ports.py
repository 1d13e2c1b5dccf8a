"""Ports: values to ROS messages and back."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import rclpy
from hypothesis import given
from hypothesis import strategies as st
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu
from std_msgs.msg import MultiArrayDimension, MultiArrayLayout, String, UInt8MultiArray

from adora_ros.errors import TransportError
from adora_ros.transport.codec import encode
from adora_ros.transport.metadata import Stamp
from adora_ros.transport.ports import ArrowPort, RosPort, message_class, open_port
from adora_ros.transport.qos import qos_profile
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rclpy.node import Node

STAMP = Stamp(1_700_000_000_123_456_789, 3, 42)
SENT = dt.datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=dt.timezone.utc)


@given(st.binary(max_size=300))
def test_arrow_port_serializes_as_rclpy_does(data: bytes) -> None:
    message = ArrowPort().to_message(data, {'n': 1}, STAMP)
    payload = encode(data, {'n': 1}, stamp=STAMP).to_pybytes()
    assert message == serialize_message(UInt8MultiArray(data=payload))
    assert deserialize_message(message, UInt8MultiArray).data.tobytes() == payload


@pytest.mark.parametrize(
    ('value', 'metadata', 'flushes'),
    [
        ([1], {'flush': True}, True),
        ([1], {'flush': False}, False),
        ([1], {'flush': 1}, False),
        (['"flush":true'], None, False),
        ([1], None, False),
    ],
)
def test_arrow_port_sees_which_message_is_to_drop_older_ones(
    value: list[Any],
    metadata: dict[str, Any] | None,
    flushes: bool,  # noqa: FBT001
) -> None:
    assert ArrowPort().flushes(ArrowPort().to_message(pa.array(value), metadata, STAMP)) is flushes
    assert not ArrowPort().flushes(b'"flush":true')
    assert not RosPort(String).flushes(serialize_message(String(data='"flush":true')))


@pytest.mark.parametrize('raw', [True, False])
def test_arrow_port_reads_serialized_and_other_messages(raw: bool) -> None:  # noqa: FBT001
    port = ArrowPort()
    serialized = port.to_message(pa.array([1, None]), {'n': 1}, STAMP)
    decoded = port.from_message(serialized if raw else deserialize_message(serialized, UInt8MultiArray))
    assert decoded.value.equals(pa.array([1, None]))
    assert decoded.metadata == {'timestamp': SENT, 'n': 1}
    assert (decoded.incarnation, decoded.seq) == (3, 42)


@pytest.mark.parametrize('label', ['', 'bytes'])
def test_arrow_port_reads_a_message_with_a_layout(label: str) -> None:
    dim = MultiArrayDimension(label=label, size=1, stride=1)
    payload = encode(pa.array([5]), None, stamp=STAMP).to_pybytes()
    message = UInt8MultiArray(layout=MultiArrayLayout(dim=[dim], data_offset=0), data=payload)
    assert ArrowPort().from_message(serialize_message(message)).value.to_pylist() == [5]


def test_arrow_port_reads_without_a_copy() -> None:
    raw = ArrowPort().to_message(pa.array(range(1000)), None, STAMP)
    whole = pa.py_buffer(raw)
    data = ArrowPort().from_message(raw).value.buffers()[1]
    assert whole.address <= data.address < whole.address + whole.size


@pytest.mark.parametrize(
    'raw',
    [
        b'',
        b'\x00',
        b'\x00\x01\x00\x00' + bytes(12),
        b'\x00\x01\x00\x00' + bytes(8) + b'\xff\xff\xff\x7f',
        b'\x00\x01\x00\x00' + bytes(8) + b'\x05\x00\x00\x00hello',
        b'\x00\x01\x00\x00\x06\x00\x00\x00hello\x00',
    ],
    ids=['empty', 'short', 'no data', 'length beyond the end', 'no Arrow', 'a String'],
)
def test_arrow_port_refuses_other_bytes(raw: bytes) -> None:
    with pytest.raises(TransportError):
        ArrowPort().from_message(raw)


def test_ros_port_carries_the_message_and_its_arrow_form() -> None:
    port = open_port('std_msgs/msg/String')
    message = String(data='hello')
    assert port.message_type is String
    assert port.to_message(message, {}, STAMP) is message
    assert port.to_message(message, {'timestamp': SENT}, STAMP) is message
    decoded = port.from_message(serialize_message(message), timestamp=STAMP.timestamp)
    assert decoded.message == message
    assert decoded.value.equals(pa.array([{'data': 'hello'}]))
    assert decoded.metadata == {'timestamp': SENT}
    assert (decoded.incarnation, decoded.seq) == (None, None)
    assert port.from_message(message).message is message
    assert port.from_message(message).metadata == {}


@pytest.mark.parametrize('value', [pa.array([{'data': 'hello'}]), {'data': 'hello'}], ids=['Arrow', 'dict'])
def test_ros_port_makes_the_message(value: Any) -> None:
    assert RosPort(String).to_message(value, None, STAMP) == String(data='hello')


def test_ros_port_warns_of_metadata_it_leaves_behind() -> None:
    with pytest.warns(RuntimeWarning, match='std_msgs/msg/String does not carry metadata, dropped: height, width'):
        RosPort(String).to_message(String(), {'width': 1, 'height': 2, 'timestamp': SENT}, STAMP)


@pytest.mark.parametrize('value', [pa.array([1]), b'x', 'x', Imu()], ids=lambda v: type(v).__name__)
def test_ros_port_refuses_another_type(value: Any) -> None:
    with pytest.raises(TransportError) as caught:
        RosPort(String).to_message(value, None, STAMP)
    assert str(caught.value) == (
        f'this output carries std_msgs/msg/String, not {type(value).__name__}: '
        'send a message of that type, a struct array or a dict of its fields, or remove `type` from the output'
    )


def test_ros_port_refuses_bytes_that_are_not_its_type() -> None:
    with pytest.raises(TransportError, match='a message of 2 bytes is not a sensor_msgs/msg/Imu'):
        RosPort(Imu).from_message(b'\x00\x01')


def test_open_port_without_a_type_is_arrow() -> None:
    assert isinstance(open_port(None), ArrowPort)
    assert open_port(None).message_type is UInt8MultiArray


@pytest.mark.parametrize('name', ['sensor_msgs/msg/Imu', 'sensor_msgs/Imu'])
def test_message_class(name: str) -> None:
    assert message_class(name) is Imu


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('sensor_msgs/msg/Imgae', r"did you mean 'sensor_msgs/msg/Image'\? sensor_msgs has no Imgae"),
        ('sensor_msgs/msg/imu', r"did you mean 'sensor_msgs/msg/Imu'\? sensor_msgs has no imu"),
        ('sensor_msgs/msg/Zzzzzzzz', r"'sensor_msgs/msg/Zzzzzzzz': sensor_msgs has no Zzzzzzzz"),
        ('sensor_mgs/msg/Imu', r"did you mean 'sensor_msgs/msg/Imu'\? cannot import sensor_mgs.msg"),
        ('zzzzzzzzzzzz/msg/Imu', r"'zzzzzzzzzzzz/msg/Imu': cannot import .* source the workspace or install"),
        ('Imu', 'not of the form package/msg/Name'),
        ('sensor_msgs/srv/Imu', 'not of the form package/msg/Name'),
        ('sensor_msgs/msg/', 'not of the form package/msg/Name'),
        ('sensor_msgs/msg/__name__', 'sensor_msgs has no __name__'),
        ('a/b/c/d', 'not of the form package/msg/Name'),
    ],
)
def test_message_class_that_is_not_there(name: str, text: str) -> None:
    with pytest.raises(TransportError, match=text):
        message_class(name)


@pytest.fixture
def node() -> Iterator[Node]:
    """Run a plain node."""
    rclpy.init()
    node = rclpy.create_node('ports')
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


def test_values_travel_over_a_topic(node: Node) -> None:
    values: list[Any] = [pa.array([1.5]), pa.array(['a', None] * 4000), b'x' * 60_000, pa.array([], pa.null())]
    port = open_port(None)
    received: list[bytes] = []
    qos = qos_profile(depth=len(values))
    node.create_subscription(port.message_type, 'value', received.append, qos, raw=True)
    publisher = node.create_publisher(port.message_type, 'value', qos)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    eventually(lambda: publisher.get_subscription_count() == 1)
    for seq, value in enumerate(values):
        publisher.publish(port.to_message(value, {'n': seq}, Stamp(STAMP.timestamp, 1, seq)))

    def all_received() -> bool:
        executor.spin_once(0.1)
        return len(received) >= len(values)

    eventually(all_received, 30.0)
    executor.shutdown()
    decoded = [port.from_message(raw) for raw in received]
    assert [d.seq for d in decoded] == list(range(len(values)))
    assert [d.metadata for d in decoded] == [{'timestamp': SENT, 'n': seq} for seq in range(len(values))]
    for got, value in zip(decoded, values, strict=True):
        expected = value if isinstance(value, pa.Array) else pa.array(list(value), pa.uint8())
        assert got.value.equals(expected)
