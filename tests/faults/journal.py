"""Damage to a journal's file, as a bad disk does it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def damage(journal: Path, name: str) -> None:
    """Overwrite the first page of a table or index. Everything is brought into the file first."""
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    overwrite(journal, page, size)


def overwrite(journal: Path, page: int, size: int) -> None:
    """Overwrite a page, numbered from 1."""
    with journal.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
