"""What has ended is kept for as long as the configuration says: runs in the journal, artifacts, half transfers.

Nothing that an unfinished run needs is ever removed. A removed run leaves its id behind, so that who asks for it is
told, and its space goes back to the disk: its records are deleted in small steps, then free pages are cut off.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from functools import partial

import structlog
from orinbench.v1 import run_pb2

from orinbenchd.artifacts.hub import drop_downloads
from orinbenchd.artifacts.store import ArtifactStore
from orinbenchd.config import Config
from orinbenchd.failpoints import failpoint
from orinbenchd.journal.reader import Reader
from orinbenchd.journal.writer import Writer
from orinbenchd.runs import machine

log = structlog.get_logger("retention")
_REMOVED = failpoint("retention.removed")
_PURGED = failpoint("retention.purged")
_GIB = 1 << 30
_DAY_NS = 86_400 * 1_000_000_000
# A board without a battery wakes up in 1970: what it ended before its clock was set has no age.
_CLOCK_SET_NS = 50 * 365 * _DAY_NS
_RECORDS_A_STEP = 2000
_PAGES_A_STEP = 500
_ENDED = ",".join(str(int(state)) for state in sorted(machine.TERMINAL))


class Retention:
    """Removes what is older or more than the limits. `artifacts` needs what unfinished runs need, by digest.

    Whoever takes up an ended run holds `gate` meanwhile.
    """

    def __init__(
        self, config: Config, writer: Writer, reader: Reader, store: ArtifactStore, gate: asyncio.Lock
    ) -> None:
        self._limits = config.retention
        self._journal = config.journal
        self._downloads = config.downloads
        self._writer = writer
        self._reader = reader
        self._store = store
        self._gate = gate

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(value is not None for value in self._limits.model_dump().values())

    async def runs(self) -> None:
        """Remove ended runs, oldest first, until age and size are within their limits."""
        days, gib = self._limits.run_days, self._limits.journal_gib
        if days is not None:
            before_ns = time.time_ns() - int(days * _DAY_NS)
            for number in await self._reader.ask(lambda journal: _ended_before(journal, before_ns)):
                await self._remove(number, f"it was kept for {days:g} days")
        if gib is not None:
            while await self._reader.ask(_used_bytes) > gib * _GIB:
                oldest = await self._reader.ask(_oldest_ended)
                if oldest is None:
                    break
                await self._remove(oldest, f"the journal is kept under {gib:g} GiB")
        await self._purge()

    def artifacts(self, needed: Mapping[str, str]) -> None:
        """Remove artifacts that are not needed, least recently used first, until age and size are within limits."""
        days, gib = self._limits.artifact_days, self._limits.artifacts_gib
        stored = sorted(self._store.list(), key=lambda artifact: artifact.used_ns)
        size = sum(artifact.size for artifact in stored)
        oldest_ns = time.time_ns() - int(days * _DAY_NS) if days is not None else 0
        if days is not None:
            self._store.drop_uploads(oldest_ns)
            drop_downloads(self._downloads, oldest_ns)
        for artifact in stored:
            old = _CLOCK_SET_NS < artifact.used_ns < oldest_ns
            if (old or (gib is not None and size > gib * _GIB)) and artifact.digest not in needed:
                self._store.delete(artifact.digest)
                size -= artifact.size
                log.info("artifact removed", digest=artifact.digest, bytes=artifact.size)

    async def _remove(self, number: int, reason: str) -> None:
        async with self._gate:
            run_id = await self._writer.submit(lambda journal: _bury(journal, number, reason))
        if run_id is None:
            # It was resumed since it was found.
            return
        log.info("run removed", run=run_id, reason=reason)
        _REMOVED()
        await self._purge()

    async def _purge(self) -> None:
        """Delete the records of removed runs, free their pages, and give the room back to the disk."""
        numbers = await self._reader.ask(_with_records)
        for number in numbers:
            deleted = 1
            while deleted:
                deleted = await self._writer.submit(partial(_delete_some, number=number))
            _PURGED()
        freed = False
        while await self._writer.submit(_free_some):
            freed = True
        if freed or numbers:
            await asyncio.to_thread(self._give_back)

    def _give_back(self) -> None:
        """Bring what was freed from the write-ahead log into the file; whoever reads or writes is not waited for."""
        with closing(sqlite3.connect(self._journal, isolation_level=None)) as journal:
            journal.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _ended_before(journal: sqlite3.Connection, before_ns: int) -> list[int]:
    rows = journal.execute(f"SELECT number, run FROM runs WHERE state IN ({_ENDED}) ORDER BY number")  # noqa: S608
    ends = ((number, run_pb2.Run.FromString(blob).end_time.ToNanoseconds()) for number, blob in rows)
    return [number for number, end_ns in ends if _CLOCK_SET_NS < end_ns < before_ns]


def _oldest_ended(journal: sqlite3.Connection) -> int | None:
    row = journal.execute(f"SELECT min(number) FROM runs WHERE state IN ({_ENDED})").fetchone()  # noqa: S608
    return None if row[0] is None else int(row[0])


def _used_bytes(journal: sqlite3.Connection) -> int:
    count, free, size = (
        journal.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((count - free) * size)


def _bury(journal: sqlite3.Connection, number: int, reason: str) -> str | None:
    """Take an ended run out of the list and return its id; None if it goes on again."""
    which = f"FROM runs WHERE number = ? AND state IN ({_ENDED})"
    query = f"INSERT INTO removed SELECT number, id, request_id, ?, ? {which} RETURNING id"
    found = journal.execute(query, (time.time_ns(), reason, number)).fetchone()
    if found is None:
        return None
    journal.execute("DELETE FROM runs WHERE number = ?", (number,))
    return str(found[0])


def _with_records(journal: sqlite3.Connection) -> list[int]:
    query = "SELECT number FROM removed WHERE EXISTS (SELECT 1 FROM records WHERE run = number)"
    return [number for (number,) in journal.execute(query)]


def _delete_some(journal: sqlite3.Connection, number: int) -> int:
    query = "DELETE FROM records WHERE run = :run AND seq IN (SELECT seq FROM records WHERE run = :run LIMIT :most)"
    return journal.execute(query, {"run": number, "most": _RECORDS_A_STEP}).rowcount


def _free_some(journal: sqlite3.Connection) -> int:
    count = min(int(journal.execute("PRAGMA freelist_count").fetchone()[0]), _PAGES_A_STEP)
    for _ in range(count):
        # Python steps a statement without rows once, and that frees one page.
        journal.execute("PRAGMA incremental_vacuum(1)")
    return count
