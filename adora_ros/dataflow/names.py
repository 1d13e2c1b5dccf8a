"""Names that ROS 2 accepts.

The rules are those of ``rmw_validate_node_name`` and ``rmw_validate_full_topic_name``: tokens of ASCII letters, digits
and underscores that do not begin with a digit, joined by single slashes, at most 247 characters for a topic.
"""

from __future__ import annotations

import re

TOPIC_LIMIT = 247
NODE_NAME_LIMIT = 255
LOGS = '_logs'
"""Below a node, where the log lines that its inputs ask for are published; the underscore hides it from listings."""

_FORBIDDEN = re.compile(r'[^A-Za-z0-9_]')
_TOKEN = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_TYPE = re.compile(r'([a-z][a-z0-9_]*)/(?:msg/)?([A-Z][A-Za-z0-9]*)')


def ros_name(text: str) -> str:
    """Return ``text`` as one ROS name: each forbidden character becomes ``_``, a leading digit gets one before it."""
    name = _FORBIDDEN.sub('_', text)
    return f'_{name}' if not name or name[0].isdigit() else name


def manager_name(machine: str) -> str:
    """Return the name of the node of a manager: of a machine's, or with an empty name of the only one."""
    return f'manager_{ros_name(machine)}' if machine else 'manager'


def dataflow_namespace(outer: str, name: str) -> str:
    """Return the namespace of a dataflow.

    Args:
        outer: The namespace above it, with or without its leading slash; empty or ``/`` for none.
        name: ROS-safe name of the dataflow.

    Raises:
        ValueError: ROS 2 does not accept ``outer``; the text says why.

    """
    inside = outer.removeprefix('/')
    namespace = f'/{inside}/{name}' if inside else f'/{name}'
    check_absolute(namespace)
    return namespace


def output_topic(namespace: str, node_name: str, output_id: str) -> str:
    """Return the topic of an output whose YAML names none; a ``/`` in the output's id stays one."""
    tail = '/'.join(ros_name(part) for part in output_id.split('/'))
    return f'{namespace}/{node_name}/{tail}'


def resolve_topic(text: str, namespace: str, node_name: str) -> str:
    """Return the absolute topic for one given in the YAML, by the rules of ROS 2 for relative and ``~`` names.

    Raises:
        ValueError: ROS 2 does not accept the name; the text says why.

    """
    node = f'{namespace.rstrip("/")}/{node_name}'
    if text == '~':
        topic = node
    elif text.startswith('~/'):
        topic = f'{node}/{text[2:]}'
    elif text.startswith('/'):
        topic = text
    else:
        topic = f'{namespace.rstrip("/")}/{text}'
    check_absolute(topic)
    return topic


def check_absolute(name: str) -> None:
    """Check an absolute topic name or namespace.

    Raises:
        ValueError: ROS 2 does not accept the name; the text says why.

    """
    if len(name) > TOPIC_LIMIT:
        msg = f'`{name}` is longer than {TOPIC_LIMIT} characters'
        raise ValueError(msg)
    for token in name[1:].split('/'):
        if not _TOKEN.fullmatch(token):
            part = f'its part `{token}`' if token else 'an empty part (a slash at the end, or two in a row)'
            msg = f'`{name}` is not a ROS name: {part}; use letters, digits and _, no digit first'
            raise ValueError(msg)


def is_port_name(text: str) -> bool:
    """Return whether the id of a port is also a relative ROS name, so that a remapping can bind it."""
    return all(is_token(part) for part in text.split('/'))


def is_token(text: str) -> bool:
    """Return whether ``text`` is one ROS name, such as that of a node."""
    return len(text) <= NODE_NAME_LIMIT and _TOKEN.fullmatch(text) is not None


def message_type(text: str) -> str:
    """Return a message type in its full form ``package/msg/Name``.

    Raises:
        ValueError: ``text`` is neither ``package/msg/Name`` nor ``package/Name``.

    """
    match = _TYPE.fullmatch(text)
    if match is None:
        msg = f'`{text}` is not a message type; write it as package/msg/Name, such as sensor_msgs/msg/Image'
        raise ValueError(msg)
    return f'{match[1]}/msg/{match[2]}'
