"""Runs through a real daemon, a real worker and a real socket."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import grpc
import psutil
import pytest
from orinbench.v1 import board_pb2, record_pb2, run_pb2
from orinbenchd.services.runs import BOOKMARK_S

from tests.integration.harness import (
    Daemon,
    Wire,
    body,
    check_history,
    connect,
    finished_of,
    make_tokens,
    reason_of,
    running,
    samples_of,
)


def test_a_run_gives_every_sample_once_and_proves_it(wire: Wire) -> None:
    """A run of 300 samples ends as succeeded; its stream has no gap, each sample once, and the right digest."""
    run = wire.create(wire.plan(300, text="بله"))
    records = list(wire.watch(run.name))

    finished = check_history(records, 300)
    assert finished.state == record_pb2.RUN_STATE_SUCCEEDED
    assert {sample.text for sample in samples_of(records)} == {"بله"}
    assert [v.reason for v in finished.violations] == ["DEVELOPMENT_PROFILE"]
    states = [body(r).state.state for r in records if r.kind == record_pb2.RECORD_KIND_STATE]
    assert [record_pb2.RunState.Name(s).removeprefix("RUN_STATE_") for s in states] == [
        "QUEUED",
        "PREPARING",
        "RUNNING",
        "FINISHING",
        "SUCCEEDED",
    ]
    ended = wire.get(run.name)
    assert (ended.record_digest, ended.last_seq) == (finished.record_digest, finished.record_count + 1)


def test_a_watch_goes_on_after_any_seq(wire: Wire) -> None:
    """Cutting a history at any seq and asking for the rest gives the same records, byte for byte."""
    run = wire.create(wire.plan(20))
    whole = list(wire.watch(run.name))

    for cut in range(0, len(whole) + 1, 5):
        assert list(wire.watch(run.name, after_seq=cut)) == whole[cut:]
    with pytest.raises(grpc.RpcError) as error:
        list(wire.watch(run.name, after_seq=len(whole) + 1))
    assert reason_of(error.value)[1] == "CURSOR_OUT_OF_RANGE"


def test_two_runs_at_once_one_waits_and_both_complete(wire: Wire) -> None:
    """Of two runs submitted together one waits in the queue; their measured parts do not overlap."""
    plan = wire.plan(50, delay_ms=5)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(wire.create, [plan, plan])
    histories = [list(wire.watch(run.name)) for run in (first, second)]

    spans = []
    for history in histories:
        check_history(history, 50)
        samples = samples_of(history)
        spans.append((samples[0].start_monotonic_ns, samples[-1].start_monotonic_ns + samples[-1].window_ns))
    spans.sort()
    assert spans[0][1] < spans[1][0]


def test_the_same_request_id_is_the_same_run(wire: Wire) -> None:
    """A repeated request gives the first run again; with another plan it is refused by name."""
    plan = wire.plan(3)
    first, again = wire.create(plan, "job-1"), wire.create(plan, "job-1")

    assert first.name == again.name
    plan.options.priority = 5
    with pytest.raises(grpc.RpcError) as error:
        wire.create(plan, "job-1")
    code, reason, metadata = reason_of(error.value)
    assert (code, reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    assert metadata == {"request_id": "job-1", "run": first.name.removeprefix("runs/")}


def test_racing_requests_with_one_id_make_one_run(wire: Wire) -> None:
    """Twenty simultaneous calls with one request id create exactly one run."""
    plan = wire.plan(2)
    with ThreadPoolExecutor(20) as pool:
        names = {run.name for run in pool.map(lambda _: wire.create(plan, "race"), range(20))}

    assert len(names) == 1
    assert len(wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs) == 1


def test_cancel_a_running_and_a_queued_run(wire: Wire) -> None:
    """Both end as cancelled with a verdict; the board then takes the next run."""
    running = wire.create(wire.plan(10_000, delay_ms=20))
    queued = wire.create(wire.plan(5))
    wire.until_sample(running.name, 2)

    for run in (queued, running):
        wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name, reason="enough"))
    for run in (queued, running):
        records = list(wire.watch(run.name))
        assert finished_of(records).state == record_pb2.RUN_STATE_CANCELLED
        assert any(body(r).state.reason == "enough" for r in records)
    assert wire.get(queued.name).accepted_samples == 0
    again = wire.runs.CancelRun(run_pb2.CancelRunRequest(name=running.name)).run
    assert again.state == record_pb2.RUN_STATE_CANCELLED
    after = wire.create(wire.plan(5))
    check_history(list(wire.watch(after.name)), 5)


def test_a_finished_run_cannot_be_cancelled(wire: Wire) -> None:
    """Cancelling a succeeded run is refused with its state."""
    run = wire.create(wire.plan(1))
    list(wire.watch(run.name))

    with pytest.raises(grpc.RpcError) as error:
        wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name))
    assert reason_of(error.value)[1:] == ("STATE_FORBIDS", {"run": run.name, "state": "SUCCEEDED"})


def test_priority_goes_first_and_the_queue_says_its_places(wire: Wire) -> None:
    """Of three waiting runs the one with the higher priority starts first; positions count the active run."""
    blocker = wire.create(wire.plan(10_000, delay_ms=20))
    plan = wire.plan(2)
    low, high = wire.create(plan), wire.plan(2)
    high.options.priority = 9
    urgent = wire.create(high)

    assert (wire.get(urgent.name).queue_position, wire.get(low.name).queue_position) == (1, 2)
    wire.runs.CancelRun(run_pb2.CancelRunRequest(name=blocker.name))
    starts = [samples_of(list(wire.watch(run.name)))[0].start_monotonic_ns for run in (urgent, low)]
    assert starts[0] < starts[1]


def test_a_watcher_learns_its_place_and_the_phase_when_they_change(wire: Wire) -> None:
    """A queued run's stream says its place at once and each new one, then what the worker does, all unasked."""
    blocker = wire.create(wire.plan(10_000, delay_ms=20))
    run = wire.create(wire.plan(2, delay_ms=500))
    began = time.monotonic()
    told = wire.bookmarks(run.name)

    assert next(told).queue_position == 1
    plan = wire.plan(10_000, delay_ms=20)
    plan.options.priority = 9
    urgent = wire.create(plan)
    assert next(told).queue_position == 2
    wire.runs.CancelRun(run_pb2.CancelRunRequest(name=blocker.name))
    assert next(told).queue_position == 1
    wire.runs.CancelRun(run_pb2.CancelRunRequest(name=urgent.name))
    phases = [said.phase for said in told if not said.HasField("queue_position")]
    # Three quiet spells would make up for it.
    assert time.monotonic() - began < 3 * BOOKMARK_S
    assert [phase for phase in dict.fromkeys(phases) if phase in ("PROVING", "SAMPLING")] == ["PROVING", "SAMPLING"]


def test_submitters_take_turns(folder: Path) -> None:
    """Of one who submitted three runs and another who came after with one, the other is not behind all three."""
    tokens = make_tokens(folder)
    with running(folder, tcp="127.0.0.1:0") as daemon:
        target = f"127.0.0.1:{daemon.ready['tcp_port']}"
        with connect(daemon) as local, Wire(target, tokens["submit"]) as many, Wire(target, tokens["admin"]) as one:
            local.create(local.plan(10_000, delay_ms=20))
            plan = local.plan(2)
            first, second, third = (many.create(plan) for _ in range(3))
            late = one.create(plan)
            order = sorted((first, second, third, late), key=lambda run: local.get(run.name).queue_position)
            plan.options.priority = 1
            with pytest.raises(grpc.RpcError) as refused:
                many.create(plan)
            plan.options.priority = 11
            with pytest.raises(grpc.RpcError) as beyond:
                one.create(plan)

    assert [run.name for run in order] == [run.name for run in (first, late, second, third)]
    assert reason_of(refused.value)[1:] == ("ROLE_INSUFFICIENT", {"role": "submit", "needed": "admin"})
    assert reason_of(beyond.value)[1:] == ("FIELD_INVALID", {"field": "plan.options.priority"})


def test_a_time_limit_ends_a_run(wire: Wire) -> None:
    """A run over its time limit is cancelled and says why."""
    plan = wire.plan(10_000, delay_ms=20)
    plan.options.time_limit_s = 0.5
    records = list(wire.watch(wire.create(plan).name))

    assert finished_of(records).state == record_pb2.RUN_STATE_CANCELLED
    assert any("time limit" in body(r).state.reason for r in records)


def test_a_run_nobody_watches_is_cancelled_when_asked(wire: Wire) -> None:
    """With cancel_unwatched_after_s a run outlives its last watcher by that long, no more."""
    plan = wire.plan(10_000, delay_ms=20)
    plan.options.cancel_unwatched_after_s = 0.5
    run = wire.create(plan)
    wire.until_sample(run.name, 5)
    lists = run_pb2.ListRunsRequest(states=[record_pb2.RUN_STATE_CANCELLED])

    found: list[run_pb2.Run] = []
    while not found:
        found = list(wire.runs.ListRuns(lists).runs)
    records = list(wire.watch(run.name))
    assert any("nobody watched" in body(r).state.reason for r in records)


def test_a_limit_marks_the_run_incomplete(wire: Wire) -> None:
    """A run over part of its suite succeeds, and carries the violation that keeps it off every board."""
    plan = wire.plan(10)
    plan.options.limit = 4
    finished = check_history(list(wire.watch(wire.create(plan).name)), 4)

    assert "INCOMPLETE" in [violation.reason for violation in finished.violations]


def test_list_records_and_runs_are_paged(wire: Wire) -> None:
    """Following page tokens gives every record and every run exactly once."""
    names = [wire.create(wire.plan(3)).name for _ in range(5)]
    whole = list(wire.watch(names[-1]))
    seqs, token = [], ""
    while True:
        request = run_pb2.ListRecordsRequest(name=names[-1], page_size=2, page_token=token)
        answer = wire.runs.ListRecords(request)
        seqs += [record.seq for record in answer.records]
        token = answer.next_page_token
        if not token:
            break

    assert seqs == [record.seq for record in whole]
    listed, token = [], ""
    while True:
        page = wire.runs.ListRuns(run_pb2.ListRunsRequest(page_size=2, page_token=token))
        listed += [run.name for run in page.runs]
        token = page.next_page_token
        if not token:
            break
    assert listed == names[::-1]


def test_a_page_of_runs_is_small_however_much_their_workers_said(idle_daemon: Daemon) -> None:
    """Failed runs are listed without their standard error, which GetRun has; a page that is full by bytes ends."""
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        name = wire.create(wire.plan(2)).name
        list(wire.watch(name))
    assert idle_daemon.stop() == 0
    # As two hundred workers would leave them that wrote a lot, and said much of why they failed.
    with closing(sqlite3.connect(idle_daemon.folder / "data" / "journal.sqlite")) as journal, journal:
        row = journal.execute("SELECT id, number, request_id, plan, state, run FROM runs").fetchone()
        run = run_pb2.Run.FromString(row[5])
        run.failure.stderr_tail, run.failure.message = "x" * 65536, "y" * 32768
        for number in range(10, 210):
            run.name = f"runs/null-{number}"
            values = (f"null-{number}", number, f"r-{number}", row[3], row[4], run.SerializeToString())
            journal.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", values)
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        pages = [wire.runs.ListRuns(run_pb2.ListRunsRequest(page_size=200))]
        while token := pages[-1].next_page_token:
            pages.append(wire.runs.ListRuns(run_pb2.ListRunsRequest(page_size=200, page_token=token)))
        tail = wire.get("runs/null-10").failure.stderr_tail

    listed = [run for page in pages for run in page.runs]
    assert [run.name for run in listed] == [f"runs/null-{number}" for number in range(209, 9, -1)] + [name]
    assert not any(run.failure.stderr_tail for run in listed)
    assert max(page.ByteSize() for page in pages) < 2 << 20
    assert len(tail) == 65536


def test_the_worker_process_is_gone_after_the_run(daemon: Daemon) -> None:
    """No worker and no scratch folder is left behind by a finished run."""
    with connect(daemon) as wire:
        list(wire.watch(wire.create(wire.plan(2)).name))
        board_idle(wire)

    assert not list((daemon.folder / "data").glob("worker-*"))
    assert psutil.Process(daemon.pid).children(recursive=True) == []


def board_idle(wire: Wire) -> None:
    """Wait until the daemon has let go of the board."""
    while wire.board.GetBoard(board_pb2.GetBoardRequest()).board.state != board_pb2.BOARD_STATE_IDLE:
        pass
