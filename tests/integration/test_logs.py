"""The log: a JSON object a line, each with the run and the caller it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from orinbench.v1 import run_pb2

from tests.integration.harness import connect, running

MISSING = "runs/none-such"


def test_every_line_names_its_run_and_its_caller(folder: Path) -> None:
    """What is logged while a run has the board names it, what is logged for a call names caller, peer and run.

    What is about neither names neither.
    """
    with running(folder) as daemon, connect(daemon) as wire:
        run = wire.create(wire.plan(3))
        list(wire.watch(run.name))
        with pytest.raises(grpc.RpcError):
            wire.runs.CancelRun(run_pb2.CancelRunRequest(name=MISSING + "x" * 500))
        daemon.stop()
    lines: list[dict[str, Any]] = [json.loads(line) for line in daemon.log.splitlines()]
    logged = [line for line in lines if line.get("channel") != "audit"]

    run_id = run.name.removeprefix("runs/")
    events = [line["event"] for line in logged]
    # From its worker's start to its end there is nothing else on this daemon.
    of_run = logged[events.index("worker started") : events.index("run ended") + 1]
    assert {line["run"] for line in of_run} == {run_id}
    (queued,) = (line for line in logged if line["event"] == "queued")
    (refused,) = (line for line in logged if line["event"] == "answered with an error")
    assert (queued["run"], queued["rpc"]) == (run_id, "CreateRun")
    assert (refused["run"], refused["rpc"]) == ((MISSING + "x" * 500).removeprefix("runs/")[:160], "CancelRun")
    for line in (queued, refused):
        assert line["peer"].startswith("unix:")
        assert line["caller"] == "local"
    for line in logged:
        assert {"event", "level", "timestamp"} <= line.keys()
        if line["event"] in ("ready", "stopping", "stopped", "isolation"):
            assert not {"run", "peer", "caller", "rpc"} & line.keys()
