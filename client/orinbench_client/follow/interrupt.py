"""Ctrl-C: once leaves the run to itself, twice cancels it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from orinbench_client.sdk.within import within

R = TypeVar("R")
# How long a second Ctrl-C is waited for.
SECOND_CHANCE_S = 2.0


class Detached(Exception):
    """The user left the run to itself."""


async def interruptible(
    work: Coroutine[Any, Any, R],
    cancel: Callable[[], Awaitable[object]],
    note: Callable[[str], None],
    second_chance_s: float = SECOND_CHANCE_S,
) -> R:
    """Do `work`, which follows a run, with Ctrl-C in the user's hands.

    The first one leaves after `second_chance_s` (raises Detached); a second one before that calls `cancel`, and the
    run is followed to its end as cancelled; a third one leaves at once.
    """
    loop = asyncio.get_running_loop()
    follower = asyncio.ensure_future(work)
    interrupts = asyncio.Queue[None]()
    loop.add_signal_handler(signal.SIGINT, interrupts.put_nowait, None)
    hand = asyncio.ensure_future(_heed(interrupts, cancel, note, second_chance_s))
    try:
        await asyncio.wait({follower, hand}, return_when=asyncio.FIRST_COMPLETED)
        if follower.done():
            return follower.result()
        # Never a result: leaving, or that the cancellation was refused.
        hand.result()
        raise Detached
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        for task in (follower, hand):
            task.cancel()
        await asyncio.gather(follower, hand, return_exceptions=True)


async def _heed(
    interrupts: asyncio.Queue[None],
    cancel: Callable[[], Awaitable[object]],
    note: Callable[[str], None],
    second_chance_s: float,
) -> None:
    await interrupts.get()
    note(f"leaving the run to itself; Ctrl-C again within {second_chance_s:g} s cancels it")
    try:
        await within(second_chance_s, interrupts.get())
    except asyncio.TimeoutError:
        return
    note("cancelling the run; Ctrl-C once more leaves at once")
    await cancel()
    await interrupts.get()
