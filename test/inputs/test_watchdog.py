"""InputWatchdog on a fake clock."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from adora_ros.inputs import Expired, InputLimits, InputState, InputWatchdog

if TYPE_CHECKING:
    import pytest


def watchdog(**timeouts: float | None) -> InputWatchdog:
    return InputWatchdog({name: InputLimits(input_timeout=timeout) for name, timeout in timeouts.items()})


def test_closes_at_the_deadline_and_not_before() -> None:
    dog = watchdog(image=0.5)
    dog.activate(10.0)
    assert dog.message('image', 11.0) is False
    assert dog.next_deadline() == 11.5
    assert dog.expire(11.499) == ()
    assert dog.state('image') is InputState.HEALTHY
    assert dog.expire(11.5) == (Expired('image', 0.5),)
    assert dog.state('image') is InputState.CLOSED
    assert dog.input_timeouts == 1
    assert dog.next_deadline() is None


def test_a_silence_closes_once_however_long_it_lasts() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    assert dog.expire(1.0) == (Expired('image', 1.0),)
    assert [dog.expire(t) for t in (1.0, 2.0, 1e6)] == [(), (), ()]
    assert dog.input_timeouts == 1


def test_each_message_moves_the_deadline() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    for now in (0.0, 0.4, 0.8):
        assert dog.message('image', now) is False
        assert dog.next_deadline() == now + 0.5
    assert dog.expire(1.25) == ()
    assert dog.input_timeouts == 0


def test_recovers_by_the_next_message_and_is_armed_again() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    dog.expire(0.5)
    assert dog.message('image', 3.0) is True
    assert dog.state('image') is InputState.HEALTHY
    assert dog.cb_recoveries == 1
    assert dog.message('image', 3.1) is False
    assert dog.cb_recoveries == 1
    assert dog.expire(3.75) == (Expired('image', 3.75 - 3.1),)
    assert dog.input_timeouts == 2


def test_several_inputs_expire_in_the_order_of_their_deadlines() -> None:
    dog = watchdog(late=3.0, first=1.0, never=None, second=2.0, tie=1.0)
    dog.activate(0.0)
    for name in ('late', 'first', 'never', 'second', 'tie'):
        dog.message(name, 0.0)
    assert dog.next_deadline() == 1.0
    assert [e.id for e in dog.expire(2.5)] == ['first', 'tie', 'second']
    assert dog.next_deadline() == 3.0
    assert [e.id for e in dog.expire(1e9)] == ['late']
    assert dog.state('never') is InputState.HEALTHY


def test_nothing_happens_before_activation() -> None:
    dog = InputWatchdog({'image': InputLimits(input_timeout=0.5, first_message_timeout=0.5)})
    assert dog.message('image', 0.0) is False
    assert dog.next_deadline() is None
    assert dog.expire(1e9) == ()
    assert dog.state('image') is InputState.WAITING
    assert not dog.active


def test_nothing_happens_while_inactive() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    dog.deactivate()
    assert dog.next_deadline() is None
    assert dog.expire(100.0) == ()
    assert dog.message('image', 100.0) is False
    assert (dog.input_timeouts, dog.cb_recoveries) == (0, 0)


def test_activation_arms_again_from_its_own_time() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    dog.deactivate()
    dog.activate(100.0)
    assert dog.next_deadline() == 100.5
    assert dog.expire(100.5) == (Expired('image', 0.5),)


def test_activation_leaves_an_input_unarmed_that_never_had_a_message() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.deactivate()
    dog.activate(1.0)
    assert dog.next_deadline() is None


def test_activation_leaves_a_closed_input_closed_until_its_message() -> None:
    dog = InputWatchdog({'image': InputLimits(input_timeout=0.5, first_message_timeout=0.5)})
    dog.activate(0.0)
    dog.message('image', 0.0)
    dog.expire(0.5)
    dog.deactivate()
    assert dog.message('image', 1.0) is False
    dog.activate(2.0)
    assert dog.next_deadline() is None
    assert dog.expire(100.0) == ()
    assert dog.message('image', 101.0) is True
    assert (dog.input_timeouts, dog.cb_recoveries) == (1, 1)


def test_a_second_activation_does_not_move_the_deadline() -> None:
    dog = InputWatchdog({'image': InputLimits(first_message_timeout=2.0)})
    dog.activate(0.0)
    dog.activate(1.5)
    assert dog.next_deadline() == 2.0


def test_first_message_timeout_gives_way_to_input_timeout() -> None:
    dog = InputWatchdog({'image': InputLimits(input_timeout=0.5, first_message_timeout=5.0)})
    dog.activate(0.0)
    assert dog.next_deadline() == 5.0
    dog.message('image', 1.0)
    assert dog.next_deadline() == 1.5


def test_first_message_timeout_alone_watches_the_first_message_only() -> None:
    dog = InputWatchdog({'image': InputLimits(first_message_timeout=5.0)})
    dog.activate(0.0)
    dog.message('image', 1.0)
    assert dog.next_deadline() is None
    assert dog.expire(1e9) == ()


def test_first_message_timeout_counts_from_each_activation() -> None:
    dog = InputWatchdog({'image': InputLimits(input_timeout=0.5, first_message_timeout=5.0)})
    dog.activate(0.0)
    dog.message('image', 1.0)
    dog.deactivate()
    dog.activate(10.0)
    assert dog.next_deadline() == 15.0


def test_an_input_closed_by_first_silence_recovers_too() -> None:
    dog = InputWatchdog({'image': InputLimits(input_timeout=0.5, first_message_timeout=5.0)})
    dog.activate(0.0)
    assert dog.expire(5.0) == (Expired('image', 5.0),)
    assert dog.message('image', 6.0) is True
    assert dog.next_deadline() == 6.5
    assert (dog.input_timeouts, dog.cb_recoveries) == (1, 1)


def test_closing_for_good_ends_deadlines_recoveries_and_counts() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    assert dog.close('image') is True
    assert dog.close('image') is False
    assert dog.next_deadline() is None
    assert dog.expire(1.0) == ()
    assert dog.message('image', 2.0) is False
    dog.deactivate()
    dog.activate(3.0)
    assert dog.next_deadline() is None
    assert dog.state('image') is InputState.CLOSED
    assert (dog.input_timeouts, dog.cb_recoveries) == (0, 0)


def test_closing_for_good_after_silence_is_not_told_again() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    dog.expire(0.5)
    assert dog.close('image') is False
    assert dog.message('image', 1.0) is False
    assert (dog.input_timeouts, dog.cb_recoveries) == (1, 0)


def test_a_reopened_input_recovers_with_its_next_message_which_is_no_recovery_from_silence() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.close('image')
    dog.reopen('image')
    assert dog.state('image') is InputState.CLOSED
    assert dog.next_deadline() is None
    assert dog.message('image', 2.0) is True
    assert dog.next_deadline() == 2.5
    assert (dog.input_timeouts, dog.cb_recoveries) == (0, 0)


def test_an_input_that_silence_closed_is_expected_again_once_its_source_is_back() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    assert dog.revive('image', 0.0) is False
    dog.message('image', 0.0)
    assert dog.revive('image', 0.1) is False
    dog.expire(0.5)
    assert dog.revive('image', 2.0) is True
    assert dog.state('image') is InputState.HEALTHY
    assert dog.next_deadline() == 2.5
    assert dog.expire(2.5) == (Expired('image', 0.5),)
    dog.deactivate()
    assert dog.revive('image', 3.0) is False
    dog.activate(4.0)
    dog.close('image')
    assert dog.revive('image', 5.0) is False
    assert dog.revive('other', 5.0) is False


def test_an_input_without_limits_is_not_watched() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    assert dog.message('other', 1.0) is False
    assert dog.state('other') is None
    assert dog.close('other') is True
    assert dog.next_deadline() is None


def test_a51_a_blocked_callback_does_not_delay_the_closing() -> None:
    dog = watchdog(imu=0.2)
    dog.activate(0.0)
    dog.message('imu', 0.0)
    blocked, release = threading.Event(), threading.Event()

    def slow_callback() -> None:
        blocked.set()
        release.wait(30.0)

    user = threading.Thread(target=slow_callback)
    user.start()
    try:
        assert blocked.wait(30.0)
        deadline = dog.next_deadline()
        assert deadline == 0.2
        assert dog.expire(deadline) == (Expired('imu', 0.2),)
        assert user.is_alive()
    finally:
        release.set()
        user.join()


def test_a52_a_slow_consumer_of_a_steady_source_sees_no_transition() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    transitions = 0
    for step in range(1000):
        now = step / 16
        transitions += len(dog.expire(now))
        transitions += dog.message('image', now)
    assert transitions == 0
    assert (dog.input_timeouts, dog.cb_recoveries) == (0, 0)


def test_a52_recovered_only_after_a_delivered_message() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    dog.message('image', 0.0)
    seen: list[tuple[float, str]] = []
    for step in range(1, 10 * 16 + 1):
        now = step / 16
        seen += [(now, 'closed') for _ in dog.expire(now)]
        if step % 32 == 0 and dog.message('image', now):
            seen.append((now, 'recovered'))
    assert seen == [item for k in range(5) for item in ((2.0 * k + 0.5, 'closed'), (2.0 * k + 2.0, 'recovered'))]
    assert (dog.input_timeouts, dog.cb_recoveries) == (5, 5)


def test_a53_unarmed_until_the_first_message() -> None:
    dog = watchdog(image=0.5)
    dog.activate(0.0)
    assert dog.state('image') is InputState.WAITING
    assert dog.next_deadline() is None
    assert [dog.expire(t) for t in (0.5, 60.0, 1e9)] == [(), (), ()]
    assert dog.state('image') is InputState.WAITING
    assert dog.message('image', 1e9) is False
    assert dog.state('image') is InputState.HEALTHY
    assert (dog.input_timeouts, dog.cb_recoveries) == (0, 0)


def test_a53_first_message_timeout_counts_silence_from_the_start() -> None:
    dog = InputWatchdog({'image': InputLimits(input_timeout=0.5, first_message_timeout=3.0)})
    dog.activate(7.0)
    assert dog.state('image') is InputState.WAITING
    assert dog.expire(9.99) == ()
    assert dog.expire(10.0) == (Expired('image', 3.0),)
    assert dog.state('image') is InputState.CLOSED


def test_a54_bring_up_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    names = [f'sensor_{i}' for i in range(20)]
    dog = watchdog(**dict.fromkeys(names, 0.1))
    dog.activate(0.0)
    for step in range(1, 600):
        assert dog.expire(step / 10) == ()
    for index, name in enumerate(names):
        assert dog.message(name, 60.0 + index / 1000) is False
    assert dog.input_timeouts == 0
    assert caplog.records == []
