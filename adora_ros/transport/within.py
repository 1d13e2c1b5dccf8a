"""A deadline for what is awaited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar('T')


async def within(seconds: float, work: Awaitable[T]) -> T:
    """Return what ``work`` returns, or cancel it after some seconds.

    This is :func:`asyncio.wait_for` as it is since Python 3.12: the older ones drop a cancellation of the caller that
    comes together with the result, so that it goes on with something that is over.

    Raises:
        asyncio.TimeoutError: it took longer.

    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # looked at, if it is not raised here
    if task.cancelled():
        raise asyncio.TimeoutError
    return task.result()
