"""The journal's tables, and how a database comes to have them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orinbenchd.start_error import StartError

VERSION = 1

_TABLES = """
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


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the journal for its one writer, making it if it is not there. Raises StartError."""
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        _refuse_newer(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        _require_full(connection)
        _migrate(connection)
    except sqlite3.Error as error:
        raise StartError(f"journal {path}: {error}") from None
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the journal for reading only."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _require_full(connection: sqlite3.Connection) -> None:
    # The default differs by build and WAL can be refused by the file system: read both back.
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    level = connection.execute("PRAGMA synchronous").fetchone()[0]
    if (mode, level) != ("wal", 2):
        raise StartError(f"journal: SQLite gives journal_mode={mode}, synchronous={level}; wal and 2 are needed")


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StartError(
            f"journal {path}: written by a newer daemon (schema {version}, this one knows {VERSION}): "
            "install that version again, or point data_dir at another folder"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
