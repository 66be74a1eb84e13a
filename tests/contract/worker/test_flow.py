"""Back-pressure, stopping, and how either end notices that the other has gone or speaks nonsense."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from orinbench.internal.v1.worker_pb2 import (
    PHASE_KIND_LOADING,
    PHASE_KIND_PROVING,
    PHASE_KIND_WARMING_UP,
    Ack,
    FromWorker,
    Prepare,
    Stop,
    ToWorker,
)
from orinbench_engines.protocol import MAX_FRAME

from tests.contract.worker.kit import RunningWorker, Store, kinds, run, samples

_SAMPLES = 50


def _prepare(store: Store, delay_ms: float = 0, window: int = _SAMPLES) -> Prepare:
    model = store.put_model("null", options={"delay_ms": delay_ms})
    inputs = store.put_inputs([str(index).encode() for index in range(_SAMPLES)])
    return store.prepare(model, inputs, _SAMPLES, window=window)


def _results(worker: RunningWorker, count: int) -> list[int]:
    return [worker.until("result").result.index for _ in range(count)]


def _phases(worker: RunningWorker) -> Iterator[int]:
    return (message.phase.kind for message in worker.messages() if message.HasField("phase"))


def test_a_full_window_holds_the_worker(store: Store) -> None:
    """No more results than the window come unacknowledged, and as many more as are acknowledged."""
    with RunningWorker() as worker:
        worker.prepare(_prepare(store, window=4))
        first = _results(worker, 4)
        worker.acknowledge(1)
        then = _results(worker, 2)
        worker.stop()
        rest = list(worker.messages())

    assert (first, then) == ([0, 1, 2, 3], [4, 5])
    assert samples(rest) == []
    assert rest[-1].done.stopped


def test_stop_is_honoured_at_a_sample_boundary(store: Store) -> None:
    """A worker told to stop in mid-run sends what it has, says that it was stopped, and exits 0."""
    with RunningWorker() as worker:
        worker.prepare(_prepare(store, delay_ms=20))
        worker.until("result")
        worker.stop()
        rest = list(worker.messages())
        worker.acknowledge(_SAMPLES)
        code, _ = worker.end()

    assert (rest[-1].done.stopped, code) == (True, 0)
    assert len(samples(rest)) < _SAMPLES - 1


def test_stop_while_loading_ends_without_a_proof(store: Store) -> None:
    """A worker told to stop before the model is loaded computes nothing."""
    with RunningWorker() as worker:
        worker.channel.send(ToWorker(prepare=_prepare(store, delay_ms=3_600_000)), ToWorker(stop=Stop()))
        said = list(worker.messages())
        code, _ = worker.end()

    assert (said[-1].done.stopped, code) == (True, 0)
    assert {message.phase.kind for message in said if message.HasField("phase")} == {PHASE_KIND_LOADING}


def test_stop_while_proving_ends_without_ready(store: Store) -> None:
    """A worker told to stop while it proves determinism does not go on to warm up."""
    with RunningWorker() as worker:
        worker.prepare(_prepare(store, delay_ms=100))
        assert PHASE_KIND_PROVING in _phases(worker)
        worker.stop()
        rest = list(worker.messages())
        code, _ = worker.end()

    assert (rest[-1].done.stopped, code) == (True, 0)
    assert "ready" not in kinds(rest)
    assert PHASE_KIND_WARMING_UP not in {message.phase.kind for message in rest}


def test_a_worker_whose_daemon_dies_is_gone(store: Store) -> None:
    """When the socket closes the process ends, although its main thread is inside a long inference."""
    with RunningWorker() as worker:
        worker.prepare(_prepare(store, delay_ms=3_600_000))
        assert PHASE_KIND_PROVING in _phases(worker)
        worker.hang_up()

        code, stderr = worker.end()
        assert (code, stderr) == (3, "orinbench worker: the daemon has gone\n")


def test_a_worker_without_a_task_leaves_with_its_daemon() -> None:
    """When the socket closes before prepare came, the process ends."""
    with RunningWorker() as worker:
        worker.until("hello")
        worker.hang_up()

        assert worker.end()[0] == 3


def test_the_last_results_are_waited_for(store: Store) -> None:
    """After done the worker says no more, but stays until its results are acknowledged."""
    with RunningWorker() as worker:
        worker.prepare(_prepare(store))
        said = list(worker.messages())
        with pytest.raises(subprocess.TimeoutExpired):
            worker.process.wait(0.2)
        worker.acknowledge(_SAMPLES - 1)
        code, stderr = worker.end()

    assert said[-1].HasField("done")
    assert (code, stderr) == (0, "")


def test_hanging_up_after_done_is_no_fault(store: Store) -> None:
    """A daemon may close as soon as it has read done: the worker exits 0."""
    with RunningWorker() as worker:
        worker.prepare(_prepare(store))
        worker.until("done")
        worker.hang_up()

        assert worker.end() == (0, "")


def test_frames_may_be_cut_and_joined_anywhere(store: Store) -> None:
    """A prepare that comes byte by byte, and several messages that come at once, are understood."""
    prepare = ToWorker(prepare=_prepare(store, window=2)).SerializeToString()
    with RunningWorker() as worker:
        for byte in struct.pack(">I", len(prepare)) + prepare:
            worker.socket.sendall(bytes([byte]))
        first = _results(worker, 2)
        worker.channel.send(ToWorker(ack=Ack(index=0)), ToWorker(ack=Ack(index=1)))
        then = _results(worker, 2)
        worker.channel.send(ToWorker(ack=Ack(index=3)), ToWorker(stop=Stop()))
        assert worker.until("done").done.stopped

    assert (first, then) == ([0, 1], [2, 3])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (struct.pack(">I", MAX_FRAME + 1), f"a frame of {MAX_FRAME + 1} bytes: it must have 1 to {MAX_FRAME}"),
        (struct.pack(">I", 0), f"a frame of 0 bytes: it must have 1 to {MAX_FRAME}"),
        (struct.pack(">I", 3) + b"\xff\xff\xff", "a frame of 3 bytes is not a ToWorker"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes"),
        (b"\x00\x00\x00\x04\xba\x3e\x01x", "a ToWorker without a message that is known here"),
        (b"\x00\x00\x00\x02\x1a\x00", "the first message must be prepare"),
    ],
)
def test_nonsense_from_the_daemon_ends_the_worker(data: bytes, problem: str) -> None:
    """What is not the protocol is said on standard error, with an exit code of its own."""
    with RunningWorker() as worker:
        worker.socket.sendall(data)
        code, stderr = worker.end()

    assert code == 4
    assert stderr.startswith(f"orinbench worker: {problem}")
    assert stderr.count("\n") == 1


def test_nonsense_in_mid_run_ends_the_worker(store: Store) -> None:
    """A second prepare cannot be meant: the worker ends although its main thread is busy."""
    prepare = _prepare(store, delay_ms=3_600_000)
    with RunningWorker() as worker:
        worker.prepare(prepare)
        worker.prepare(prepare)

        assert worker.end() == (4, "orinbench worker: prepare came twice\n")


@pytest.mark.parametrize(
    "fields", [{"first_index": 1}, {"planned_samples": 0}, {"window": 0}, {"segment": 0}, {"model_digest": "sha256:x"}]
)
def test_a_prepare_that_asks_for_nothing_is_refused(store: Store, fields: dict[str, int]) -> None:
    """A prepare by which nothing could be computed is the daemon's mistake, and says so."""
    prepare = store.prepare(store.put_model("null"), store.put_inputs([b"a"]), 1)
    for name, value in fields.items():
        setattr(prepare, name, value)
    said: list[FromWorker] = run(prepare)

    assert said[-1].failure.reason == "PREPARE_INVALID"


def test_what_a_library_prints_goes_to_standard_error(store: Store, trial_path: Path) -> None:
    """Standard output is the daemon's: what an engine prints must not appear there."""
    prepare = store.prepare(store.put_model("trial", options={"fault": "print"}), store.put_inputs([b"a"]), 1)
    with RunningWorker(trial_path) as worker:
        worker.prepare(prepare)
        worker.until("done")
        worker.hang_up()
        code, stderr = worker.end()

    assert code == 0
    assert "a library that prints" in stderr
