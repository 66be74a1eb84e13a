"""Paged readers of the journal: short transactions on a few threads, never a long one."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from orinbench.v1 import record_pb2, run_pb2

from orinbenchd.journal.schema import open_reader

T = TypeVar("T")
PAGE_RECORDS = 256
PAGE_BYTES = 1 << 20


class Reader:
    """Answers questions from the journal off the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._pool = ThreadPoolExecutor(2, "journal-reader", initializer=self._open)

    async def page(self, number: int, after_seq: int) -> list[record_pb2.Record]:
        """Return records with seq > after_seq: at most 256 and 1 MiB of bodies, at least one if there is one."""
        return await self.ask(lambda connection: read_page(connection, number, after_seq))

    async def run(self, run_id: str) -> tuple[int, run_pb2.Run] | None:
        """Return (number, Run) as of its last state change, or None."""
        return await self.ask(lambda connection: read_run(connection, run_id))

    async def runs(
        self, before: int | None, limit: int, states: list[record_pb2.RunState]
    ) -> list[tuple[int, run_pb2.Run]]:
        """Return runs with a number below `before` (None: all), newest first."""
        return await self.ask(lambda connection: read_runs(connection, before, limit, states))

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.to_thread(self._pool.shutdown)
        for connection in self._connections:
            connection.close()

    def _open(self) -> None:
        self._local.connection = open_reader(self._path)
        self._connections.append(self._local.connection)

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Answer any question; it must be a short one."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: question(self._local.connection))


def read_page(connection: sqlite3.Connection, number: int, after_seq: int) -> list[record_pb2.Record]:
    """Read one page; see Reader.page."""
    rows = connection.execute(
        "SELECT seq, kind, body FROM records WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?",
        (number, after_seq, PAGE_RECORDS),
    )
    page: list[record_pb2.Record] = []
    size = 0
    for seq, kind, body in rows:
        size += len(body)
        if page and size > PAGE_BYTES:
            break
        page.append(record_pb2.Record(seq=seq, kind=kind, body=body))
    rows.close()
    return page


def read_run(connection: sqlite3.Connection, run_id: str) -> tuple[int, run_pb2.Run] | None:
    """Read one run; see Reader.run."""
    row = connection.execute("SELECT number, run FROM runs WHERE id = ?", (run_id,)).fetchone()
    return None if row is None else (row[0], run_pb2.Run.FromString(row[1]))


def read_runs(
    connection: sqlite3.Connection, before: int | None, limit: int, states: list[record_pb2.RunState]
) -> list[tuple[int, run_pb2.Run]]:
    """Read a page of runs; see Reader.runs."""
    where, values = ["1"], list[object]()
    if before is not None:
        where.append("number < ?")
        values.append(before)
    if states:
        where.append(f"state IN ({','.join('?' * len(states))})")
        values += states
    query = f"SELECT number, run FROM runs WHERE {' AND '.join(where)} ORDER BY number DESC LIMIT ?"  # noqa: S608
    rows = connection.execute(query, (*values, limit))
    return [(number, run_pb2.Run.FromString(blob)) for number, blob in rows]
