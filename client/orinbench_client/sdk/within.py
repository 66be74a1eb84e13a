"""A time limit that loses no cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

R = TypeVar("R")


async def within(seconds: float, work: Awaitable[R]) -> R:
    """Return the result of `work`; after `seconds` cancel it and raise asyncio.TimeoutError.

    Up to Python 3.11 asyncio.wait_for swallows a cancellation that comes together with the result: a Ctrl-C would
    now and then be lost.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise asyncio.TimeoutError
        return task.result()
    finally:
        task.cancel()
