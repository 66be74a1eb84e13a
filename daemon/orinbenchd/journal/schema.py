"""The journal's tables, and how a database comes to have them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orinbenchd.start_error import StartError

_FIRST = """
CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    number      INTEGER NOT NULL UNIQUE,  -- order of submission
    request_id  TEXT NOT NULL UNIQUE,
    plan        BLOB NOT NULL,            -- serialised RunPlan, to tell a repeated request from a reused id
    state       INTEGER NOT NULL,
    run         BLOB NOT NULL             -- serialised Run as of the last state change
) STRICT;
CREATE INDEX runs_by_state ON runs (state);
CREATE TABLE records (
    run         INTEGER NOT NULL,         -- runs.number
    seq         INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    sample      INTEGER,                  -- index, for kind sample only
    body        BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_result_a_sample ON records (run, sample) WHERE sample IS NOT NULL;
"""

# What is left of a run that retention removed: nobody takes its id again, and who asks is told.
_REMOVED_RUNS = """
CREATE TABLE removed (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    request_id  TEXT NOT NULL UNIQUE,
    time_ns     INTEGER NOT NULL,
    reason      TEXT NOT NULL
) STRICT;
"""

# Step N takes a journal from schema N to N + 1. Only ever appended to.
_STEPS = (_FIRST, _REMOVED_RUNS)
VERSION = len(_STEPS)
_INCREMENTAL = 2


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the journal for its one writer, making or migrating it where needed. Raises StartError."""
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        _refuse_newer(connection, path)
        # Before the first table, so that a new journal has it: what is removed is given back to the disk.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        _require_full(connection)
        migrate(connection)
    except sqlite3.Error as error:
        raise StartError(f"journal {path}: {error}") from None
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the journal for reading only."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Take a journal forwards to VERSION, each step whole or not at all."""
    for version in range(_version(connection), VERSION):
        connection.executescript(f"BEGIN IMMEDIATE; {_STEPS[version]} PRAGMA user_version = {version + 1}; COMMIT;")
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
        # A journal of schema 1 was made without it; only rewriting the file brings it in.
        connection.execute("VACUUM")


def _require_full(connection: sqlite3.Connection) -> None:
    # The default differs by build and WAL can be refused by the file system: read both back.
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    level = connection.execute("PRAGMA synchronous").fetchone()[0]
    if (mode, level) != ("wal", 2):
        raise StartError(f"journal: SQLite gives journal_mode={mode}, synchronous={level}; wal and 2 are needed")


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    version = _version(connection)
    if version > VERSION:
        raise StartError(
            f"journal {path}: written by a newer daemon (schema {version}, this one knows {VERSION}): "
            "install that version again, or point data_dir at another folder"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
