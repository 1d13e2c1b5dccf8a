"""What the thread that receives hands over to the one that owns the records."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from adora_ros.coordinator.intake import Intake

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_what_has_come_by_a_moment_is_taken_together_and_in_order() -> None:
    taken: list[str] = []

    @contextlib.contextmanager
    def together() -> Iterator[None]:
        taken.append('(')
        try:
            yield
        finally:
            taken.append(')')

    async def work() -> None:
        loop = asyncio.get_running_loop()
        failures: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: failures.append(context))
        intake = Intake(loop, together)
        hand, hand_other = intake.handing(taken.append), intake.handing(lambda text: taken.append(f'other {text}'))
        hand('a')
        hand_other('b')
        hand('c')
        assert taken == []
        await asyncio.sleep(0)
        assert taken == ['(', 'a', 'other b', 'c', ')']

        # One that fails costs nothing but itself.
        taken.clear()
        intake.handing(lambda _: taken.remove('e'))('e')
        hand('d')
        for _ in range(3):
            await asyncio.sleep(0)
        assert taken == ['(', ')', '(', 'd', ')']
        assert [type(failure['exception']) for failure in failures] == [ValueError]

    asyncio.run(work())
