"""Ctrl-C while a run is followed, by real signals."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from orinbench_client.follow.interrupt import Detached, interruptible


def press() -> None:
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def test_result_without_interrupt() -> None:
    """Work that nobody interrupts gives its result."""

    async def work() -> int:
        return 7

    async def cancel() -> None:
        raise AssertionError("not asked for")

    assert asyncio.run(interruptible(work(), cancel, print)) == 7


def test_once_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    """One Ctrl-C leaves the run after the second chance has passed, and cancels nothing on the board."""
    cancelled: list[str] = []

    async def work() -> None:
        press()
        await asyncio.Event().wait()

    async def cancel() -> None:
        cancelled.append("run")

    with pytest.raises(Detached):
        asyncio.run(interruptible(work(), cancel, print, second_chance_s=0.05))

    assert cancelled == []
    assert "Ctrl-C again within 0.05 s cancels it" in capsys.readouterr().out


def test_twice_cancels() -> None:
    """A second Ctrl-C cancels the run, which is then followed to its end."""
    ended = asyncio.Event()

    async def work() -> str:
        press()
        await ended.wait()
        return "cancelled"

    def note(text: str) -> None:
        if "again" in text:
            press()

    async def cancel() -> None:
        ended.set()

    assert asyncio.run(interruptible(work(), cancel, note, second_chance_s=60)) == "cancelled"


def test_third_leaves() -> None:
    """Who does not want to wait for the end of the cancellation leaves with a third Ctrl-C."""

    async def work() -> None:
        press()
        await asyncio.Event().wait()

    def note(text: str) -> None:
        press()

    async def cancel() -> None:
        return

    with pytest.raises(Detached):
        asyncio.run(interruptible(work(), cancel, note, second_chance_s=60))


def test_refused_cancellation_is_told() -> None:
    """When the board refuses to cancel, that is the error."""

    async def work() -> None:
        press()
        await asyncio.Event().wait()

    def note(text: str) -> None:
        if "again" in text:
            press()

    async def cancel() -> None:
        raise RuntimeError("refused")

    with pytest.raises(RuntimeError, match="refused"):
        asyncio.run(interruptible(work(), cancel, note, second_chance_s=60))
