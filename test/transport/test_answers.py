"""Whoever leaves ROS waits for the clients that have just been answered."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from adora_ros.transport.answers import MOMENT, Answers


class Graph:
    """A node whose services have clients that leave one look after another."""

    def __init__(self, **clients: int) -> None:
        self.clients = clients
        self.looks: list[str] = []

    def count_clients(self, service: str) -> int:
        self.looks.append(service)
        self.clients[service] -= 1
        return self.clients[service]


def watched(answers: Answers, graph: Any, name: str) -> tuple[Any, list[tuple[str, str]]]:
    """Return a service that is watched, and what it sends."""
    sent: list[tuple[str, str]] = []
    service = SimpleNamespace(srv_name=name, send_response=lambda *answer: sent.append(answer))
    answers.watch(graph, service)
    return service, sent


def test_an_answer_passes_and_is_waited_for_until_its_clients_have_left() -> None:
    answers, graph = Answers(), Graph(asked=3, idle=1)
    service, sent = watched(answers, graph, 'asked')
    watched(answers, graph, 'idle')
    service.send_response('response', 'header')
    assert sent == [('response', 'header')]
    answers.settle()
    assert graph.looks == ['asked'] * 3


def test_nobody_waits_where_nothing_was_answered() -> None:
    answers, graph = Answers(), Graph(idle=1000)
    watched(answers, graph, 'idle')
    answers.settle()
    assert graph.looks == []


def test_a_client_that_stays_is_waited_for_for_a_moment_after_the_last_answer() -> None:
    answers, graph = Answers(), Graph(asked=1000)
    service, _ = watched(answers, graph, 'asked')
    begin = time.monotonic()
    service.send_response('response', 'header')
    answers.settle()
    assert time.monotonic() - begin >= MOMENT
    looks = len(graph.looks)
    answers.settle()
    assert len(graph.looks) == looks


def test_an_answer_that_could_not_be_sent_is_not_waited_for() -> None:
    answers = Answers()

    def fail(*_: object) -> None:
        raise RuntimeError

    service: Any = SimpleNamespace(srv_name='broken', send_response=fail)
    answers.watch(Graph(), service)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        service.send_response('response', 'header')
    answers.settle()
