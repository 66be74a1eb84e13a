"""Workers that crash, hang or speak nonsense: the run says so, the daemon lives, the next run works."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import psutil
import pytest
from orinbench.v1 import artifact_pb2, record_pb2, run_pb2

from tests.faults.played import play as make_runtime
from tests.faults.validators import whole
from tests.integration.harness import (
    Daemon,
    Wire,
    body,
    check_history,
    connect,
    finished_of,
    reason_of,
    running,
    samples_of,
)

# Plays the worker's part up to `ready`, then three honest results, then whatever the test wants.
_PRELUDE = """
import os, signal, socket, sys, time
from orinbench.internal.v1 import worker_pb2 as w
from orinbench.v1 import record_pb2 as pb
from orinbench_engines.protocol import Channel

sock = socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1]))
channel = Channel(sock, receives=w.ToWorker)

def say(**message):
    channel.send(w.FromWorker(**message))

def result(index, sample_id=None, segment=1, start=None, window=1, **figures):
    start = time.monotonic_ns() if start is None else start
    sample = pb.SampleRecord(
        index=index, sample_id=sample_id or f"s-{index:05}", segment=segment, start_monotonic_ns=start,
        window_ns=window, **figures,
    )
    say(result=w.Result(index=index, body=pb.RecordBody(sample=sample).SerializeToString()))

def begin():
    say(hello=w.Hello(protocol=1, pid=os.getpid()))
    channel.receive()
    say(ready=w.Ready())
    say(phase=w.Phase(kind=w.PHASE_KIND_SAMPLING))
    for index in range(3):
        result(index)

print("last words on stderr", file=sys.stderr, flush=True)
"""

Play = Callable[[str], tuple[Daemon, Wire, list[record_pb2.Record]]]


@pytest.fixture
def play(folder: Path) -> Iterator[Play]:
    """Run ten null samples with a worker that ends as the given script says."""
    python = folder / "python"
    deadlines = {"start_s": 5.0, "load_s": 5.0, "first_sample_s": 1.5, "sample_floor_s": 1.0, "stop_s": 0.5}
    runtimes = {"default": {"python": sys.executable}, "bad": {"python": str(python)}}
    with running(folder, runtimes=runtimes, deadlines=deadlines) as daemon, connect(daemon) as wire:

        def perform(ending: str) -> tuple[Daemon, Wire, list[record_pb2.Record]]:
            make_runtime(python, _PRELUDE + ending)
            run = wire.create(wire.plan(10, runtime="bad"))
            return daemon, wire, list(wire.watch(run.name))

        yield perform


CASES = {
    "segfault": ("begin(); os.kill(os.getpid(), signal.SIGSEGV)", "CRASHED", "WORKER_SIGNALLED", 3),
    "killed": ("begin(); os.kill(os.getpid(), signal.SIGKILL)", "CRASHED", "WORKER_KILLED", 3),
    "exit 7": ("begin(); os._exit(7)", "CRASHED", "WORKER_EXITED", 3),
    "exit 0 half-way": ("begin(); sys.exit(0)", "CRASHED", "WORKER_EXITED", 3),
    "exception at once": ("raise RuntimeError('no model')", "CRASHED", "WORKER_EXITED", 0),
    "hangs while sampling": ("begin(); time.sleep(600)", "HUNG", "NO_PROGRESS", 3),
    "hangs and ignores SIGTERM": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); begin(); time.sleep(600)",
        "HUNG",
        "NO_PROGRESS",
        3,
    ),
    "hangs before hello": ("time.sleep(600)", "HUNG", "NO_PROGRESS", 0),
    "random bytes": (
        "begin(); sock.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n'); time.sleep(600)",
        "CRASHED",
        "WORKER_NONSENSE",
        3,
    ),
    "a frame that is no message": (
        "begin(); sock.sendall(b'\\0\\0\\0\\3\\xff\\xff\\xff'); time.sleep(600)",
        "CRASHED",
        "WORKER_NONSENSE",
        3,
    ),
    "half a frame": (
        "begin(); sock.sendall(b'\\0\\0\\1\\0half'); sock.shutdown(1); time.sleep(600)",
        "CRASHED",
        "WORKER_NONSENSE",
        3,
    ),
    "an empty message": ("begin(); sock.sendall(b'\\0\\0\\0\\0'); time.sleep(600)", "CRASHED", "WORKER_NONSENSE", 3),
    "a result twice": ("begin(); result(2); time.sleep(600)", "CRASHED", "WORKER_NONSENSE", 3),
    "a result left out": ("begin(); result(4); time.sleep(600)", "CRASHED", "WORKER_NONSENSE", 3),
    "another sample's result": ("begin(); result(3, 's-00007'); time.sleep(600)", "CRASHED", "WORKER_NONSENSE", 3),
    "another segment's result": ("begin(); result(3, segment=2); time.sleep(600)", "CRASHED", "WORKER_NONSENSE", 3),
    "a result before ready": (
        "say(hello=w.Hello(protocol=1)); channel.receive(); result(0); time.sleep(600)",
        "CRASHED",
        "WORKER_NONSENSE",
        0,
    ),
    "ready twice": ("begin(); say(ready=w.Ready()); time.sleep(600)", "CRASHED", "WORKER_NONSENSE", 3),
    "a failure as large as a disk": (
        "begin(); say(failure=pb.Failure(reason='X', message='x' * 2_000_000)); time.sleep(600)",
        "CRASHED",
        "WORKER_NONSENSE",
        3,
    ),
    "more results than planned": (
        "begin(); [result(i) for i in range(3, 11)]; time.sleep(600)",
        "CRASHED",
        "WORKER_NONSENSE",
        10,
    ),
    "done too early": ("begin(); say(done=w.Done()); channel.receive()", "CRASHED", "WORKER_STOPPED_EARLY", 3),
    "another version": ("say(hello=w.Hello(protocol=99)); time.sleep(600)", "INFRASTRUCTURE", "RUNTIME_VERSION", 0),
    "says it ran out of memory": (
        "begin(); say(failure=pb.Failure(failure_class=pb.FAILURE_CLASS_OOM, reason='DEVICE_OUT_OF_MEMORY', "
        "message='no', oom_scope=pb.OOM_SCOPE_DEVICE)); sys.exit(1)",
        "OOM",
        "DEVICE_OUT_OF_MEMORY",
        3,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_worker_fails_its_run_and_nothing_else(play: Play, name: str) -> None:
    """The run ends with the right class, keeps its honest results and the worker's last words; the next run works."""
    ending, failure_class, reason, kept = CASES[name]
    daemon, wire, records = play(ending)

    failure = finished_of(records).failure
    assert (record_pb2.FailureClass.Name(failure.failure_class), failure.reason) == (
        f"FAILURE_CLASS_{failure_class}",
        reason,
    )
    assert len(samples_of(records)) == kept
    if name != "exception at once":
        assert "last words on stderr" in failure.stderr_tail
    else:
        assert "no model" in failure.stderr_tail
    check_history(list(wire.watch(wire.create(wire.plan(5)).name)), 5)
    assert psutil.Process(daemon.pid).children(recursive=True) == []


def test_figures_that_cannot_be_are_nonsense(play: Play) -> None:
    """Windows that end before they begin, overlap, lie before the worker or in the future; audio of no length."""
    said = {
        "window=-(10**15)": "has a window of -1000000000000000 ns",
        "start=2**62": "has a window of 1 ns from 4611686018427387904 on",
        "start=2**62, window=2**62": "has a window of 4611686018427387904 ns",
        "start=0, window=time.monotonic_ns() - 1": " ns from 0 on",
        "start=time.monotonic_ns() - 10**9, window=10**9": "has a window of 1000000000 ns",
        "audio_seconds=float('nan')": "is about nan s of audio",
        "audio_seconds=float('inf')": "is about inf s of audio",
        "audio_seconds=-3.0": "is about -3.0 s of audio",
        "first_token_ns=-1": "has a part that took less than no time",
        "stages=[pb.Stage(name='inference', duration_ns=-1)]": "has a part that took less than no time",
    }
    for figures, words in said.items():
        _, _, records = play(f"begin(); result(3, {figures}); time.sleep(600)")
        finished = whole(records, 10)
        assert (finished.failure.reason, finished.accepted_samples) == ("WORKER_NONSENSE", 3), figures
        assert words in finished.failure.message, figures


@pytest.mark.parametrize(
    ("name", "goes_on"), [("killed", True), ("hangs while sampling", True), ("says it ran out of memory", False)]
)
def test_only_some_failures_can_go_on(play: Play, name: str, goes_on: bool) -> None:
    """Crashed and hung runs are resumed and keep their samples; one that ran out of memory is final."""
    _, wire, records = play(CASES[name][0])
    run = wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs[0]
    try:
        again = wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name)).run
    except grpc.RpcError as error:
        assert not goes_on
        assert reason_of(error)[1] == "STATE_FORBIDS"
        return

    assert goes_on
    assert again.accepted_samples == len(samples_of(records))


def test_a_run_is_not_resumed_without_its_artifacts(play: Play) -> None:
    """Resuming says what was removed and changes nothing; once it is pushed again the run goes on."""
    _, wire, records = play(CASES["killed"][0])
    run = wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs[0]
    for digest in (run.plan.model_digest, run.plan.inputs_digest):
        wire.artifacts.DeleteArtifact(artifact_pb2.DeleteArtifactRequest(digest=digest))
        with pytest.raises(grpc.RpcError, match=digest) as error:
            wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name))
        assert reason_of(error.value)[1] == "ARTIFACT_MISSING"
        assert wire.get(run.name).failure == finished_of(records).failure
        assert wire.plan(10, runtime="bad").inputs_digest == run.plan.inputs_digest

    wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name))


def test_a_verdict_counts_the_results_that_were_under_way(folder: Path) -> None:
    """Results whose commit takes longer than the worker lived are in the verdict's count and in the history."""
    python = make_runtime(folder / "python", _PRELUDE + "begin(); os._exit(7)")
    runtimes = {"default": {"python": str(python)}}
    slow = {"ORINBENCH_FAILPOINTS": "journal.commit.before=sleep(400)"}
    with running(folder, environment=slow, runtimes=runtimes) as daemon, connect(daemon) as wire:
        finished = whole(list(wire.watch(wire.create(wire.plan(10)).name)), 10)

    assert (finished.failure.reason, finished.accepted_samples) == ("WORKER_EXITED", 3)


def test_who_sees_a_verdict_may_act_on_it_at_once(folder: Path) -> None:
    """Between the verdict's commit and the daemon's tidying up a run can be resumed, and its artifacts removed."""
    python = make_runtime(folder / "python", _PRELUDE + "begin(); os._exit(7)")
    slow = {"ORINBENCH_FAILPOINTS": "journal.commit.before=sleep(300)"}
    with (
        running(folder, environment=slow, runtimes={"default": {"python": str(python)}}) as daemon,
        connect(daemon) as wire,
    ):
        run = wire.create(wire.plan(10))
        first = finished_of(list(wire.watch(run.name)))
        wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name))
        again = finished_of(list(wire.watch(run.name)))
        wire.artifacts.DeleteArtifact(artifact_pb2.DeleteArtifactRequest(digest=run.plan.inputs_digest))

    assert again.record_count > first.record_count


def test_a_missing_interpreter_is_one_clear_failure(folder: Path) -> None:
    """A runtime whose interpreter is not there fails the run as infrastructure; path, key and remedy are named."""
    runtimes = {"default": {"python": sys.executable}, "gone": {"python": str(folder / "nowhere")}}
    with running(folder, runtimes=runtimes) as daemon, connect(daemon) as wire:
        records = list(wire.watch(wire.create(wire.plan(2, runtime="gone")).name))

    failure = finished_of(records).failure
    assert failure.reason == "RUNTIME_BROKEN"
    assert failure.failure_class == record_pb2.FAILURE_CLASS_INFRASTRUCTURE
    for named in (str(folder / "nowhere"), "[runtimes.gone]", "scripts/make-runtime gone"):
        assert named in failure.message


def test_a_chatty_worker_leaves_only_its_last_64_kib(play: Play) -> None:
    """A megabyte on standard error do not fill the daemon: the failure keeps the end of it."""
    _, _, records = play("for i in range(20000): print('x' * 50, i, file=sys.stderr)\nos._exit(9)")

    tail = finished_of(records).failure.stderr_tail
    assert 60_000 < len(tail) <= 65_536
    assert tail.rstrip().endswith("19999")


def test_a_worker_that_only_talks_is_hung(play: Play) -> None:
    """Lines for people are no progress; the first thousand are kept, and one line tells how many were not."""
    daemon, _, records = play("begin()\nwhile True: say(log=w.Log(level=1, message='x' * 4000))")

    failure = finished_of(records).failure
    assert failure.reason == "NO_PROGRESS"
    lines = [body(record).log for record in records if record.kind == record_pb2.RECORD_KIND_LOG]
    assert [line.origin for line in lines] == ["worker"] * 1000 + ["daemon"]
    assert re.fullmatch(r"\d+ more lines of the worker's were left out: 1000 a segment are kept", lines[-1].message)
    assert len(samples_of(records)) == 3
    assert psutil.Process(daemon.pid).memory_info().rss < 200 << 20


def test_last_words_that_are_no_text_take_no_more_room(play: Play) -> None:
    """Bytes that are no UTF-8 become three each in the failure: 64 KiB of it are kept, not 192."""
    _, _, records = play("sys.stderr.buffer.write(b'\\xff' * 100_000 + b'end')\nsys.stderr.flush()\nos._exit(9)")

    tail = finished_of(records).failure.stderr_tail
    assert 65_000 < len(tail.encode()) <= 65_536
    assert tail.endswith("\N{REPLACEMENT CHARACTER}end")
