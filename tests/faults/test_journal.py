"""A journal from an older daemon, and one that a bad disk has damaged."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from orinbench.v1 import record_pb2, run_pb2
from orinbenchd.journal import salvage
from orinbenchd.journal.schema import VERSION, open_reader
from structlog.testing import capture_logs

from tests.faults.journal import change_byte, change_type, damage_records
from tests.faults.validators import Stream, durable, finished_of, whole
from tests.integration.harness import Daemon, Wire, body, connect, reason_of, running

# Written by the daemon of schema 1: a run "ended" of 5 samples, and "cut-off" whose daemon was killed after 6 of 12.
SCHEMA_1 = Path(__file__).parent / "data" / "journal-schema-1.sqlite"


def test_an_older_journal_is_taken_forwards(folder: Path) -> None:
    """A real journal of schema 1 is migrated: its ended run is served verbatim, its cut-off run goes on to the end."""
    daemon = Daemon(folder)
    daemon.start()
    with connect(daemon) as wire:
        plan = wire.plan(12, delay_ms=30)
    daemon.stop()
    journal = folder / "data" / "journal.sqlite"
    shutil.copy(SCHEMA_1, journal)
    with closing(sqlite3.connect(journal)) as old:
        before = old.execute("SELECT seq, kind, body FROM records WHERE run = 1 ORDER BY seq").fetchall()
    with running(folder) as daemon, connect(daemon) as wire:
        names = [run.name for run in wire.runs.ListRuns(run_pb2.ListRunsRequest()).runs]
        ended = list(wire.watch(names[1]))
        assert wire.create(plan, "cut-off").name == names[0]
        cut_off = list(wire.watch(names[0]))

    assert [(record.seq, record.kind, record.body) for record in ended] == before
    assert whole(ended, 5).state == whole(cut_off, 12).state == record_pb2.RUN_STATE_SUCCEEDED
    with closing(sqlite3.connect(journal)) as new:
        assert new.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert new.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def lost(wire: Wire, name: str) -> tuple[list[record_pb2.Record], grpc.RpcError]:
    """Follow a run that lost records: return what is left and the error behind it."""
    left: list[record_pb2.Record] = []
    with pytest.raises(grpc.RpcError) as error:
        left.extend(wire.watch(name))
    return left, error.value


def journal_after(folder: Path, unfinished: bool) -> tuple[Path, dict[str, list[record_pb2.Record]]]:
    """Make a journal of three runs; the last of them is cut off by a kill if asked. Return what clients saw."""
    seen: dict[str, list[record_pb2.Record]] = {}
    daemon = Daemon(folder)
    daemon.start()
    with connect(daemon) as wire:
        for samples in (5, 120):
            run = wire.create(wire.plan(samples, text="x" * 500))
            seen[run.name] = list(wire.watch(run.name))
        run = wire.create(wire.plan(200, delay_ms=2 if unfinished else 0, text="x" * 500))
        seen[run.name] = wire.until_sample(run.name, 80) if unfinished else list(wire.watch(run.name))
    if unfinished:
        daemon.kill()
    else:
        daemon.stop()
    return folder / "data" / "journal.sqlite", seen


@pytest.fixture(scope="module")
def journal_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of three ended runs, read only."""
    return journal_after(tmp_path_factory.mktemp("three"), unfinished=False)[0]


def test_an_unfinished_run_that_lost_records_is_given_up_by_name(folder: Path) -> None:
    """What is left of it is served verbatim, then JOURNAL_DAMAGED; it cannot go on; all other runs are whole."""
    journal, seen = journal_after(folder, unfinished=True)
    first, second, third = seen
    damage_records(journal, 3, 40)
    found = journal.read_bytes()
    with running(folder) as daemon, connect(daemon) as wire:
        run = wire.get(third)
        left, error = lost(wire, third)
        assert whole(list(wire.watch(first)), 5) == finished_of(seen[first])
        assert whole(list(wire.watch(second)), 120) == finished_of(seen[second])
        with pytest.raises(grpc.RpcError, match="can go on"):
            wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=third))
        assert whole(list(wire.watch(wire.create(wire.plan(3)).name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED
        entry = next(json.loads(line) for line in daemon.log.splitlines() if "was damaged" in line)

    assert (run.state, run.failure.reason) == (record_pb2.RUN_STATE_FAILED, "JOURNAL_DAMAGED")
    assert 10 < len(left) == run.last_seq < len(seen[third])
    durable([Stream(0, left)], seen[third])
    code, reason, metadata = reason_of(error)
    assert (code, reason, metadata["last_seq"]) == (grpc.StatusCode.DATA_LOSS, "JOURNAL_DAMAGED", str(len(left)))
    assert entry["runs_touched"] == [third.removeprefix("runs/")]
    assert (folder / "data" / "journal.sqlite.broken-1").read_bytes() == found


def test_one_changed_byte_of_an_unfinished_run_costs_that_run_alone(folder: Path) -> None:
    """The file's structure is sound and a record cannot be read: the board starts, the run has failed by name."""
    journal, seen = journal_after(folder, unfinished=True)
    first, _, third = seen
    last = seen[third][-1]
    change_byte(journal, last.body, body(last).sample.sample_id.encode())
    with running(folder) as daemon, connect(daemon) as wire:
        run = wire.get(third)
        left, _ = lost(wire, third)
        assert whole(list(wire.watch(first)), 5) == finished_of(seen[first])
        assert whole(list(wire.watch(wire.create(wire.plan(3)).name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED

    assert (run.state, run.failure.reason) == (record_pb2.RUN_STATE_FAILED, "JOURNAL_DAMAGED")
    durable([Stream(0, left)], seen[third])


@pytest.mark.parametrize("column", ["id", "request_id", "plan", "run"])
def test_a_row_that_cannot_be_read_costs_that_run_alone(journal_of_three: Path, folder: Path, column: str) -> None:
    """One changed bit in the row of a run: the others are kept, and the log names what is not."""
    journal = folder / "journal.sqlite"
    shutil.copy(journal_of_three, journal)
    change_type(journal, 2, column)
    with capture_logs() as logs:
        salvage.check(journal)
        salvage.check(journal)

    assert [(entry["runs_whole"], len(entry["runs_touched"])) for entry in logs] == [(2, 1)]
    with closing(open_reader(journal)) as saved:
        assert saved.execute("SELECT number FROM runs ORDER BY number").fetchall() == [(1,), (3,)]
        assert saved.execute("SELECT DISTINCT run FROM records ORDER BY run").fetchall() == [(1,), (3,)]


def test_a_kept_journal_is_never_overwritten(folder: Path) -> None:
    """Damaged a third time, after somebody removed the first of what was kept: the second stays what it was."""
    journal = folder / "journal.sqlite"
    for number in (1, 2, 3):
        journal.write_bytes(b"no journal %d" % number * 100)
        salvage.check(journal)
        if number == 2:
            journal.with_name("journal.sqlite.broken-1").unlink()

    kept = salvage.broken(journal)
    assert [path.name[-1] for path in kept] == ["2", "3"]
    assert kept[0].read_bytes().startswith(b"no journal 2")


def test_an_ended_run_that_lost_records_keeps_its_verdict(folder: Path) -> None:
    """Its state stands, its stream ends in JOURNAL_DAMAGED from any cursor, never in silence."""
    journal, seen = journal_after(folder, unfinished=False)
    _, second, third = seen
    damage_records(journal, 2, 60)
    with running(folder) as daemon, connect(daemon) as wire:
        assert wire.get(second).state == record_pb2.RUN_STATE_SUCCEEDED
        left, _ = lost(wire, second)
        with pytest.raises(grpc.RpcError) as error:
            list(wire.watch(second, after_seq=len(seen[second]) - 2))
        assert reason_of(error.value)[1] == "JOURNAL_DAMAGED"
        assert whole(list(wire.watch(third)), 200) == finished_of(seen[third])

    durable([Stream(0, left)], seen[second])
    assert len(left) < len(seen[second])


def test_a_file_that_is_no_journal_any_more_is_kept(folder: Path) -> None:
    """With nothing to save the daemon starts empty, keeps the file, and tells who asks for a run of it."""
    journal, seen = journal_after(folder, unfinished=False)
    journal.write_bytes(b"\xff" * 4096 + journal.read_bytes()[4096:])
    found = journal.read_bytes()
    with running(folder) as daemon, connect(daemon) as wire:
        with pytest.raises(grpc.RpcError, match=r"once damaged.*journal\.sqlite\.broken-1"):
            wire.get(next(iter(seen)))
        assert whole(list(wire.watch(wire.create(wire.plan(3)).name)), 3).state == record_pb2.RUN_STATE_SUCCEEDED

    assert (folder / "data" / "journal.sqlite.broken-1").read_bytes() == found
