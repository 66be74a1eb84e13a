"""Processes that were just started, or that do not listen: none is left behind, and each can be ended."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil
from orinbench.internal.v1 import worker_pb2
from orinbenchd.config import Deadlines
from orinbenchd.sandbox import Hidden, Isolation, Sandbox, View
from orinbenchd.worker.process import WorkerProcess

LIMITS = Deadlines(stop_s=0.3, reap_s=5.0)


async def start(folder: Path) -> WorkerProcess:
    """Start a worker that does nothing at all."""
    python = folder / "python"
    if not python.exists():
        python.write_text("#!/bin/sh\nexec sleep 600\n")
        python.chmod(0o755)
    return await WorkerProcess.start(python, Sandbox(Isolation("none"), Hidden(())), View(folder, ()), folder, LIMITS)


def test_a_worker_that_reads_nothing_is_ended(folder: Path) -> None:
    """What is on its way to it, more than the socket holds, does not stand between a stop and its signals."""

    async def run() -> tuple[int, float]:
        worker = await start(folder)
        for index in range(10_000):
            worker.channel.send(worker_pb2.ToWorker(ack=worker_pb2.Ack(index=index)))
        began = time.monotonic()
        code = await asyncio.wait_for(worker.stop(), 30)
        # Harmless, as it says.
        assert await worker.stop() == code
        return code, time.monotonic() - began

    code, took = asyncio.run(run())

    assert code == -15
    assert took < 10


def test_a_start_that_is_cancelled_leaves_nothing(folder: Path) -> None:
    """Wherever in the start it happens: no process, no open file."""

    async def run() -> None:
        await (await start(folder)).kill()
        files = psutil.Process().num_fds()
        for turns in range(100):
            task = asyncio.ensure_future(start(folder))
            for _ in range(turns):
                await asyncio.sleep(0)
            if task.done():
                await task.result().kill()
                return
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()
            # Transports are closed in the next turns of the loop.
            for _ in range(5):
                await asyncio.sleep(0)
            assert psutil.Process().children() == [], f"cancelled after {turns} turns"
            assert psutil.Process().num_fds() <= files, f"cancelled after {turns} turns"
        raise AssertionError("it never came to its end")

    asyncio.run(run())
