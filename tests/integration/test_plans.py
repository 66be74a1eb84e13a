"""Plans that cannot run are refused before they are queued, each by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from orinbench.v1 import run_pb2
from orinbench_profiles import canonical_json, digest_bytes

from tests.integration.harness import Wire, connect, reason_of, running

Plan = run_pb2.RunPlan
LINE = {"sample_id": "s", "input": {"digest": "sha256:" + "1" * 64, "bytes": 1, "media_type": "text/plain"}}


def refused(wire: Wire, plan: Plan, request_id: str = "r") -> tuple[grpc.StatusCode, str, dict[str, str]]:
    """Submit a plan that must be refused."""
    with pytest.raises(grpc.RpcError) as error:
        wire.create(plan, request_id)
    assert not wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs
    return reason_of(error.value)


CASES: dict[str, tuple[Callable[[Wire, Plan], None], str, str]] = {
    "no digest": (lambda _, p: setattr(p, "suite_digest", "abc"), "FIELD_INVALID", "plan.suite_digest"),
    "suite id with a slash": (lambda _, p: setattr(p, "suite_id", "../x"), "FIELD_INVALID", "plan.suite_id"),
    "another model id": (lambda _, p: setattr(p, "model_id", "other"), "FIELD_INVALID", "plan.model_id"),
    "limit 0": (lambda _, p: setattr(p.options, "limit", 0), "FIELD_INVALID", "plan.options.limit"),
    "time limit nan": (
        lambda _, p: setattr(p.options, "time_limit_s", float("nan")),
        "FIELD_INVALID",
        "plan.options.time_limit_s",
    ),
    "endless warm-up": (lambda _, p: setattr(p.options, "warmup", 10**6), "FIELD_INVALID", "plan.options.warmup"),
    "another profile": (
        lambda _, p: setattr(p, "hardware_profile", "agx-orin-32gb-maxn"),
        "PROFILE_MISMATCH",
        "",
    ),
    "no such manifest": (lambda _, p: setattr(p, "inputs_digest", digest_bytes(b"?")), "ARTIFACT_MISSING", ""),
    "an empty manifest": (lambda w, p: setattr(p, "inputs_digest", w.put(b"")), "DECLARATION_INVALID", ""),
    "an input that is not there": (
        lambda w, p: setattr(p, "inputs_digest", w.put(canonical_json(LINE))),
        "ARTIFACT_MISSING",
        "",
    ),
    "a sample twice": (
        lambda w, p: setattr(p, "inputs_digest", w.put(canonical_json(LINE) * 2)),
        "DECLARATION_INVALID",
        "",
    ),
    "a manifest with references": (
        lambda w, p: setattr(p, "inputs_digest", w.put(canonical_json(LINE | {"reference": "answer"}))),
        "DECLARATION_INVALID",
        "",
    ),
    "a declaration that is no JSON": (
        lambda w, p: setattr(p, "model_digest", w.put(b"\xff\xfe")),
        "DECLARATION_INVALID",
        "",
    ),
    "weights where the declaration should be": (
        lambda w, p: setattr(p, "model_digest", w.put(bytes(5 << 20))),
        "DECLARATION_INVALID",
        "",
    ),
    "a manifest without an end of line": (
        lambda w, p: setattr(p, "inputs_digest", w.put(b"[" * (2 << 20))),
        "DECLARATION_INVALID",
        "",
    ),
    "a declaration with unknown keys": (
        lambda w, p: setattr(p, "model_digest", w.put(b'{"id": "null", "trust_remote_code": true}')),
        "DECLARATION_INVALID",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_that_cannot_run_is_refused(wire: Wire, name: str) -> None:
    """Each mistake has its reason, and its field where there is one; nothing is queued."""
    change, reason, field = CASES[name]
    plan = wire.plan(3)
    change(wire, plan)

    found = refused(wire, plan)
    assert found[1] == reason
    assert found[2].get("field", "") == field


@pytest.mark.parametrize("request_id", ["", "a b", "x" * 129, "../../etc", "-"])
def test_a_request_id_has_a_form(wire: Wire, request_id: str) -> None:
    """A request id that is empty, too long or odd is refused by field."""
    plan = wire.plan(1)
    with pytest.raises(grpc.RpcError) as error:
        wire.runs.CreateRun(run_pb2.CreateRunRequest(request_id=request_id, plan=plan))
    assert reason_of(error.value)[2]["field"] == "request_id"


def test_a_runtime_the_board_lacks_is_named(wire: Wire) -> None:
    """The error tells which runtime is wanted and which there are."""
    found = refused(wire, wire.plan(1, runtime="nemo"))
    assert found[1:] == ("RUNTIME_UNKNOWN", {"runtime": "nemo", "available": "default"})


def test_the_queue_has_an_end(folder: Path) -> None:
    """Runs beyond the limit are refused, resumed ones too; a repeated request of a queued one is not."""
    with running(folder, limits={"queue_length": 2}) as daemon, connect(daemon) as wire:
        plan = wire.plan(10_000, delay_ms=50)
        failed = wire.create(plan)
        wire.until_sample(failed.name, 0)
        daemon.worker.kill()
        list(wire.watch(failed.name))
        first = wire.create(plan, "one")
        wire.create(plan, "two")
        with pytest.raises(grpc.RpcError) as error:
            wire.create(plan, "three")
        assert reason_of(error.value)[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        with pytest.raises(grpc.RpcError) as error:
            wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=failed.name))
        assert reason_of(error.value)[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        assert wire.create(plan, "one").name == first.name


def test_an_unknown_run_is_not_found_everywhere(wire: Wire) -> None:
    """Every method that takes a run says so when there is none, for awkward names too."""
    for name in ("runs/none", "", "runs/../x", "x" * 5000, "runs/\x00"):
        for call in (
            lambda name=name: wire.get(name),
            lambda name=name: list(wire.watch(name)),
            lambda name=name: wire.runs.CancelRun(run_pb2.CancelRunRequest(name=name)),
            lambda name=name: wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=name)),
            lambda name=name: wire.runs.ListRecords(run_pb2.ListRecordsRequest(name=name)),
        ):
            with pytest.raises(grpc.RpcError) as error:
                call()
            assert reason_of(error.value)[1] == "RUN_NOT_FOUND"


@pytest.mark.parametrize("after_seq", [10**6, 2**63, 2**64 - 1])
def test_a_cursor_beyond_the_end_is_named(wire: Wire, after_seq: int) -> None:
    """A cursor that no run has, up to the largest a message can hold, is refused as such."""
    run = wire.create(wire.plan(1))
    list(wire.watch(run.name))
    with pytest.raises(grpc.RpcError) as error:
        list(wire.watch(run.name, after_seq))
    assert reason_of(error.value)[:2] == (grpc.StatusCode.OUT_OF_RANGE, "CURSOR_OUT_OF_RANGE")


def test_watchers_have_a_limit_and_leave_room_when_they_go(folder: Path) -> None:
    """The stream over the limit is refused; when one ends the next is let in."""
    with running(folder, limits={"streams": 2}) as daemon, connect(daemon) as wire:
        run = wire.create(wire.plan(10_000, delay_ms=20))
        request = run_pb2.WatchRunRequest(name=run.name)
        streams = [wire.runs.WatchRun(request) for _ in range(2)]
        for stream in streams:
            next(stream)
        with pytest.raises(grpc.RpcError) as error:
            next(wire.runs.WatchRun(request))
        assert reason_of(error.value)[1] == "TOO_MANY_WATCHERS"
        streams[0].cancel()
        while True:
            try:
                next(wire.runs.WatchRun(request))
                break
            except grpc.RpcError:
                continue
