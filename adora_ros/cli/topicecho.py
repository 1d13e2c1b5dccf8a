"""``adora topic echo``: the values on a topic, wherever they are."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from adora_ros.cli.session import Session
from adora_ros.errors import NoAnswerError, NotRunningError, TransportError
from adora_ros.transport.ports import ArrowPort, PayloadCounts, PortCodec, open_port
from adora_ros.transport.qos import qos_profile
from adora_ros.transport.rosarrow import type_name

if TYPE_CHECKING:
    import argparse

DEPTH = 10
"""Messages that may wait."""
ELEMENTS = 10
"""Elements that are shown of a value."""
TEXT = 300
"""Characters that are shown of a value."""


def echo(arguments: argparse.Namespace) -> int:
    """Show what comes on a topic.

    Raises:
        NotRunningError: nobody publishes on it.
        NoAnswerError: nothing came in time.
        TransportError: its message type is not known here.

    """
    topic = f'/{arguments.topic.lstrip("/")}'
    with Session() as session:
        types: list[str] = []

        def found() -> bool:
            types[:] = dict(session.node.get_topic_names_and_types()).get(topic, [])
            return bool(types) and session.node.count_publishers(topic) > 0

        if not session.wait(found, arguments.timeout):
            msg = f'nobody publishes on {topic}; `ros2 topic list` or `adora graph FILE` name the topics'
            raise NotRunningError(msg)
        is_arrow = types[0] == type_name(ArrowPort().message_type)
        printer = _Printer(open_port(None if is_arrow else types[0], counts=PayloadCounts(_complain)))
        qos = _qos(session, topic)
        session.subscribe(printer.port.message_type, topic, printer.take, qos, raw=True)
        if not session.wait(lambda: printer.shown, arguments.timeout):
            msg = f'nothing came on {topic} within {arguments.timeout:g} s'
            raise NoAnswerError(msg)
        session.wait(lambda: printer.shown >= (arguments.count or float('inf')), float('inf'))
    return 0


class _Printer:
    """Writes one line for each message.

    Args:
        port: reads them.

    """

    def __init__(self, port: PortCodec) -> None:
        self.port = port
        self.shown = 0

    def take(self, message: bytes) -> None:
        """Show one message."""
        received = self.port.receive(message)
        if received is None:
            return
        try:
            decoded = self.port.from_message(received, timestamp=time.time_ns())
        except TransportError as error:
            _complain(str(error))
            return
        self.shown += 1
        metadata = json.dumps(decoded.metadata, default=str)
        sys.stdout.write(f'{shortened(decoded.value)}  {metadata}\n')
        sys.stdout.flush()


def shortened(array: Any) -> str:
    """Return the type, the length and the first elements of an Arrow array, in one line."""
    some = ', '.join(str(item) for item in array.slice(0, ELEMENTS).to_pylist())
    rest = ', ...' if len(array) > ELEMENTS else ''
    text = f'{array.type}[{len(array)}] [{some}{rest}]'
    return text if len(text) <= TEXT else text[: TEXT - 3] + '...'


def _complain(text: str) -> None:
    sys.stderr.write(f'{text}\n')


def _qos(session: Session, topic: str) -> Any:
    """Return a profile that hears every publisher of a topic."""
    offered = [info.qos_profile for info in session.node.get_publishers_info_by_topic(topic)]
    weakest: dict[str, Any] = {}
    if any(profile.reliability.name == 'BEST_EFFORT' for profile in offered):
        weakest['reliability'] = 'best_effort'
    if offered and all(profile.durability.name == 'TRANSIENT_LOCAL' for profile in offered):
        weakest['durability'] = 'transient_local'
    return qos_profile(weakest, depth=DEPTH)
