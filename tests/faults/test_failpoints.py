"""The daemon dies at every failpoint there is: each time the next daemon goes on, and every promise holds."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import grpc
import orinbenchd.server  # noqa: F401  # all modules of the daemon, and with them all failpoints
import pytest
from orinbench.v1 import artifact_pb2, record_pb2, run_pb2
from orinbenchd import failpoints

from tests.faults.journal import damage
from tests.faults.validators import Stream, durable, exclusive, resumable, whole
from tests.integration.harness import Daemon, Wire, connect, reason_of

# Up to thirteen daemons, one after the other.
pytestmark = pytest.mark.timeout(400)
SAMPLES = 40


class Player:
    """A daemon that dies again and again, what its clients saw, and the runs they asked for."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.daemon = Daemon(folder, **settings)
        self.streams: dict[str, list[Stream]] = {}
        self.plans: dict[str, run_pb2.RunPlan] = {}

    def die_at(self, rule: str, play: Callable[[Player, Wire, str], None]) -> None:
        """Start with a failpoint armed and play until the daemon is dead: that, and nothing else, must end it."""
        name = rule.partition("@")[0]
        skip = rule.removeprefix(name)
        if self.daemon.launch(ORINBENCH_FAILPOINTS=f"{name}=exit{skip}"):
            with connect(self.daemon) as wire, suppress(grpc.RpcError):
                play(self, wire, name)
        assert self.daemon.ended() == failpoints.EXIT_CODE, f"nobody came to {rule}: {self.daemon.log[-2000:]}"

    def submit(self, wire: Wire, request_id: str, samples: int = SAMPLES, delay_ms: float = 1) -> run_pb2.Run:
        """Ask for a run; asking again gives the same one, and one that was given up goes on."""
        if request_id not in self.plans:
            self.plans[request_id] = wire.plan(samples, delay_ms=delay_ms)
        run = wire.create(self.plans[request_id], request_id)
        if run.state == record_pb2.RUN_STATE_FAILED:
            run = wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name)).run
        return run

    def follow(self, wire: Wire, name: str) -> None:
        """Take up a run's stream behind what came before, and keep what comes, until it ends or breaks."""
        streams = self.streams.setdefault(name, [])
        last = next((s.records[-1].seq for s in reversed(streams) if s.records), 0)
        records: list[record_pb2.Record] = []
        streams.append(Stream(last, records))
        # What came before the link broke counts too.
        records.extend(wire.watch(name, last))

    def judge(self) -> None:
        """Let every run come to its end under a daemon that lives, and hold all of them against the promises."""
        self.daemon.start()
        histories = []
        with connect(self.daemon) as wire:
            for request_id in self.plans:
                run = self.submit(wire, request_id)
                self.follow(wire, run.name)
                history = list(wire.watch(run.name))
                finished = whole(history, run.planned_samples)
                assert finished.state in (record_pb2.RUN_STATE_SUCCEEDED, record_pb2.RUN_STATE_CANCELLED)
                durable(self.streams[run.name], history)
                resumable(self.streams[run.name])
                histories.append(history)
            exclusive(histories)
            assert len(wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs) == len(self.plans)


def follow_run(player: Player, wire: Wire, name: str) -> None:
    """One run; a new one when that is done."""
    while True:
        run = player.submit(wire, f"run-{len(player.plans)}" if not player.plans else list(player.plans)[-1])
        player.follow(wire, run.name)
        player.submit(wire, f"run-{len(player.plans)}")


def upload_and_submit(player: Player, wire: Wire, name: str) -> None:
    """An artifact and a run of its own."""
    wire.put(name.encode() * 1000)
    player.submit(wire, name, samples=2)


def delete_artifact(player: Player, wire: Wire, name: str) -> None:
    """An artifact that nobody needs is removed."""
    wire.artifacts.DeleteArtifact(artifact_pb2.DeleteArtifactRequest(digest=wire.put(name.encode())))


def cancel_run(player: Player, wire: Wire, name: str) -> None:
    """A run is cancelled."""
    run = player.submit(wire, name, delay_ms=50)
    wire.until_sample(run.name, 3)
    wire.runs.CancelRun(run_pb2.CancelRunRequest(name=run.name))


def resume_run(player: Player, wire: Wire, name: str) -> None:
    """A run whose worker was killed goes on by request."""
    run = player.submit(wire, name, delay_ms=50)
    wire.until_sample(run.name, 3)
    player.daemon.worker.kill()
    player.follow(wire, run.name)
    player.submit(wire, name)


def stop_in_a_run(player: Player, wire: Wire, name: str) -> None:
    """The daemon is told to stop in mid-run."""
    run = player.submit(wire, f"run-{name}", delay_ms=50)
    wire.until_sample(run.name, 3)
    player.daemon.send(signal.SIGTERM)
    player.follow(wire, run.name)


def nothing(player: Player, wire: Wire, name: str) -> None:
    """The daemon dies at its start."""


Play = Callable[[Player, Wire, str], None]
GROUPS: dict[str, tuple[Play, list[str]]] = {
    "submit": (
        upload_and_submit,
        [
            "artifact.chunk",
            "artifact.synced",
            "artifact.renamed",
            "artifact.published",
            "run.create.checked",
            "run.created",
        ],
    ),
    "run": (
        follow_run,
        [
            "run.dequeued",
            "run.begun",
            "run.preflight.passed",
            "worker.spawn",
            "worker.spawned",
            "worker.hello",
            "worker.ready",
            "worker.result@3",
            "journal.commit.before@6",
            "journal.commit.after@6",
            "worker.ack.before@1",
            "worker.ack.after@1",
            "watch.page@1",
        ],
    ),
    "end": (
        follow_run,
        [
            "worker.done",
            "worker.stopped",
            "run.finishing",
            "run.settled",
            "run.concluded",
            "run.ended",
        ],
    ),
    "cancel": (cancel_run, ["run.cancelling"]),
    "resume": (resume_run, ["run.resumed"]),
    "stop": (stop_in_a_run, ["stop.draining", "stop.streams", "stop.worker", "journal.close"]),
    "delete": (delete_artifact, ["artifact.deleted"]),
}
# These need a daemon of another kind: a run to recover, a damaged journal, a retention.
AT_START = ["start.opened", "run.recovered", "start.bound"]
SALVAGE = ["journal.salvaged", "journal.salvage.moved"]
RETENTION = ["retention.removed", "retention.purged"]


@pytest.fixture
def player(folder: Path) -> Iterator[Player]:
    """A player in a folder of its own."""
    made = Player(folder)
    try:
        yield made
    finally:
        made.daemon.close()


def test_every_failpoint_of_the_code_is_died_at() -> None:
    """The names below are those of the code, no more and no fewer."""
    played = [rule.partition("@")[0] for _, rules in GROUPS.values() for rule in rules]

    assert sorted(failpoints.NAMES) == sorted([*played, *AT_START, *SALVAGE, *RETENTION])


@pytest.mark.parametrize("group", GROUPS)
def test_a_daemon_that_dies_there_keeps_its_promises(player: Player, group: str) -> None:
    """After a death at each failpoint of a group, one after the other, all runs end and every validator holds."""
    play, rules = GROUPS[group]
    for rule in rules:
        player.die_at(rule, play)
    player.judge()


def test_a_daemon_that_dies_at_its_start_keeps_its_promises(player: Player) -> None:
    """Dying again and again while it takes up an unfinished run loses nothing of it."""
    player.die_at("worker.result@3", follow_run)
    for rule in AT_START:
        player.die_at(rule, nothing)
    player.judge()


def test_a_salvage_that_dies_is_taken_up_again(player: Player) -> None:
    """Wherever a salvage of a damaged journal is cut off, the next daemon ends it; the damaged file is kept once."""
    player.die_at("run.ended", follow_run)
    journal = player.daemon.folder / "data" / "journal.sqlite"
    damage(journal, "runs_by_state")
    for rule in SALVAGE:
        player.die_at(rule, nothing)
    player.judge()

    kept = [path.name for path in journal.parent.glob("*.broken*") if not path.name.endswith("-wal")]
    assert kept == ["journal.sqlite.broken-1"]


def test_a_removal_that_dies_is_taken_up_again(folder: Path) -> None:
    """Wherever the removal of an old run is cut off, the run is gone for clients and its records go too."""
    player = Player(folder, retention={"run_days": 1e-9})
    try:
        for rule in RETENTION:
            player.die_at(rule, lambda player, wire, name: player.follow(wire, player.submit(wire, name).name))
        player.daemon.start()
        with connect(player.daemon) as wire:
            for name in player.streams:
                with pytest.raises(grpc.RpcError, match="was removed on") as error:
                    wire.get(name)
                assert reason_of(error.value)[1] == "RUN_NOT_FOUND"
        with closing(sqlite3.connect(folder / "data" / "journal.sqlite")) as journal:
            until = time.monotonic() + 60
            while journal.execute("SELECT count(*) FROM records").fetchone() != (0,):
                assert time.monotonic() < until, "records of removed runs stay"
                time.sleep(0.05)
    finally:
        player.daemon.close()


def test_an_unknown_failpoint_is_refused(folder: Path) -> None:
    """Arming what is not there ends the start with its own exit code and a line that says so."""
    daemon = Daemon(folder)
    assert not daemon.launch(ORINBENCH_FAILPOINTS="journal.comit=exit")
    assert daemon.ended() == 78
    assert "there is no failpoint journal.comit" in daemon.log


@pytest.mark.parametrize(
    ("rule", "reason"), [("worker.spawn=error", "DAEMON_ERROR"), ("worker.ready=error", "DAEMON_ERROR")]
)
def test_an_error_in_the_daemon_is_its_own_failure(folder: Path, rule: str, reason: str) -> None:
    """An exception in a segment fails that run as infrastructure; the next run works."""
    daemon = Daemon(folder)
    daemon.start(ORINBENCH_FAILPOINTS=rule + "*1")
    try:
        with connect(daemon) as wire:
            failed = whole(list(wire.watch(wire.create(wire.plan(3)).name)), 3)
            assert whole(list(wire.watch(wire.create(wire.plan(3)).name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED
    finally:
        daemon.close()

    assert (failed.failure.failure_class, failed.failure.reason) == (record_pb2.FAILURE_CLASS_INFRASTRUCTURE, reason)


def test_a_journal_that_cannot_commit_ends_the_daemon(folder: Path) -> None:
    """An error in a commit is never retried: the daemon ends with code 1, and the next one has all it acknowledged."""
    daemon = Daemon(folder)
    daemon.start(ORINBENCH_FAILPOINTS="journal.commit.before=error@8")
    player = Player(folder)
    try:
        with connect(daemon) as wire:
            run = player.submit(wire, "run")
            with suppress(grpc.RpcError):
                player.follow(wire, run.name)
        assert daemon.ended() == 1
        player.judge()
    finally:
        daemon.close()
        player.daemon.close()
