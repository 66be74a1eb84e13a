"""Damage to a journal's file, as a bad disk does it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

# The type of a leaf page of an index, which a table without rowid is.
_LEAF = 0x0A


def damage(journal: Path, name: str) -> None:
    """Overwrite the first page of a table or index."""
    with closing(_settled(journal)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    _overwrite(journal, page)


def damage_records(journal: Path, number: int, seq: int) -> None:
    """Overwrite a page of the records of one run, by its number, from somewhere behind `seq` on.

    A page of the tree's inner nodes would take records of other runs along, so it is a leaf.
    """
    with closing(_settled(journal)) as connection:
        query = "SELECT body FROM records WHERE run = ? AND seq > ? ORDER BY seq"
        bodies = [body for (body,) in connection.execute(query, (number, seq))]
    size, data = _page_size(journal), journal.read_bytes()
    # A body that does not fit its page is not in one piece.
    pages = [data.index(body) // size for body in bodies if body in data]
    _overwrite(journal, next(page for page in pages if data[page * size] == _LEAF) + 1)


def change_type(journal: Path, number: int, column: str) -> None:
    """Make text of bytes, or bytes of text, in the row of one run, as one changed bit of its header does."""
    wrong = {"id": "BLOB", "request_id": "BLOB", "plan": "TEXT", "run": "TEXT"}[column]
    _declare(journal, "")
    with closing(_settled(journal)) as connection:
        connection.execute(f"UPDATE runs SET {column} = CAST({column} AS {wrong}) WHERE number = ?", (number,))
        connection.commit()
    _declare(journal, " STRICT")


def _declare(journal: Path, strict: str) -> None:
    with closing(_settled(journal)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = rtrim(sql, ' STRICT') || ? WHERE name = 'runs'", (strict,))
        connection.commit()


def change_byte(journal: Path, record: bytes, text: bytes) -> None:
    """Set the highest bit of the first byte of a text in a record: it is no UTF-8 any more."""
    with closing(_settled(journal)):
        pass
    data = bytearray(journal.read_bytes())
    data[data.index(record) + record.index(text)] |= 0x80
    journal.write_bytes(data)


def _settled(journal: Path) -> sqlite3.Connection:
    """Open a journal with everything brought from the write-ahead log into the file."""
    connection = sqlite3.connect(journal)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return connection


def _page_size(journal: Path) -> int:
    with journal.open("rb") as file:
        return int.from_bytes(file.read(18)[16:], "big")


def _overwrite(journal: Path, page: int) -> None:
    size = _page_size(journal)
    with journal.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
