"""Ctrl-C: once leaves the run to itself, twice cancels it. For a job of a CI system: once cancels it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, TypeVar

from orinbench_client.sdk.within import within

R = TypeVar("R")
# How long a second Ctrl-C is waited for.
SECOND_CHANCE_S = 2.0


class Detached(Exception):
    """The user left the run to itself."""


class JobEnded(Exception):
    """A signal ended the job that the run was for; the run is cancelled."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number


async def interruptible(
    work: Coroutine[Any, Any, R],
    cancel: Callable[[], Awaitable[object]],
    note: Callable[[str], None],
    second_chance_s: float = SECOND_CHANCE_S,
    job_ends_with: Collection[signal.Signals] = (),
) -> R:
    """Do `work`, which follows a run, with Ctrl-C in the user's hands.

    The first one leaves after `second_chance_s` (raises Detached); a second one before that calls `cancel`, and the
    run is followed to its end as cancelled; a third one leaves at once. The first signal, if it is one of
    `job_ends_with`, calls `cancel` and leaves (raises JobEnded).
    """
    loop = asyncio.get_running_loop()
    follower = asyncio.ensure_future(work)
    signals = asyncio.Queue[signal.Signals]()
    heeded = {signal.SIGINT, *job_ends_with}
    for number in heeded:
        loop.add_signal_handler(number, signals.put_nowait, number)
    hand = asyncio.ensure_future(_heed(signals, cancel, note, second_chance_s, job_ends_with))
    try:
        await asyncio.wait({follower, hand}, return_when=asyncio.FIRST_COMPLETED)
        if follower.done():
            return follower.result()
        # Never a result: leaving, the job's end, or that the cancellation was refused.
        hand.result()
        raise Detached
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
        for task in (follower, hand):
            task.cancel()
        await asyncio.gather(follower, hand, return_exceptions=True)


async def _heed(
    signals: asyncio.Queue[signal.Signals],
    cancel: Callable[[], Awaitable[object]],
    note: Callable[[str], None],
    second_chance_s: float,
    job_ends_with: Collection[signal.Signals],
) -> None:
    first = await signals.get()
    if first in job_ends_with:
        note(f"{first.name}: cancelling the run")
        await cancel()
        raise JobEnded(first)
    note(f"leaving the run to itself; Ctrl-C again within {second_chance_s:g} s cancels it")
    try:
        await within(second_chance_s, signals.get())
    except asyncio.TimeoutError:
        return
    note("cancelling the run; Ctrl-C once more leaves at once")
    await cancel()
    await signals.get()
