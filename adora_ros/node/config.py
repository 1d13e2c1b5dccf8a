"""The configuration of a node, from its environment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.errors import NodeError
from adora_ros.transport.attach import take_node
from adora_ros.transport.contract import CONFIG_VARIABLE, NOTIFY_VARIABLE, NodeConfig

if TYPE_CHECKING:
    from collections.abc import Mapping


def node_config(node_id: str | None = None, environ: Mapping[str, str] = os.environ) -> NodeConfig:
    """Return the configuration that the manager gave to this process, or gives it now if it has come from outside.

    Args:
        node_id: the id that the caller expects, None for any.
        environ: the environment to read.

    Raises:
        NodeError: there is none, or it is that of another node.
        TransportError: it is not readable.

    """
    text = environ.get(CONFIG_VARIABLE)
    if text is None and node_id is not None:
        return _attached(node_id)
    if text is None:
        msg = (
            f'{CONFIG_VARIABLE} is not set: a node is started by its dataflow, run it with `adora run FILE`; '
            'a node with `path: dynamic` gives its id, Node("id")'
        )
        raise NodeError(msg)
    config = NodeConfig.from_json(text)
    if node_id is not None and node_id != config.node_id:
        msg = f'this process is node {config.node_id!r}, not {node_id!r}: use Node() or the id of the dataflow file'
        raise NodeError(msg)
    return config


def _attached(node_id: str) -> NodeConfig:
    """Take a node of a running dataflow for this process."""
    offer = take_node(node_id)
    for name, value in offer.env.items():
        os.environ.setdefault(name, value)
    os.environ[NOTIFY_VARIABLE] = offer.notify
    return offer.config


def descriptor(config: NodeConfig) -> dict[str, Any]:
    """Return the dataflow's YAML, parsed.

    Raises:
        NodeError: the manager did not pass it on.

    """
    if config.descriptor_file is None:
        msg = f'node {config.node_id!r} was started without a descriptor file: run it with `adora run FILE`'
        raise NodeError(msg)
    parsed: dict[str, Any] = json.loads(Path(config.descriptor_file).read_text(encoding='utf-8'))
    return parsed
