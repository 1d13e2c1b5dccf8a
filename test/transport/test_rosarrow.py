"""ROS messages as Arrow values and back."""

from __future__ import annotations

import array
import datetime as dt
import importlib
import inspect
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseArray, PoseWithCovariance, TwistStamped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractSequence,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)
from sensor_msgs.msg import BatteryState, Image, Imu, JointState, PointCloud2, PointField
from std_msgs.msg import Bool, Byte, ByteMultiArray, Char, Empty, Float32, Int8, String, UInt8MultiArray

from adora_ros.errors import TransportError
from adora_ros.transport.codec import decode, encode
from adora_ros.transport.metadata import Stamp
from adora_ros.transport.rosarrow import SHARED_FROM, arrow_type, from_arrow, to_arrow

PACKAGES = ('sensor_msgs', 'geometry_msgs', 'std_msgs', 'diagnostic_msgs')
CLASSES = [
    item
    for package in PACKAGES
    for _, item in sorted(vars(importlib.import_module(f'{package}.msg')).items())
    if inspect.isclass(item)
]
FAR = dt.datetime(2200, 1, 1, tzinfo=dt.timezone.utc)
NUMPY = {'float': 'f4', 'double': 'f8', 'char': 'u1'}


def _basic(name: str) -> st.SearchStrategy[Any]:
    if name == 'boolean':
        return st.booleans()
    if name == 'octet':
        return st.binary(min_size=1, max_size=1)
    if name in {'float', 'double'}:
        return st.floats(allow_nan=False, width=32 if name == 'float' else 64)
    kind = np.iinfo(NUMPY.get(name, name))
    return st.integers(int(kind.min), int(kind.max))


def _values(definition: Any) -> st.SearchStrategy[Any]:
    if isinstance(definition, BasicType):
        return _basic(definition.typename)
    if isinstance(definition, AbstractGenericString):
        size = min(getattr(definition, 'maximum_size', 5), 5)
        return st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=size)
    if isinstance(definition, NamespacedType):
        return messages(getattr(importlib.import_module('.'.join(definition.namespaces)), definition.name))
    items = _values(definition.value_type)
    if isinstance(definition, Array):
        return st.lists(items, min_size=definition.size, max_size=definition.size)
    assert isinstance(definition, AbstractSequence)
    limit = definition.maximum_size if isinstance(definition, BoundedSequence) else 3
    return st.lists(items, max_size=min(limit, 3))


def messages(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Return messages of a class with anything in their fields."""
    names = kind.get_fields_and_field_types()
    return st.fixed_dictionaries({name: _values(slot) for name, slot in zip(names, kind.SLOT_TYPES, strict=True)}).map(
        lambda fields: kind(**fields)
    )


@pytest.mark.parametrize('kind', CLASSES, ids=lambda kind: f'{kind.__module__.split(".")[0]}-{kind.__name__}')
@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_message_comes_back(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(messages(kind))
    value = to_arrow(message)
    value.validate(full=True)
    assert value.type == arrow_type(kind)
    assert len(value) == 1
    assert value.null_count == 0
    assert from_arrow(value, kind) == message
    assert from_arrow(value[0], kind) == message
    carried = decode(encode(value, None, stamp=Stamp(1))).value
    assert from_arrow(carried, kind) == message
    assert from_arrow(pa.concat_arrays([value, value]).slice(1, 1), kind) == message
    received = deserialize_message(serialize_message(from_arrow(value, kind)), kind)
    assert received == message


@settings(deadline=None, max_examples=30)
@given(st.lists(messages(PoseArray), min_size=2, max_size=4))
def test_several_messages_make_several_rows(given_messages: list[Any]) -> None:
    value = to_arrow(*given_messages)
    assert [from_arrow(value.slice(row, 1), PoseArray) for row in range(len(value))] == given_messages


@pytest.mark.parametrize('kind', [Imu, JointState, DiagnosticArray, PointCloud2, ByteMultiArray, BatteryState])
@settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_dict_of_the_fields_does_as_well(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(messages(kind))
    assert from_arrow(to_arrow(message).to_pylist()[0], kind) == message


def test_types_are_those_of_the_bridge_of_dora() -> None:
    fields = {name: arrow_type(PointField).field(name).type for name in ('name', 'offset', 'datatype', 'count')}
    assert fields == {'name': pa.string(), 'offset': pa.uint32(), 'datatype': pa.uint8(), 'count': pa.uint32()}
    assert arrow_type(Imu).field('orientation_covariance').type == pa.list_(pa.float64(), 9)
    assert arrow_type(JointState).field('position').type == pa.list_(pa.float64())
    assert arrow_type(JointState).field('name').type == pa.list_(pa.string())
    assert arrow_type(Image).field('data').type == pa.list_(pa.uint8())
    stamp = arrow_type(Imu).field('header').type.field('stamp').type
    assert stamp == pa.struct([('sec', pa.int32()), ('nanosec', pa.uint32())])
    assert [arrow_type(kind).field('data').type for kind in (Byte, Char, Bool, Float32)] == [
        pa.uint8(), pa.uint8(), pa.bool_(), pa.float32()
    ]  # fmt: skip


def test_a_message_without_fields_is_one_row() -> None:
    assert len(to_arrow(Empty())) == 1
    assert from_arrow(to_arrow(Empty()), Empty) == Empty()
    assert from_arrow({}, Empty) == Empty()


def test_a_large_sequence_is_not_copied_and_a_small_one_is() -> None:
    large, small = Image(data=array.array('B', bytes(SHARED_FROM))), Image(data=array.array('B', bytes(8)))
    values = [to_arrow(message) for message in (large, small)]
    large.data[0] = small.data[0] = 7
    assert [value.field('data')[0][0].as_py() for value in values] == [7, 0]
    small.data.append(1)


def test_what_is_missing_or_null_keeps_its_default() -> None:
    assert from_arrow({}, TwistStamped) == TwistStamped()
    value = pa.array([{'twist': {'linear': {'x': 2.0, 'y': None}, 'angular': None}, 'header': None}])
    message = from_arrow(value, TwistStamped)
    expected = TwistStamped()
    expected.twist.linear.x = 2.0
    assert message == expected
    assert from_arrow(pa.array([None], arrow_type(Imu)), Imu) == Imu()
    assert from_arrow({'position': [1, None]}, JointState).position.tolist() == [1.0, 0.0]
    assert from_arrow({'name': ['a', None]}, JointState).name == ['a', '']
    assert from_arrow({'status': [None]}, DiagnosticArray).status == [DiagnosticStatus()]


@pytest.mark.parametrize(
    'data',
    [
        b'\1\2\3',
        np.array([1, 2, 3], 'u1'),
        [1, 2, 3],
        pa.scalar(b'\1\2\3', pa.large_binary()),
        pa.scalar(b'\1\2\3', pa.binary(3)),
        pa.scalar([1, 2, 3], pa.list_(pa.int64())),
        pa.scalar([1, 2, 3], pa.large_list(pa.uint8())),
    ],
    ids=['bytes', 'numpy', 'list', 'large binary', 'fixed binary', 'int64', 'large list'],
)
def test_bytes_and_lists_become_a_sequence_of_uint8(data: Any) -> None:
    value = (
        pa.StructArray.from_arrays([pa.array([data.as_py()], data.type)], ['data'])
        if isinstance(data, pa.Scalar)
        else {'data': data}
    )
    message = from_arrow(value, UInt8MultiArray)
    assert message.data == array.array('B', [1, 2, 3])
    assert from_arrow(pa.array([{'data': b'x'}, {'data': b'\1\2\3'}]).slice(1), ByteMultiArray).data == [
        b'\1',
        b'\2',
        b'\3',
    ]


def test_texts_of_any_encoding() -> None:
    for column in (pa.array(['hé'], pa.large_string()), pa.array(['hé']).dictionary_encode()):
        assert from_arrow(pa.StructArray.from_arrays([column], ['data']), String).data == 'hé'


@pytest.mark.parametrize('sec', [0, 1_700_000_000, -5])
def test_timestamps_and_durations_become_messages(sec: int) -> None:
    moment = pa.array([sec * 10**9 + 123], pa.timestamp('ns', 'UTC'))
    assert from_arrow(pa.StructArray.from_arrays([moment], ['stamp']), _header()) == _header()(
        stamp=Time(sec=sec, nanosec=123)
    )
    aware = dt.datetime.fromtimestamp(sec, dt.timezone.utc)
    assert from_arrow({'header': {'stamp': aware}}, Imu).header.stamp == Time(sec=sec)


def _header() -> type[Any]:
    return importlib.import_module('std_msgs.msg').Header  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ('value', 'kind', 'text'),
    [
        ({'heder': {}}, Imu, 'sensor_msgs/msg/Imu has no field `heder`; did you mean `header`?'),
        ({'pose': {'position': {'q': 1}}}, PoseWithCovariance, 'geometry_msgs/msg/Point has no field `pose.'),
        ({'orientation': {'x': 'a'}}, Imu, 'field `orientation.x` is double, not string'),
        ({'orientation': 1}, Imu, 'field `orientation` is a struct, not int64'),
        ({'orientation_covariance': [1.0, 2.0]}, Imu, 'field `orientation_covariance` takes exactly 9 elements, not 2'),
        ({'position': 1.0}, JointState, 'field `position` is a list, not double'),
        ({'position': ['a']}, JointState, 'field `position[]` is double, not string'),
        ({'name': 'a'}, JointState, 'field `name` is a list, not string'),
        ({'data': 5}, String, 'field `data` is string, not int64'),
        ({'data': 'x'}, Bool, 'field `data` is bool, not string'),
        ({'data': 1}, Bool, 'field `data` is bool, not int64'),
        ({'data': True}, Int8, 'field `data` is int8, not bool'),
        ({'data': 200}, Int8, 'field `data` is int8: Integer value 200 not in range: -128 to 127'),
        ({'data': 1.5}, Int8, 'field `data` is int8: Float value 1.5'),
        ({'status': [{'values': [{'key': 1}]}]}, DiagnosticArray, 'field `status[].values[].key` is string, not int64'),
        ({'floating_point_range': [{}, {}]}, ParameterDescriptor, 'field `floating_point_range` takes 1 elements'),
        ({'header': {'stamp': FAR}}, Imu, 'field `header.stamp`: 7258118400 s do not fit'),
        ({'data': object()}, String, 'cannot make a std_msgs/msg/String of the dict: '),
        (pa.array([{'data': 'a'}, {'data': 'b'}]), String, 'a std_msgs/msg/String is a struct array of one row, not'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(value: Any, kind: type[Any], text: str) -> None:
    with pytest.raises(TransportError) as caught:
        from_arrow(value, kind)
    assert str(caught.value).startswith(text)


def test_a_record_batch_is_a_message() -> None:
    batch = pa.RecordBatch.from_pydict({'key': ['a'], 'value': ['b']})
    assert from_arrow(batch, KeyValue) == KeyValue(key='a', value='b')
