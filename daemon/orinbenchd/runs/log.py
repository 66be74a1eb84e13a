"""The records of one unfinished run: numbers them, hashes them, has them committed, and wakes the watchers."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from orinbench.v1 import record_pb2 as pb

from orinbenchd.journal.reader import PAGE_BYTES, PAGE_RECORDS, Reader
from orinbenchd.journal.writer import Writer
from orinbenchd.pulse import Pulse
from orinbenchd.runs.records import FRAME_HEAD

_TAIL_BYTES = 4 << 20


class RunLog:
    """Appends to a run's journal. Only what is committed is ever seen by a watcher.

    The last records stay in memory, so that watchers who are up to date never touch the disk.
    """

    def __init__(self, writer: Writer, number: int) -> None:
        self.number = number
        self.last_seq = 0
        self.durable_seq = 0
        self.changed = Pulse()
        self._writer = writer
        self._hash = hashlib.sha256()
        self._staged: list[tuple[pb.Record, int | None]] = []
        self._tail: deque[pb.Record] = deque()
        self._tail_bytes = 0

    @property
    def digest(self) -> str:
        """Digest over all records so far."""
        return "sha256:" + self._hash.hexdigest()

    def stage(self, kind: pb.RecordKind, body: bytes, sample: int | None = None) -> int:
        """Number and hash a record; it is written by the next `flush`. Return its seq."""
        self.last_seq += 1
        self._count(self.last_seq, body)
        self._staged.append((pb.Record(seq=self.last_seq, kind=kind, body=body), sample))
        return self.last_seq

    def flush(
        self, run_row: tuple[int, bytes] | None = None, begin: Callable[[sqlite3.Connection], Any] = lambda _: None
    ) -> asyncio.Future[Any]:
        """Write what is staged, and `run_row` (state, serialised Run), in one transaction.

        `begin` comes first; when it returns anything, that becomes the result and nothing is written. The future is
        done once all of it is durable and the watchers are awake.
        """
        staged, self._staged = self._staged, []
        rows = [(self.number, record.seq, record.kind, sample, record.body) for record, sample in staged]

        def work(connection: sqlite3.Connection) -> Any:
            if (refused := begin(connection)) is not None:
                return refused
            connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
            if run_row is not None:
                connection.execute("UPDATE runs SET state = ?, run = ? WHERE number = ?", (*run_row, self.number))
            return None

        future = self._writer.submit(work)
        future.add_done_callback(lambda done: self._committed(done, [record for record, _ in staged]))
        # Shielded: a caller who stops waiting must not keep the others from seeing what was committed.
        return asyncio.shield(future)

    def append(self, kind: pb.RecordKind, body: bytes, sample: int | None = None) -> asyncio.Future[None]:
        """Stage one record and flush."""
        self.stage(kind, body, sample)
        return self.flush()

    async def page(self, reader: Reader, after_seq: int) -> list[pb.Record]:
        """Return the next committed records after a cursor; see Reader.page."""
        if self._tail and after_seq >= self._tail[0].seq - 1:
            return self._from_tail(after_seq)
        return await reader.page(self.number, after_seq)

    def load(self, connection: sqlite3.Connection, on_record: Callable[[pb.RecordBody], None]) -> int:
        """Read what an earlier daemon wrote, handing each record on; return the number of accepted samples."""
        accepted = 0
        for seq, sample, body in connection.execute(
            "SELECT seq, sample, body FROM records WHERE run = ? ORDER BY seq", (self.number,)
        ):
            self._count(seq, body)
            self.last_seq = self.durable_seq = seq
            accepted += sample is not None
            on_record(pb.RecordBody.FromString(body))
        return accepted

    def _count(self, seq: int, body: bytes) -> None:
        self._hash.update(FRAME_HEAD.pack(seq, len(body)))
        self._hash.update(body)

    def _committed(self, done: asyncio.Future[Any], records: list[pb.Record]) -> None:
        if isinstance(error := done.exception(), Exception):
            self._writer.fail(error)
            return
        self._writer.records += len(records)
        for record in records:
            self._tail.append(record)
            self._tail_bytes += len(record.body)
            self.durable_seq = record.seq
        while len(self._tail) > 2 * PAGE_RECORDS or (self._tail_bytes > _TAIL_BYTES and len(self._tail) > 1):
            self._tail_bytes -= len(self._tail.popleft().body)
        self.changed.fire()

    def _from_tail(self, after_seq: int) -> list[pb.Record]:
        start = after_seq + 1 - self._tail[0].seq
        page: list[pb.Record] = []
        size = 0
        for record in islice(self._tail, start, start + PAGE_RECORDS):
            size += len(record.body)
            if page and size > PAGE_BYTES:
                break
            page.append(record)
        return page
