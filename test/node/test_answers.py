"""Waiting for one answer, on an inbox without ROS."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from adora_ros.errors import AnswerTimeoutError, NodeError, ServerEndedError, ServerRestartedError
from adora_ros.inputs import Event, Input, NodeRestarted, Stop, StopCause
from adora_ros.node.answers import Answers, is_response, is_result
from adora_ros.node.inbox import Inbox
from adora_ros.node.items import Message
from adora_ros.transport.contract import InputConfig
from adora_ros.transport.metadata import new_request_id

RESPONSE = InputConfig(id='response', source='server/response', node='server', topic='/t', input_timeout=0.01)
FEEDBACK = InputConfig(id='feedback', source='server/feedback', node='server', topic='/f')
OTHER = InputConfig(id='other', source='camera/image', node='camera', topic='/o')


class World:
    """An active inbox whose payloads are metadata."""

    def __init__(self) -> None:
        self.inbox = Inbox((RESPONSE, FEEDBACK, OTHER), post=lambda *_a, **_k: None, flush=lambda: None)
        self.inbox.activate()
        self.answers = Answers(self.inbox, self.open, lambda: None, 0.05)

    def open(self, message: Message) -> Event | None:
        """Decode a message; one without metadata is a repeat."""
        return Input(message.input_id, None, message.payload) if message.payload is not None else None

    def wait(self, question: str = 'q', timeout: float = 0.0) -> Input:
        """Wait for a response of the server."""
        return self.answers.wait(question, 'server', is_response, time.monotonic() + timeout)

    def rest(self) -> list[Any]:
        """Take what is left."""
        items = []
        while (item := self.inbox.take(0.0)) is not None:
            items.append((item.input_id, item.payload) if isinstance(item, Message) else item)
        return items


@pytest.fixture
def world() -> World:
    return World()


def test_the_answer_comes_out_of_its_turn_and_the_rest_keeps_its_order(world: World) -> None:
    world.inbox.message('other', {'n': 1})
    world.inbox.message('response', {'request_id': 'earlier'})
    world.inbox.message('response', None)
    world.inbox.node_restarted('camera')
    world.inbox.message('response', {'request_id': 'q', 'n': 5})
    world.inbox.message('response', {'request_id': 'later'})
    assert world.wait() == Input('response', None, {'request_id': 'q', 'n': 5})
    assert world.rest() == [
        ('response', {'request_id': 'earlier'}),
        ('other', {'n': 1}),
        NodeRestarted('camera'),
        ('response', None),
        ('response', {'request_id': 'later'}),
    ]


def test_an_answer_that_comes_later_ends_the_wait(world: World) -> None:
    thread = threading.Timer(0.02, lambda: world.inbox.message('response', {'request_id': 'q'}))
    thread.start()
    assert world.wait(timeout=10.0).metadata == {'request_id': 'q'}
    thread.join()


def test_only_a_final_status_is_a_result(world: World) -> None:
    metadata: list[dict[str, Any]] = [
        {'goal_id': 'g', 'n': 1},
        {'goal_id': 'g', 'goal_status': 'running'},
        {'goal_id': 'h', 'goal_status': 'succeeded'},
        {'goal_id': 'g', 'goal_status': 'aborted'},
    ]
    for item in metadata:
        world.inbox.message('feedback', item)
    assert world.answers.wait('g', 'server', is_result, 0.0).metadata['goal_status'] == 'aborted'
    assert world.rest() == [('feedback', item) for item in metadata[:3]]


def test_a_wait_that_takes_too_long_says_so_and_closes_no_input(world: World) -> None:
    with pytest.raises(AnswerTimeoutError, match='node `server` did not answer q in time'):
        world.wait(timeout=0.03)
    assert world.rest() == []


def test_a_restart_counts_from_the_question_on(world: World) -> None:
    world.inbox.node_restarted('server')
    world.answers.note({'request_id': 'q'})
    with pytest.raises(AnswerTimeoutError):
        world.wait()
    world.inbox.node_restarted('camera')
    world.inbox.node_restarted('server')
    assert len(world.rest()) == 3
    with pytest.raises(ServerRestartedError, match='node `server` was restarted and knows nothing of it: ask again'):
        world.wait(timeout=60.0)
    world.answers.note({'request_id': 'new'})
    with pytest.raises(AnswerTimeoutError):
        world.wait('new')


def test_an_answer_from_before_the_restart_counts(world: World) -> None:
    world.answers.note({'request_id': 'q'})
    world.inbox.message('response', {'request_id': 'q'})
    world.inbox.node_restarted('server')
    assert world.wait().metadata == {'request_id': 'q'}


def test_a_server_that_is_gone_will_not_answer(world: World) -> None:
    world.inbox.close_input('response')
    with pytest.raises(AnswerTimeoutError):
        world.wait()
    world.inbox.close_input('feedback')
    with pytest.raises(ServerEndedError, match='node `server` has ended'):
        world.wait(timeout=60.0)
    world.inbox.node_failed('server', 'exit code 3', ['response', 'feedback'])
    with pytest.raises(ServerEndedError, match='node `server` failed: exit code 3'):
        world.wait(timeout=60.0)
    world.inbox.node_restarted('server')
    world.answers.note({'request_id': 'q'})
    with pytest.raises(AnswerTimeoutError):
        world.wait()


def test_nothing_is_waited_for_when_the_dataflow_stops(world: World) -> None:
    world.inbox.message('response', {'request_id': 'q'})
    world.inbox.stop(StopCause.ALL_INPUTS_CLOSED)
    assert world.wait().metadata == {'request_id': 'q'}
    with pytest.raises(ServerEndedError, match='the dataflow stops'):
        world.wait(timeout=60.0)
    assert world.rest() == [Stop(StopCause.ALL_INPUTS_CLOSED)]


def test_a_node_that_feeds_no_input_cannot_answer(world: World) -> None:
    text = 'no input of this node comes from `sever`: the nodes that feed it are `server`, `camera`'
    with pytest.raises(NodeError, match=text):
        world.answers.wait('q', 'sever', is_response, 0.0)


def test_request_ids_are_uuids_of_version_7_in_the_order_of_time() -> None:
    ids = [new_request_id()]
    time.sleep(0.002)
    ids.append(new_request_id())
    assert ids == sorted(ids)
    assert [text[14] for text in ids] == ['7', '7']
    assert all(text[19] in '89ab' for text in ids)
