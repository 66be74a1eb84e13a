"""Ctrl-C: once leaves the run to itself, twice cancels it. For a job of a CI system: once cancels it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, NoReturn, TypeVar

from orinbench_client.errors import OrinbenchError
from orinbench_client.sdk.within import within

R = TypeVar("R")
# How long a second Ctrl-C is waited for.
SECOND_CHANCE_S = 2.0


class Detached(Exception):
    """The user left the run to itself."""


class JobEnded(Exception):
    """A signal ended the job that the run was for; the run is cancelled if that could be done."""

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
    `job_ends_with`, calls `cancel` and leaves, whether or not there was anything left to cancel (raises JobEnded).
    """
    loop = asyncio.get_running_loop()
    follower = asyncio.ensure_future(work)
    signals = asyncio.Queue[signal.Signals]()
    heeded = {signal.SIGINT, *job_ends_with}
    for number in heeded:
        loop.add_signal_handler(number, signals.put_nowait, number)
    first = asyncio.ensure_future(signals.get())
    tasks: list[asyncio.Future[Any]] = [follower, first]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if first.done():
            if first.result() in job_ends_with:
                # Also where the run has just ended: the job must not go on to the next one.
                await _end(first.result(), cancel, note)
            hand = asyncio.ensure_future(_heed(signals, cancel, note, second_chance_s))
            tasks.append(hand)
            await asyncio.wait({follower, hand}, return_when=asyncio.FIRST_COMPLETED)
            if not follower.done():
                # Never a result: leaving, or that the cancellation was refused.
                hand.result()
                raise Detached
        return follower.result()
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _end(
    number: signal.Signals, cancel: Callable[[], Awaitable[object]], note: Callable[[str], None]
) -> NoReturn:
    note(f"{number.name}: cancelling the run")
    try:
        await cancel()
    except OrinbenchError as error:
        note(f"not cancelled: {error}")
    raise JobEnded(number)


async def _heed(
    signals: asyncio.Queue[signal.Signals],
    cancel: Callable[[], Awaitable[object]],
    note: Callable[[str], None],
    second_chance_s: float,
) -> None:
    note(f"leaving the run to itself; Ctrl-C again within {second_chance_s:g} s cancels it")
    try:
        await within(second_chance_s, signals.get())
    except asyncio.TimeoutError:
        return
    note("cancelling the run; Ctrl-C once more leaves at once")
    await cancel()
    await signals.get()
