"""Names and the beginnings of uuids."""

from __future__ import annotations

import pytest

from adora_ros.cli.naming import Named, chosen
from adora_ros.errors import AmbiguousNameError, NotRunningError

KNOWN = [
    Named(1, 'camera', '11111111-aaaa'),
    Named(2, 'lidar', '11112222-bbbb'),
    Named(3, 'robot/camera', '33333333-cccc'),
]


@pytest.mark.parametrize(
    ('text', 'thing'), [('camera', 1), ('/camera', 1), ('robot/camera', 3), ('11112', 2), ('33333333-CCCC', 3)]
)
def test_a_name_in_full_or_the_beginning_of_a_uuid(text: str, thing: int) -> None:
    assert chosen(KNOWN, text, what='run') == thing


def test_without_a_name_it_is_the_only_one() -> None:
    assert chosen(KNOWN[:1], None, what='run') == 1


@pytest.mark.parametrize(('text', 'said'), [('1111', '2 of the kind run, `1111` is ambiguous'), (None, 'name one')])
def test_ambiguity_lists_the_candidates(text: str | None, said: str) -> None:
    with pytest.raises(AmbiguousNameError, match=said) as caught:
        chosen(KNOWN, text, what='run')
    assert 'camera (11111111), lidar (11112222)' in str(caught.value)


def test_what_is_not_there_lists_what_is() -> None:
    with pytest.raises(NotRunningError, match=r'^no run `x`; there is camera \(11111111\), lidar'):
        chosen(KNOWN, 'x', what='run')
    with pytest.raises(NotRunningError, match=r'^no run$'):
        chosen([], None, what='run')
    many = [Named(n, f'n{n}', '') for n in range(100)]
    with pytest.raises(NotRunningError, match=r'n9, and 90 more$'):
        chosen(many, 'x', what='run')
