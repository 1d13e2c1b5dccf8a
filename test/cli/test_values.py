"""Durations and variables on the command line."""

from __future__ import annotations

import argparse

import pytest

from adora_ros.cli.values import duration, duration_or_none, variable


@pytest.mark.parametrize(
    ('text', 'seconds'),
    [
        ('25', 25.0),
        ('25s', 25.0),
        ('500ms', 0.5),
        ('2m', 120.0),
        ('2min', 120.0),
        ('1.5h', 5400.0),
        ('.5', 0.5),
        ('10 S', 10.0),
    ],
)
def test_a_duration_is_in_seconds_unless_it_says_otherwise(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize('text', ['', 'x', '-1', '5 parsecs', '1e3', 'nan', 'inf', '2m30', '0', '0ms', '9' * 400])
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match='is not a duration'):
        duration(text)


def test_none_at_all_is_a_duration_where_that_makes_sense() -> None:
    assert [duration_or_none(text) for text in ('0', ' 0 ', '2m')] == [0.0, 0.0, 120.0]
    with pytest.raises(argparse.ArgumentTypeError, match='is not a duration'):
        duration_or_none('-1')


@pytest.mark.parametrize(
    ('text', 'expected'), [('A=b', ('A', 'b')), ('A=', ('A', '')), ('_X1=a=b c', ('_X1', 'a=b c'))]
)
def test_a_variable_has_a_name_and_a_value(text: str, expected: tuple[str, str]) -> None:
    assert variable(text) == expected


@pytest.mark.parametrize('text', ['A', '', '=b', '1A=b', 'A B=c'])
def test_what_is_not_a_variable_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match='is not NAME=VALUE'):
        variable(text)
