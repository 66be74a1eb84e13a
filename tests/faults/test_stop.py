"""How a daemon stops: in order, within bounds, and with a code that says what it was."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import grpc
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from orinbench.v1 import board_pb2, record_pb2

from tests.faults.validators import Stream, durable, resumable, whole
from tests.integration.harness import Daemon, connect, reason_of, running, samples_of


def ends_of(watching: threading.Thread) -> None:
    watching.join(30)
    assert not watching.is_alive(), "a stream outlived its daemon"


def test_a_stop_ends_streams_with_a_reason_and_the_worker_after_its_sample(idle_daemon: Daemon) -> None:
    """Watchers get DRAINING, health says NOT_SERVING before that, the sample in work is kept, and the code is 0."""
    errors: list[grpc.RpcError] = []
    seen: list[record_pb2.Record] = []
    answers: list[int] = []
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        # Long enough that the stop comes in the middle of a sample.
        run = wire.create(wire.plan(4, delay_ms=1500))
        health = health_pb2_grpc.HealthStub(wire.channel)
        answer = health.Watch(health_pb2.HealthCheckRequest(service="orinbench.v1.RunService"))

        def watch() -> None:
            try:
                seen.extend(wire.watch(run.name))
            except grpc.RpcError as error:
                errors.append(error)

        def telemetry() -> None:
            try:
                for _ in wire.board.WatchTelemetry(board_pb2.WatchTelemetryRequest(interval_s=60)):
                    pass
            except grpc.RpcError as error:
                errors.append(error)

        def ask() -> None:
            with suppress(grpc.RpcError):
                answers.extend(found.status for found in answer)

        threads = [threading.Thread(target=target) for target in (watch, telemetry, ask)]
        for thread in threads:
            thread.start()
        wire.until_sample(run.name, 0)
        worker = idle_daemon.worker
        assert idle_daemon.stop() == 0
        for thread in threads:
            ends_of(thread)
    assert not worker.is_running()
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        rest = list(wire.watch(run.name, seen[-1].seq))
        history = list(wire.watch(run.name))

    assert {reason_of(error)[1] for error in errors} == {"DRAINING"} and len(errors) == 2
    assert answers == [health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING]
    streams = [Stream(0, seen), Stream(seen[-1].seq, rest)]
    resumable(streams)
    durable(streams, history)
    assert whole(history, 4).state == record_pb2.RUN_STATE_SUCCEEDED
    # Two samples of the first segment: the one that was seen, and the one in work at the stop.
    assert [sample.segment for sample in samples_of(history)] == [1, 1, 2, 2]


def test_a_stop_does_not_wait_for_ever(folder: Path) -> None:
    """A sample that does not end within drain_s is cut off, and a worker that ignores all is killed."""
    deadlines = {"drain_s": 0.5, "stop_s": 0.5}
    with running(folder, deadlines=deadlines) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(3, delay_ms=2000))
            while wire.get(run.name).state != record_pb2.RUN_STATE_RUNNING:
                time.sleep(0.01)
        worker = daemon.worker
        worker.suspend()
        began = time.monotonic()
        assert daemon.stop() == 0

    assert not worker.is_running()
    # Its parts add up to 2 s; with the grace of the defaults they would be 35.
    assert time.monotonic() - began < 30


def test_the_second_signal_ends_it_at_once(idle_daemon: Daemon) -> None:
    """Told twice, the daemon does not wait for anything: it ends with 128 + 15, and the run goes on in the next."""
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        run = wire.create(wire.plan(3, delay_ms=700))
        wire.until_sample(run.name, 0)
    idle_daemon.worker.suspend()
    idle_daemon.send(signal.SIGTERM)
    while "stopping" not in idle_daemon.log:
        time.sleep(0.01)
    idle_daemon.send(signal.SIGTERM)
    assert idle_daemon.ended() == 128 + signal.SIGTERM
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        assert whole(list(wire.watch(run.name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED


def test_a_run_that_is_being_finished_is_finished(idle_daemon: Daemon) -> None:
    """A stop while all that is left is the verdict waits for the verdict: no second segment."""
    idle_daemon.start(ORINBENCH_FAILPOINTS="run.finishing=sleep(1000)")
    with connect(idle_daemon) as wire:
        run = wire.create(wire.plan(3))
        wire.until_sample(run.name, 2)
    assert idle_daemon.stop() == 0
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        history = list(wire.watch(run.name))

    whole(history, 3)
    assert {sample.segment for sample in samples_of(history)} == {1}


@pytest.mark.root
def test_a_data_directory_that_cannot_be_written_is_a_start_failure(idle_daemon: Daemon) -> None:
    """On a read-only disk the daemon ends with 78 and one line that names the folder."""
    data = idle_daemon.folder / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", data], check=True)
    try:
        assert not idle_daemon.launch()
        assert idle_daemon.ended() == 78
    finally:
        subprocess.run(["umount", data], check=True)

    assert f"orinbenchd: data_dir {data}: cannot be written: Read-only file system" in idle_daemon.log


@pytest.mark.parametrize("noted", [True, False])
def test_a_frozen_worker_of_a_killed_daemon_does_not_stay_beside_the_next(folder: Path, noted: bool) -> None:
    """It cannot see that its daemon is gone; the next one ends it before it starts its own, noted or not yet noted."""
    with running(folder, isolation="none") as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(40, delay_ms=50))
            wire.until_sample(run.name, 3)
        worker = daemon.worker
        worker.suspend()
        daemon.kill()
        until = time.monotonic() + 10
        while worker.status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < until, worker.status()
            time.sleep(0.01)
        if not noted:
            # The daemon was killed just after the start of its worker.
            (folder / "data" / "worker.json").unlink()
        daemon.start()
        assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
        with connect(daemon) as wire:
            assert whole(list(wire.watch(run.name)), 40).state == record_pb2.RUN_STATE_SUCCEEDED
