"""The time limit that loses no cancellation."""

from __future__ import annotations

import asyncio

import pytest
from orinbench_client.sdk.within import within


def test_result_in_time() -> None:
    """Work that is done in time gives its result, or its own error."""

    async def good() -> int:
        return 7

    async def bad() -> int:
        raise KeyError("mine")

    assert asyncio.run(within(60, good())) == 7
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(within(60, bad()))


def test_too_late() -> None:
    """Work that takes too long is cancelled."""
    ends: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(within(0.01, work()))

    assert ends == ["cancelled"]


@pytest.mark.parametrize("steps", range(4))
def test_cancellation_beside_result(steps: int) -> None:
    """A cancellation that comes with the result, or a few turns of the loop after it, is never swallowed."""

    async def main() -> None:
        work = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(within(60, work))
        await asyncio.sleep(0)
        work.set_result(None)
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.done():
            return
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
