"""Callers that hang up, or call at the same moment: nothing is done by halves, nothing twice."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc
from orinbench.v1 import record_pb2, run_pb2

from tests.faults.validators import finished_of, whole
from tests.integration.harness import Daemon, Wire, connect, reason_of


def test_a_submitter_who_hangs_up_leaves_a_run_or_none(idle_daemon: Daemon) -> None:
    """The call is cut off while its commit is under way: asking again gives that run, and it runs. Both are audited."""
    idle_daemon.start(ORINBENCH_FAILPOINTS="journal.commit.before=sleep(1500)*1")
    with connect(idle_daemon) as wire:
        plan = wire.plan(3)
        request_id = uuid.uuid4().hex
        with suppress(grpc.RpcError):
            wire.runs.CreateRun(run_pb2.CreateRunRequest(request_id=request_id, plan=plan), timeout=0.3)
        run = wire.create(plan, request_id)
        history = list(wire.watch(run.name))

    assert whole(history, 3).state == record_pb2.RUN_STATE_SUCCEEDED
    lines = [json.loads(line) for line in idle_daemon.log.splitlines() if '"CreateRun"' in line]
    assert [(line["outcome"], line["reason"], line["on"]) for line in lines if line["channel"] == "audit"] == [
        ("failed", "BROKEN_OFF", "null"),
        ("done", "", run.name),
    ]


def test_of_many_who_resume_a_run_one_does(daemon: Daemon, wire: Wire) -> None:
    """Twenty calls at once make one new segment; the others are told the state. The history has one line of time."""
    run = wire.create(wire.plan(30, delay_ms=50))
    wire.until_sample(run.name, 3)
    daemon.worker.kill()
    assert finished_of(list(wire.watch(run.name))).failure.reason == "WORKER_KILLED"

    def resume(_: int) -> str:
        try:
            wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name))
        except grpc.RpcError as error:
            return reason_of(error)[1]
        return "resumed"

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(resume, range(20)))
    history = list(wire.watch(run.name))

    assert sorted(answers) == ["STATE_FORBIDS"] * 19 + ["resumed"]
    assert whole(history, 30).state == record_pb2.RUN_STATE_SUCCEEDED
