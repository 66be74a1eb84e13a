"""A board whose GPU or worker cannot be got back: it says so, holds its queue, and goes on when that is over."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import psutil
import pytest
from orinbench.v1 import board_pb2, record_pb2

from tests.faults.gpu import PlayedGpu
from tests.faults.played import play
from tests.faults.validators import finished_of, whole
from tests.integration.harness import Daemon, Wire, check_history, connect, reason_of, running

_WORKER = """
import os, socket, sys
from orinbench.internal.v1 import worker_pb2 as w
from orinbench.v1 import record_pb2 as pb
from orinbench_engines.protocol import Channel

channel = Channel(socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1])), receives=w.ToWorker)
channel.send(w.FromWorker(hello=w.Hello(protocol=1)))
channel.receive()
channel.send(w.FromWorker(ready=w.Ready()))
channel.send(w.FromWorker(phase=w.Phase(kind=w.PHASE_KIND_SAMPLING)))
"""
# Into a freezer of the kernel: it takes no signal there, not even SIGKILL, until it is thawed.
_FREEZE = """
open({group!r} + "/cgroup.procs", "w").write(str(os.getpid()))
open({group!r} + "/freezer.state", "w").write("FROZEN")
channel.receive()
"""
_LOST = """
channel.send(w.FromWorker(failure=pb.Failure(failure_class=pb.FAILURE_CLASS_BOARD, reason="GPU_LOST", message="gone")))
"""


@pytest.fixture
def freezer() -> Iterator[Path]:
    """A freezer group of the kernel, thawed and removed afterwards."""
    group = Path(f"/sys/fs/cgroup/freezer/orinbench-test-{os.getpid()}")
    if not group.parent.is_dir():
        pytest.skip("needs a kernel with the freezer of cgroup v1")
    group.mkdir()
    try:
        yield group
    finally:
        thaw(group)
        group.rmdir()


def thaw(group: Path) -> None:
    """Let everybody in a freezer go, and wait until they have gone."""
    (group / "freezer.state").write_text("THAWED")
    for pid in (group / "cgroup.procs").read_text().split():
        psutil.Process(int(pid)).wait(10)


def daemon_with(folder: Path, worker: str) -> Daemon:
    """Make a daemon whose runtime "bad" runs a worker of ours."""
    runtimes = {
        "default": {"python": sys.executable},
        "bad": {"python": str(play(folder / "python", _WORKER + worker))},
    }
    # In a sandbox no worker could reach the freezer.
    return Daemon(
        folder, isolation="none", runtimes=runtimes, deadlines={"first_sample_s": 3.0, "stop_s": 0.2, "reap_s": 0.5}
    )


def board(wire: Wire) -> board_pb2.Board:
    return wire.board.GetBoard(board_pb2.GetBoardRequest()).board


def refused(wire: Wire) -> None:
    """See that no run is taken, with a hint."""
    with pytest.raises(grpc.RpcError) as error:
        wire.create(wire.plan(2))
    code, reason, metadata = reason_of(error.value)
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "BOARD_WEDGED")
    assert "restart the board" in metadata["hint"]


@pytest.mark.root
def test_a_worker_that_cannot_be_killed_wedges_the_board(folder: Path, freezer: Path) -> None:
    """Its run fails as the board's, the queue is held, also by the next daemon, until the worker is gone."""
    daemon = daemon_with(folder, _FREEZE.format(group=str(freezer)))
    daemon.start()
    try:
        with connect(daemon) as wire:
            bad = wire.create(wire.plan(2, runtime="bad"))
            held = wire.create(wire.plan(3))
            finished = finished_of(list(wire.watch(bad.name)))
            (pid,) = (freezer / "cgroup.procs").read_text().split()
            shown = board(wire)
            refused(wire)
        assert daemon.stop() == 0
        daemon.start()
        with connect(daemon) as wire:
            again = board(wire)
            refused(wire)
            assert wire.get(held.name).state == record_pb2.RUN_STATE_QUEUED
        assert daemon.stop() == 0
        thaw(freezer)
        daemon.start()
        with connect(daemon) as wire:
            assert whole(list(wire.watch(held.name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED
            assert board(wire).state != board_pb2.BOARD_STATE_WEDGED
    finally:
        daemon.close()

    failure = finished.failure
    assert (failure.failure_class, failure.reason) == (record_pb2.FAILURE_CLASS_BOARD, "BOARD_WEDGED")
    assert shown.state == again.state == board_pb2.BOARD_STATE_WEDGED
    assert f"worker {pid}" in shown.state_reason and f"worker {pid}" in again.state_reason
    assert "restart the board" in shown.state_reason


def test_a_gpu_that_is_lost_wedges_the_board_until_a_restart(folder: Path) -> None:
    """When the worker says so the run fails as the board's, no further one is started, and a restart tries again."""
    daemon = daemon_with(folder, _LOST)
    daemon.start()
    try:
        with connect(daemon) as wire:
            plan = wire.plan(3)
            finished = finished_of(list(wire.watch(wire.create(wire.plan(2, runtime="bad")).name)))
            assert board(wire).state == board_pb2.BOARD_STATE_WEDGED
            refused(wire)
        daemon.stop()
        daemon.start()
        with connect(daemon) as wire:
            assert whole(list(wire.watch(wire.create(plan).name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED
    finally:
        daemon.close()

    assert finished.failure.reason == "GPU_LOST"


def test_a_gpu_that_nvml_has_lost_wedges_the_board(folder: Path) -> None:
    """The run in work fails as the board's at once; the next daemon starts, its first run wedges the board again."""
    gpu = PlayedGpu(folder)
    daemon = Daemon(folder, profile=gpu.profile)
    daemon.start(**gpu.environment)
    try:
        with connect(daemon) as wire:
            plan = wire.plan(1000, delay_ms=20)
            run = wire.create(plan)
            wire.until_sample(run.name, 3)
            gpu.becomes(lost=True)
            first = finished_of(list(wire.watch(run.name)))
            shown = board(wire)
            refused(wire)
        assert daemon.stop() == 0
        daemon.start(**gpu.environment)
        with connect(daemon) as wire:
            assert "GPU is lost" in board(wire).identity.absent_reasons["gpus"]
            checked = wire.board.CheckBoard(board_pb2.CheckBoardRequest())
            second = finished_of(list(wire.watch(wire.create(plan).name)))
            assert board(wire).state == board_pb2.BOARD_STATE_WEDGED
        assert daemon.stop() == 0
        gpu.becomes()
        daemon.start(**gpu.environment)
        with connect(daemon) as wire:
            assert whole(list(wire.watch(wire.create(wire.plan(2)).name)), 2).state == record_pb2.RUN_STATE_SUCCEEDED
    finally:
        daemon.close()

    assert first.accepted_samples < 1000
    for failure in (first.failure, second.failure):
        assert (failure.failure_class, failure.reason) == (record_pb2.FAILURE_CLASS_BOARD, "GPU_LOST")
        assert "GPU is lost" in failure.message
    assert shown.state == board_pb2.BOARD_STATE_WEDGED and "GPU is lost" in shown.state_reason
    assert not checked.passed


def test_a_competitor_with_any_name_is_told(folder: Path) -> None:
    """A name that the kernel has cut inside a character is a competitor's like another, and the run goes on."""
    gpu = PlayedGpu(folder)
    code = (
        "import ctypes, sys; ctypes.CDLL(None).prctl(15, 'x训练服务器'.encode(), 0, 0, 0); print(flush=True); input()"
    )
    with (
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other,
        running(folder, environment=gpu.environment, profile=gpu.profile) as daemon,
        connect(daemon) as wire,
    ):
        assert other.stdout is not None
        other.stdout.readline()
        run = wire.create(wire.plan(60, delay_ms=20))
        wire.until_sample(run.name, 3)
        gpu.becomes(pids=[other.pid])
        finished = check_history(list(wire.watch(run.name)), 60)
        other.communicate(b"\n")

    (told,) = [violation.message for violation in finished.violations if violation.reason == "COMPETITOR"]
    assert "x训练服务\N{REPLACEMENT CHARACTER} (pid" in told


def test_a_watch_that_fails_ends_the_run_at_once(folder: Path) -> None:
    """Nobody watches the board any more: the run fails in mid-work, nothing follows its verdict, the next one works."""
    gpu = PlayedGpu(folder)
    with running(folder, environment=gpu.environment, profile=gpu.profile) as daemon, connect(daemon) as wire:
        run = wire.create(wire.plan(1000, delay_ms=20))
        wire.until_sample(run.name, 3)
        gpu.becomes(broken=True)
        failed = finished_of(list(wire.watch(run.name)))
        gpu.becomes()
        # Its telemetry would follow the verdict of the first run.
        assert whole(list(wire.watch(wire.create(wire.plan(20, delay_ms=20)).name)), 20).violations
        again = list(wire.watch(run.name))

    assert (failed.failure.failure_class, failed.failure.reason) == (
        record_pb2.FAILURE_CLASS_INFRASTRUCTURE,
        "DAEMON_ERROR",
    )
    assert "the driver answers nonsense" in failed.failure.message
    assert 3 < failed.accepted_samples < 1000
    assert finished_of(again) == failed
