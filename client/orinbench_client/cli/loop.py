"""The event loop of a command."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` on an event loop of its own. Ctrl-C cancels it, and then raises KeyboardInterrupt.

    As `asyncio.run` does it from Python 3.11 on. Before, the interrupt is raised in whatever runs at that moment;
    in gRPC's poller it is lost.
    """
    return asyncio.run(work if sys.version_info >= (3, 11) else _interrupted(work))


async def _interrupted(work: Coroutine[Any, Any, T]) -> T:
    loop, task, heard = asyncio.get_running_loop(), asyncio.ensure_future(work), False

    def interrupt() -> None:
        nonlocal heard
        heard = True
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await task
    except asyncio.CancelledError:
        if heard:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
