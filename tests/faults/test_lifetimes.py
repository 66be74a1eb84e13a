"""What ends or is removed by itself: runs over their time, runs nobody watches, what retention says."""

from __future__ import annotations

import os
import time
from pathlib import Path

import grpc
import pytest
from orinbench.v1 import artifact_pb2, record_pb2, run_pb2
from orinbench_profiles import digest_bytes

from tests.faults.validators import finished_of, whole
from tests.integration.harness import Daemon, Wire, body, connect, reason_of, running

DAY_S = 86_400


def listed(wire: Wire) -> list[str]:
    return [run.name for run in wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs]


def has(wire: Wire, *digests: str) -> list[bool]:
    asked = artifact_pb2.ListArtifactsRequest(page_size=1000)
    there = {artifact.digest for artifact in wire.artifacts.ListArtifacts(asked).artifacts}
    return [digest in there for digest in digests]


def test_a_time_limit_goes_over_segments(idle_daemon: Daemon) -> None:
    """The limit counts from the first start: a daemon that dies does not give the run its whole time again."""
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        plan = wire.plan(3000, delay_ms=20)
        plan.options.time_limit_s = 3
        run = wire.create(plan)
        while (began := wire.get(run.name).start_time.seconds) == 0:
            time.sleep(0.01)
    idle_daemon.kill()
    # The limit passes while nobody is there.
    time.sleep(max(began + 4 - time.time(), 0))
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        records = list(wire.watch(run.name))

    assert finished_of(records).state == record_pb2.RUN_STATE_CANCELLED
    states = [body(r).state.state for r in records if r.kind == record_pb2.RECORD_KIND_STATE]
    assert states.count(record_pb2.RUN_STATE_QUEUED) == 2
    again = states[states.index(record_pb2.RUN_STATE_QUEUED, 1) :]
    assert record_pb2.RUN_STATE_RUNNING not in again, "it computed samples although its time was over"


def test_nobody_watches_a_recovered_run_either(idle_daemon: Daemon) -> None:
    """cancel_unwatched_after_s holds on for the next daemon: a run that its client has left ends there too."""
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        plan = wire.plan(3000, delay_ms=20)
        plan.options.cancel_unwatched_after_s = 2
        run = wire.create(plan)
        wire.until_sample(run.name, 3)
    idle_daemon.kill()
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        while wire.get(run.name).state != record_pb2.RUN_STATE_CANCELLED:
            time.sleep(0.05)
        records = list(wire.watch(run.name))

    assert any("nobody watched it" in body(record).state.reason for record in records)


def test_the_journal_is_kept_under_its_size_and_gives_space_back(folder: Path) -> None:
    """The oldest ended runs go until it fits, the file shrinks, and who asks is told; the newest is whole."""
    limit_mib = 6
    journal = folder / "data" / "journal.sqlite"
    with running(folder) as daemon, connect(daemon) as wire:
        runs = [wire.create(wire.plan(150, text="x" * 20_000)) for _ in range(3)]
        last = [list(wire.watch(run.name)) for run in runs][-1]
    before = journal.stat().st_size
    with running(folder, retention={"journal_gib": limit_mib / 1024}) as daemon, connect(daemon) as wire:
        # The run goes first, its space in the file right after.
        while len(listed(wire)) > 1 or journal.stat().st_size >= limit_mib << 20:
            time.sleep(0.05)
        with pytest.raises(grpc.RpcError) as error:
            wire.get(runs[0].name)
        with pytest.raises(grpc.RpcError) as watched:
            list(wire.watch(runs[0].name))
        assert list(wire.watch(runs[2].name)) == last

    assert before > 9 << 20
    assert journal.stat().st_size < limit_mib << 20
    for raised in (error, watched):
        assert reason_of(raised.value)[:2] == (grpc.StatusCode.NOT_FOUND, "RUN_NOT_FOUND")
        assert "was removed on" in str(raised.value)
    assert whole(last, 150).state == record_pb2.RUN_STATE_SUCCEEDED


def test_a_removed_run_keeps_its_request_id(folder: Path) -> None:
    """Asking again for a run that was removed is refused by name, not run a second time in silence."""
    with running(folder, retention={"run_days": 1e-9}) as daemon, connect(daemon) as wire:
        plan = wire.plan(2)
        run = wire.create(plan, "once")
        while listed(wire):
            time.sleep(0.05)
        with pytest.raises(grpc.RpcError, match="which was removed") as error:
            wire.create(plan, "once")
        assert reason_of(error.value)[1] == "REQUEST_ID_REUSED"
        assert wire.create(plan, "twice").name != run.name


def test_old_artifacts_go_and_needed_ones_stay(idle_daemon: Daemon, folder: Path) -> None:
    """What was not asked for in a day is removed, also what was begun; what an unfinished run needs stays."""
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        old, young = wire.put(b"old"), wire.put(b"young")
        blocker = wire.create(wire.plan(3000, delay_ms=20, text="blocker"))
        waiting = wire.create(wire.plan(3, text="waiting"))
        wire.until_sample(blocker.name, 1)
        needed = [waiting.plan.model_digest, waiting.plan.inputs_digest, digest_bytes(b"nothing")]
    idle_daemon.stop()
    store = folder / "data" / "artifacts"
    past = time.time() - 2 * DAY_S
    for path in store.glob("??/*"):
        if path.name != young.removeprefix("sha256:"):
            os.utime(path, (past, past))
    part = folder / "data" / "uploads" / ("0" * 64 + ".part")
    part.write_bytes(b"begun")
    os.utime(part, (past, past))
    given_up, begun = (folder / "data" / "hub" / name for name in ("given-up", "begun"))
    for download in (given_up, begun):
        (download / "deep").mkdir(parents=True)
        (download / "deep" / "part").write_bytes(b"part")
        for path in (*download.rglob("*"), download):
            os.utime(path, (past, past))
    (begun / "deep" / "part").touch()
    with running(folder, retention={"artifact_days": 1}) as daemon, connect(daemon) as wire:
        while has(wire, old) == [True]:
            time.sleep(0.05)
        assert has(wire, young, *needed) == [True] * 4
        wire.runs.CancelRun(run_pb2.CancelRunRequest(name=blocker.name))
        assert whole(list(wire.watch(waiting.name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED

    assert (part.exists(), given_up.exists(), begun.exists()) == (False, False, True)


def test_what_cannot_be_read_holds_nothing_up(idle_daemon: Daemon, folder: Path) -> None:
    """A stranger's file among the artifacts stays; a manifest that rotted fails its run, nothing is removed before."""
    idle_daemon.start()
    with connect(idle_daemon) as wire:
        old, run = wire.put(b"old"), wire.create(wire.plan(300, delay_ms=20))
        wire.until_sample(run.name, 3)
    idle_daemon.kill()
    store = folder / "data" / "artifacts"
    manifest = store / run.plan.inputs_digest[7:9] / run.plan.inputs_digest[7:]
    manifest.chmod(0o600)
    manifest.write_bytes(manifest.read_bytes().replace(b'"s-00250"', b'"s-00250\xff'))
    stray = manifest.with_name(".half-of-a-copy")
    stray.write_bytes(b"stray")
    past = time.time() - 2 * DAY_S
    for path in store.glob("??/*"):
        os.utime(path, (past, past))
    with running(folder, retention={"artifact_days": 1}) as daemon, connect(daemon) as wire:
        assert finished_of(list(wire.watch(run.name))).failure.failure_class == record_pb2.FAILURE_CLASS_INPUT
        while has(wire, old) == [True]:
            time.sleep(0.05)
        assert whole(list(wire.watch(wire.create(wire.plan(3)).name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED
        assert f"{run.name} needs cannot be read any more" in daemon.log

    assert stray.exists()
