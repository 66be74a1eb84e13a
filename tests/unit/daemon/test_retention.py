"""Retention against clients who act at the same moment, on a real journal."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2
from orinbenchd.artifacts.store import ArtifactStore
from orinbenchd.config import Config
from orinbenchd.config import Retention as Limits
from orinbenchd.journal.reader import Reader
from orinbenchd.journal.writer import Writer
from orinbenchd.runs import table
from orinbenchd.runs.retention import Retention

LONG_AGO_S = 1_600_000_000


def old_run(name: str) -> run_pb2.Run:
    """A run that failed years ago."""
    run = run_pb2.Run(name=f"runs/{name}", state=pb.RUN_STATE_FAILED)
    run.end_time.FromSeconds(LONG_AGO_S)
    return run


def test_a_run_that_is_resumed_while_others_are_removed_stays(tmp_path: Path) -> None:
    """Of two old runs found together, the one that goes on again before its turn comes is not removed."""
    config = Config(data_dir=tmp_path, socket=tmp_path / "d.sock", retention=Limits(run_days=1))

    async def run() -> list[str]:
        writer = Writer(config.journal, lambda _: None, lambda error: pytest.fail(str(error)))
        reader, gate = Reader(config.journal), asyncio.Lock()
        for number, name in enumerate(("given-up", "resumed"), 1):
            await writer.submit(partial(table.insert, number=number, request_id=name, plan=b"", run=old_run(name)))
        retention = Retention(config, writer, reader, ArtifactStore(tmp_path, 1 << 20, 0), gate)
        await gate.acquire()
        removing = asyncio.create_task(retention.runs())
        # It has found both once it waits for the gate.
        while not gate._waiters:
            await asyncio.sleep(0.01)
        queued = f"UPDATE runs SET state = {int(pb.RUN_STATE_QUEUED)} WHERE id = 'resumed'"
        await writer.submit(lambda journal: journal.execute(queued).rowcount)
        gate.release()
        await removing
        left = [made.name for _, made in await reader.runs(None, 10, [])]
        await writer.close()
        await reader.close()
        return left

    assert asyncio.run(run()) == ["runs/resumed"]
