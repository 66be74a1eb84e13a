"""Ctrl-C while a run is followed, by real signals."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from orinbench_client.errors import BoardRefused, BoardUnreachable, OrinbenchError
from orinbench_client.follow.interrupt import Detached, JobEnded, interruptible


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


@pytest.mark.parametrize("error", [BoardRefused("it has ended", "STATE_FORBIDS"), BoardUnreachable("no contact")])
@pytest.mark.parametrize("ended", [False, True])
def test_the_end_of_a_job_is_its_end(ended: bool, error: OrinbenchError, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that cannot be cancelled, or that ends meanwhile, keeps no job going: the cause is noted."""

    async def work() -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        asked = asyncio.Event()
        cancelled.append(asked)
        await asked.wait()
        if not ended:
            await asyncio.Event().wait()
        return "succeeded"

    async def cancel() -> None:
        cancelled[0].set()
        # Long enough for the work to end first.
        for _ in range(3):
            await asyncio.sleep(0)
        raise error

    cancelled: list[asyncio.Event] = []
    with pytest.raises(JobEnded) as found:
        asyncio.run(interruptible(work(), cancel, print, job_ends_with={signal.SIGTERM}))

    assert found.value.number == signal.SIGTERM
    assert f"not cancelled: {error}" in capsys.readouterr().out
