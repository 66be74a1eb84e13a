"""A damaged journal: what can be read is saved into a new one, the old one is kept as it is.

    journal.sqlite.broken-1     the damaged file (and its -wal), never changed or deleted
    journal.sqlite.salvaging    the new one while it is filled: thrown away if the daemon dies meanwhile
    journal.sqlite.salvaged     the new one, whole: the next start goes on from here

A history is only ever shortened at its end. An unfinished run that lost records cannot go on: a client may have seen
what is gone. It fails by name; following it gives what is left and then JOURNAL_DAMAGED.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from google.protobuf.message import DecodeError
from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2

from orinbenchd.artifacts.store import sync_folder
from orinbenchd.failpoints import failpoint
from orinbenchd.journal.schema import VERSION, migrate, open_reader
from orinbenchd.runs.machine import JOURNAL_DAMAGED, TERMINAL
from orinbenchd.runs.records import FRAME_HEAD, now
from orinbenchd.start_error import StartError

log = structlog.get_logger("journal")
_SALVAGED = failpoint("journal.salvaged")
_MOVED = failpoint("journal.salvage.moved")

Row = tuple[Any, ...]
# Tried one by one; a damaged page may claim any number.
_MOST_ROWS = 1_000_000
# What a row gives whose bytes changed: another type, text that is none, a message that is none.
_UNREADABLE = (sqlite3.Error, DecodeError, TypeError)


@dataclass
class Saved:
    """What came of a salvage: ids of runs kept whole, and of those that lost something ("number N": even the id)."""

    whole: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)


def check(path: Path) -> None:
    """See that the journal can be read from end to end; else salvage what can be. Raises StartError.

    Opening read-only, so that a damaged file stays as it was found.
    """
    _finish_move(path)
    if not path.exists():
        return
    problem = _problem(path)
    if not problem:
        return
    try:
        saved = _build(path)
        _finish_move(path)
    except (OSError, sqlite3.Error) as error:
        raise StartError(
            f"journal {path} is damaged ({problem}) and what is left cannot be saved: {error}; it is unchanged"
        ) from None
    log.error(
        "the journal was damaged: what could be read is saved",
        reason=problem,
        kept_as=str(broken(path)[-1]),
        runs_whole=len(saved.whole),
        runs_touched=saved.touched,
    )


def broken(path: Path) -> list[Path]:
    """Return the damaged journals that are kept, oldest first."""
    return sorted((kept for kept in path.parent.glob(f"{path.name}.broken-*") if _place(kept)), key=_place)


def _place(kept: Path) -> int:
    """Return the number of a damaged journal; 0 for what lies beside one."""
    number = kept.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _problem(path: Path) -> str:
    """Return what is wrong with the file; empty when nothing is. Other troubles are left to whoever opens it."""
    try:
        with closing(open_reader(path)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found == "ok":
                return _unreadable(connection)
    except sqlite3.OperationalError:
        return ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return str(found)


def _unreadable(connection: sqlite3.Connection) -> str:
    """Say what a start could not read although the file's structure is sound: one changed byte is enough."""
    if not 0 < connection.execute("PRAGMA user_version").fetchone()[0] <= VERSION:
        return ""
    try:
        for number, state, blob in connection.execute("SELECT number, state, run FROM runs"):
            run_pb2.Run.FromString(blob)
            if state in TERMINAL:
                continue
            for seq, kind, body in connection.execute("SELECT seq, kind, body FROM records WHERE run = ?", (number,)):
                if _kind(body) != kind:
                    return f"record {seq} of run number {number} cannot be read"
    except _UNREADABLE as error:
        return f"the row of a run cannot be read: {error}"
    return ""


def _build(path: Path) -> Saved:
    begun = path.with_name(path.name + ".salvaging")
    begun.unlink(missing_ok=True)
    with (
        closing(open_reader(path)) as old,
        closing(sqlite3.connect(begun, isolation_level=None)) as new,
    ):
        new.execute("PRAGMA auto_vacuum = INCREMENTAL")
        migrate(new)
        new.execute("BEGIN")
        saved = _copy(old, new)
        new.execute("COMMIT")
    begun.rename(path.with_name(path.name + ".salvaged"))
    sync_folder(path.parent)
    _SALVAGED()
    return saved


def _finish_move(path: Path) -> None:
    """Put a whole salvaged journal in the place of the damaged one, from wherever an earlier daemon stopped."""
    salvaged = path.with_name(path.name + ".salvaged")
    if not salvaged.exists():
        return
    wal = path.with_name(path.name + "-wal")
    if path.exists():
        place = 1 + max(map(_place, broken(path)), default=0)
        path.rename(path.with_name(f"{path.name}.broken-{place}"))
        sync_folder(path.parent)
    _MOVED()
    if wal.exists():
        wal.rename(broken(path)[-1].with_name(broken(path)[-1].name + "-wal"))
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    salvaged.rename(path)
    sync_folder(path.parent)


def _copy(old: sqlite3.Connection, new: sqlite3.Connection) -> Saved:
    saved, numbers = Saved(), set[int]()
    for row in _read(old, "removed"):
        with suppress(*_UNREADABLE):
            new.execute("INSERT OR IGNORE INTO removed VALUES (?, ?, ?, ?, ?)", row)
            numbers.add(row[0])
    for row in _read(old, "runs"):
        new.execute("SAVEPOINT one")
        try:
            whole = _copy_run(old, new, row)
        except _UNREADABLE:
            new.execute("ROLLBACK TO one")
            whole = False
        new.execute("RELEASE one")
        (saved.whole if whole else saved.touched).append(row[0] if isinstance(row[0], str) else f"number {row[1]}")
        numbers.add(row[1])
    saved.touched += [f"number {number}" for number in _with_records(old) if number not in numbers]
    return saved


def _copy_run(old: sqlite3.Connection, new: sqlite3.Connection, row: Row) -> bool:
    """Copy a run and its records; return whether all of them are there. Raises what an unreadable row gives."""
    run_id, number, request_id, plan, state, blob = row
    run = run_pb2.Run.FromString(blob)
    kept, whole = _copy_records(old, new, number, run)
    if not whole and state not in TERMINAL:
        state = _fail(run, kept)
    values = (run_id, number, request_id, plan, state, run.SerializeToString())
    new.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", values)
    return whole


def _with_records(connection: sqlite3.Connection) -> Iterator[int]:
    """Yield the numbers of runs that have records, as far as they can be read."""
    number: int | None = 0
    with suppress(sqlite3.DatabaseError):
        while number is not None:
            query = "SELECT min(run) FROM records WHERE run > ?"
            (number,) = connection.execute(query, (number,)).fetchone()
            if number is not None:
                yield number


def _read(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Yield the rows that can be read: from both ends, then one by one in between."""
    found: dict[int, Row] = {}
    for order in ("ASC", "DESC"):
        with suppress(sqlite3.DatabaseError):
            for rowid, *row in connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid {order}"):  # noqa: S608
                found[rowid] = tuple(row)
    # Up to Python 3.10 not even the row before a bad one comes.
    last = max(found, default=0)
    with suppress(sqlite3.DatabaseError):
        last = max(last, connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)  # noqa: S608
    for rowid in range(1, min(last, _MOST_ROWS) + 1):
        if rowid not in found:
            with suppress(sqlite3.DatabaseError):
                for row in connection.execute(f"SELECT * FROM {table} WHERE rowid = ?", (rowid,)):  # noqa: S608
                    found[rowid] = row
    yield from (found[rowid] for rowid in sorted(found))


def _copy_records(old: sqlite3.Connection, new: sqlite3.Connection, number: int, run: run_pb2.Run) -> tuple[int, bool]:
    """Copy a run's records up to the first that is missing or unreadable; return how many, and whether that is all."""
    kept, whole, digest = 0, True, ""
    state = hashlib.sha256()
    try:
        for row in old.execute("SELECT * FROM records WHERE run = ? ORDER BY seq", (number,)):
            _, seq, kind, _, body = row
            if seq != kept + 1 or _kind(body) != kind:
                whole = False
                break
            digest = state.hexdigest()
            state.update(FRAME_HEAD.pack(seq, len(body)) + body)
            new.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
            kept = seq
    except sqlite3.DatabaseError:
        whole = False
    if run.state in TERMINAL:
        whole = whole and run.record_digest == f"sha256:{digest}"
    return kept, whole and kept >= run.last_seq


def _kind(body: bytes) -> int:
    try:
        name = pb.RecordBody.FromString(body).WhichOneof("body")
    except (DecodeError, TypeError):
        return 0
    return pb.RecordKind.Value(f"RECORD_KIND_{name.upper()}") if name else 0


def _fail(run: run_pb2.Run, kept: int) -> pb.RunState:
    run.state = pb.RUN_STATE_FAILED
    run.last_seq = kept
    run.end_time.CopyFrom(now())
    run.failure.CopyFrom(
        pb.Failure(
            failure_class=pb.FAILURE_CLASS_INFRASTRUCTURE,
            reason=JOURNAL_DAMAGED,
            message=f"the board's journal was damaged: of this run {kept} records are left; submit it again",
        )
    )
    return run.state
