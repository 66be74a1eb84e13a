"""The daemon dies in mid-run and comes back: nothing lost, nothing twice, and the interruption is visible."""

from __future__ import annotations

from pathlib import Path

import pytest
from orinbench.v1 import record_pb2

from tests.integration.harness import Daemon, body, check_history, connect, finished_of, running, samples_of


def test_a_killed_daemon_continues_in_a_second_segment(folder: Path) -> None:
    """After SIGKILL and a restart the run completes by itself; what a client saw before is still there, verbatim."""
    with running(folder) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(60, delay_ms=10))
            seen = wire.until_sample(run.name, 20)
        worker = daemon.worker
        daemon.kill()
        worker.wait(10)
        daemon.start()
        with connect(daemon) as wire:
            records = list(wire.watch(run.name))

    finished = check_history(records, 60)
    assert records[: len(seen)] == seen
    assert finished.state == record_pb2.RUN_STATE_SUCCEEDED
    assert {sample.segment for sample in samples_of(records)} == {1, 2}
    resumed = [v for v in finished.violations if v.reason == "RESUMED"]
    assert [list(v.voids) for v in resumed] == [[record_pb2.AXIS_SPEED, record_pb2.AXIS_ENERGY]]


def test_a_daemon_that_dies_in_every_segment_gives_up(folder: Path) -> None:
    """Three segments by itself, then the run fails as infrastructure, with what it had kept."""
    with running(folder) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(100, delay_ms=20))
        for number in (5, 10, 15):
            with connect(daemon) as wire:
                wire.until_sample(run.name, number)
            daemon.kill()
            daemon.start()
        with connect(daemon) as wire:
            records = list(wire.watch(run.name))

    finished = finished_of(records)
    assert finished.failure.failure_class == record_pb2.FAILURE_CLASS_INFRASTRUCTURE
    assert finished.failure.reason == "TOO_MANY_SEGMENTS"
    assert finished.accepted_samples == len(samples_of(records)) >= 16


def test_a_stopped_daemon_hands_its_run_to_the_next(folder: Path) -> None:
    """SIGTERM ends with code 0, ends the worker, and leaves the run for the next daemon; queued runs wait on."""
    with running(folder) as daemon:
        with connect(daemon) as wire:
            first = wire.create(wire.plan(40, delay_ms=20))
            second = wire.create(wire.plan(3))
            wire.until_sample(first.name, 5)
        worker = daemon.worker
        assert daemon.stop() == 0
        assert not worker.is_running()
        daemon.start()
        with connect(daemon) as wire:
            check_history(list(wire.watch(first.name)), 40)
            check_history(list(wire.watch(second.name)), 3)


def test_a_cancelling_run_is_cancelled_after_a_restart(folder: Path) -> None:
    """A run that was being cancelled when the daemon died ends as cancelled, not in a new segment."""
    from orinbench.v1 import run_pb2

    with running(folder) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(1000, delay_ms=20))
            wire.until_sample(run.name, 3)
            daemon.worker.suspend()
            wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name))
        daemon.kill()
        daemon.start()
        with connect(daemon) as wire:
            records = list(wire.watch(run.name))

    assert finished_of(records).state == record_pb2.RUN_STATE_CANCELLED
    reached = [body(r).state.state for r in records if r.kind == record_pb2.RECORD_KIND_STATE]
    assert reached.count(record_pb2.RUN_STATE_RUNNING) == 1


def test_one_data_directory_has_one_daemon(folder: Path) -> None:
    """A second daemon on the same folder is told so and changes nothing."""
    with running(folder) as first:
        second = Daemon(folder, socket="other.sock")
        with pytest.raises(AssertionError, match="another daemon uses it"):
            second.start()
        second.close()
        with connect(first) as wire:
            check_history(list(wire.watch(wire.create(wire.plan(2)).name)), 2)
