"""Few enough processes start at once, in their order."""

from __future__ import annotations

import asyncio

from adora_ros.manager.admission import Admission


async def turn() -> None:
    """Let everything happen that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_the_lowest_rank_passes_first_and_no_more_than_allowed() -> None:
    async def scenario() -> None:
        admission = Admission(2)
        passed: list[str] = []

        async def enter(who: str, rank: int) -> None:
            await admission.enter(who, rank)
            passed.append(who)

        tasks = [asyncio.create_task(enter(who, rank)) for who, rank in (('a', 1), ('b', 1), ('c', 3), ('d', 2))]
        await turn()
        assert passed == ['a', 'b']
        admission.leave('a')
        admission.leave('a')
        await turn()
        assert passed == ['a', 'b', 'd']
        admission.leave('b')
        await turn()
        assert passed == ['a', 'b', 'd', 'c']
        await asyncio.gather(*tasks)

    asyncio.run(scenario())


def test_one_that_gives_up_waiting_takes_nobody_s_place() -> None:
    async def scenario() -> None:
        admission = Admission(1)
        await admission.enter('a', 0)
        waiting = [asyncio.create_task(admission.enter(who, 0)) for who in ('b', 'c')]
        await turn()
        waiting[0].cancel()
        admission.leave('a')
        await turn()
        assert (waiting[0].cancelled(), waiting[1].done()) == (True, True)

    asyncio.run(scenario())


def test_one_that_is_cancelled_in_its_turn_gives_it_back() -> None:
    async def scenario() -> None:
        admission = Admission(1)
        await admission.enter('a', 0)
        waiting = [asyncio.create_task(admission.enter(who, 0)) for who in ('b', 'c')]
        await turn()
        admission.leave('a')
        waiting[0].cancel()
        await turn()
        assert (waiting[0].cancelled(), waiting[1].done()) == (True, True)

    asyncio.run(scenario())


def test_one_that_never_says_that_it_is_up_counts_no_more_after_a_while() -> None:
    async def scenario() -> None:
        admission = Admission(1, patience=0.0)
        await admission.enter('a', 0)
        await asyncio.wait_for(admission.enter('b', 0), 20.0)

    asyncio.run(scenario())
