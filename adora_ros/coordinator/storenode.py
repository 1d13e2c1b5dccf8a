"""``/adora/store``: the services of a parameter server, answered from the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import (
    ListParametersResult,
    Parameter,
    ParameterDescriptor,
    ParameterEvent,
    ParameterType,
    ParameterValue,
    SetParametersResult,
)
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events, qos_profile_parameters

from adora_ros.coordinator.parameters import COMMON_FIELDS, FIELDS, Value, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.context import Context

    from adora_ros.coordinator.parameters import RecordParameters
    from adora_ros.coordinator.records import Record

    OnOwner = Callable[[Callable[[], Any]], Any]

MAX_EVENT_TEXT = 16 * 1024
"""Characters of a text that an event carries; a message above some 60 KB is cut into pieces on its way."""


class StoreNode(Node):
    """A node whose parameters are the records.

    The services have the names and types of any node's, so every parameter client works with it.
    """

    def __init__(self, *, context: Context, records: RecordParameters, on_owner: OnOwner) -> None:
        """Offer the services.

        Args:
            context: Where the node lives.
            records: What it answers from.
            on_owner: Calls a function on the thread that owns the records, and returns its result.

        """
        super().__init__('store', namespace='/adora', context=context, start_parameter_services=False)
        self._records = records
        self._on_owner = on_owner
        self._changes = self.create_publisher(ParameterEvent, '/parameter_events', qos_profile_parameter_events)
        for kind, name, answer in (
            (ListParameters, 'list_parameters', self._list),
            (GetParameters, 'get_parameters', self._get),
            (GetParameterTypes, 'get_parameter_types', self._get_types),
            (DescribeParameters, 'describe_parameters', self._describe),
            (SetParameters, 'set_parameters', self._set),
            (SetParametersAtomically, 'set_parameters_atomically', self._set_atomically),
        ):
            self.create_service(kind, f'~/{name}', answer, qos_profile=qos_profile_parameters)

    def publish_change(self, before: Record | None, after: Record | None) -> None:
        """Publish what a change of a record means for its parameters; for the thread that owns the records.

        Every node listens to these events, so texts that are too long for all of them are left out.
        """
        if not self._changes.get_subscription_count():
            return  # making an event takes longer than all else about a step
        event = ParameterEvent(node=self.get_fully_qualified_name())
        event.stamp = self.get_clock().now().to_msg()
        record = after if after is not None else before
        if record is None:
            return
        for field in (*FIELDS[type(record)], *COMMON_FIELDS):
            name = f'{record.KIND}.{record.key}.{field}'
            if after is None:
                event.deleted_parameters.append(Parameter(name=name))
                continue
            value = value_of(after, field)
            if isinstance(value, str) and len(value) > MAX_EVENT_TEXT:
                continue
            parameter = Parameter(name=name, value=to_message(value))
            if before is None:
                event.new_parameters.append(parameter)
            elif value != value_of(before, field):
                event.changed_parameters.append(parameter)
        try:
            self._changes.publish(event)
        except RuntimeError as error:
            self.get_logger().warning(f'/parameter_events: not published: {error}', throttle_duration_sec=5.0)

    def _list(self, request: Any, response: Any) -> Any:
        names, prefixes = self._on_owner(lambda: self._records.names(request.prefixes, request.depth))
        response.result = ListParametersResult(names=names, prefixes=prefixes)
        return response

    def _get(self, request: Any, response: Any) -> Any:
        values = self._values(request.names)
        response.values = [to_message(value) for value in values]
        return response

    def _get_types(self, request: Any, response: Any) -> Any:
        response.types = [to_message(value).type for value in self._values(request.names)]
        return response

    def _values(self, names: list[str]) -> list[Value | None]:
        values: list[Value | None] = self._on_owner(lambda: [self._records.get(name) for name in names])
        return values

    def _describe(self, request: Any, response: Any) -> Any:
        names = request.names
        found = self._on_owner(lambda: [(self._records.describe(name), self._records.get(name)) for name in names])
        for name, (description, value) in zip(names, found, strict=True):
            descriptor = ParameterDescriptor(name=name, type=to_message(value).type)
            if description is not None:
                descriptor.description = description.text
                descriptor.read_only = description.read_only
            response.descriptors.append(descriptor)
        return response

    def _set(self, request: Any, response: Any) -> Any:
        for parameter in request.parameters:
            response.results.append(self._answer([parameter], lambda values: self._records.set_one(*values[0])))
        return response

    def _set_atomically(self, request: Any, response: Any) -> Any:
        write = self._records.set_atomically
        response.result = self._answer(request.parameters, lambda values: write(dict(values)))
        return response

    def _answer(self, parameters: list[Any], write: Callable[[list[tuple[str, Value | None]]], str]) -> Any:
        try:
            values = [(parameter.name, from_message(parameter.value)) for parameter in parameters]
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        refusal, failure = self._on_owner(lambda: (write(values), self._records.failure))
        reason = refusal or (f'kept in memory only: {failure}' if failure else '')
        return SetParametersResult(successful=not refusal, reason=reason)


def to_message(value: Value | None) -> Any:
    """Return a value as ROS has it; None is one that is not set."""
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    if isinstance(value, int):
        return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value)
    if isinstance(value, tuple):
        return ParameterValue(type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=list(value))
    return ParameterValue(type=ParameterType.PARAMETER_NOT_SET)


def from_message(value: Any) -> Value | None:
    """Return a value that ROS sent; one that is not set is None.

    Raises:
        ValueError: no record has values of its type.

    """
    if value.type == ParameterType.PARAMETER_STRING:
        return str(value.string_value)
    if value.type == ParameterType.PARAMETER_INTEGER:
        return int(value.integer_value)
    if value.type == ParameterType.PARAMETER_STRING_ARRAY:
        return tuple(value.string_array_value)
    if value.type == ParameterType.PARAMETER_NOT_SET:
        return None
    msg = f'a value of type {value.type} is not a text, a whole number or a list of texts, as all values here are'
    raise ValueError(msg)
