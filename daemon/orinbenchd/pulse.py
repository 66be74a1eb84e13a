"""A pulse: wakes everybody who waits, and leaves nothing behind."""

from __future__ import annotations

import asyncio


class Pulse:
    """Many waiters, no memory: a waiter sees only pulses after it began to wait."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def fire(self) -> None:
        """Wake all who wait now."""
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for the next pulse; False when the time is over first."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout_s)
        except asyncio.TimeoutError:
            return False
        return True
