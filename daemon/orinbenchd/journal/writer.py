"""The one writer of the journal: a thread that commits whatever has arrived as one transaction.

Callers hand in functions of a connection and await a future; it is resolved only after the commit that holds their
work is on disk. A full disk is not an error of the caller: the writer keeps the batch, says so, and tries again.
Any other failure to write ends the writer, and with it the daemon: what is not known to be on disk is not retried.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import structlog

from orinbenchd.artifacts.store import is_full
from orinbenchd.errors import Unavailable
from orinbenchd.failpoints import failpoint
from orinbenchd.journal.schema import open_writer

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], Any]
Item = tuple[Work, "asyncio.Future[Any]"]
_RETRY_S = 1.0
_BATCH = 256
log = structlog.get_logger("journal")
_BEFORE_COMMIT = failpoint("journal.commit.before")
_COMMITTED = failpoint("journal.commit.after")
_CLOSING = failpoint("journal.close")


class CommitTimes:
    """How long commits took, counted by bounds in seconds (at most so long; the last count is of those above all)."""

    bounds = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

    def __init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)
        self.total_s = 0.0

    def note(self, seconds: float) -> None:
        """Count one; by the writer's thread alone."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total_s += seconds


class Writer:
    """Owns the writing connection and its thread.

    `on_full(True)` is called on the loop when the disk is full and `on_full(False)` when there is room again;
    `on_fatal(error)` when a write failed in a way that must not be retried (the pages may already be gone).
    """

    def __init__(self, path: Path, on_full: Callable[[bool], None], on_fatal: Callable[[Exception], None]) -> None:
        # Records of runs that are durable, counted by those who hand them in.
        self.records = 0
        self.times = CommitTimes()
        # It waits for room on the disk: alive, but what is submitted now is not done soon.
        self.full = False
        self._loop = asyncio.get_running_loop()
        self._path = path
        self._connection = open_writer(path)
        self._on_full = on_full
        self._on_fatal = on_fatal
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._broken = False
        self._batch: list[Item] = []
        self._thread = threading.Thread(target=self._work, name="journal-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue `work`; the future holds its result once the commit is durable."""
        future: asyncio.Future[T] = self._loop.create_future()
        if self._broken:
            future.set_exception(_no_journal())
        else:
            self._items.put((work, future))
        return future

    def fail(self, error: Exception) -> None:
        """Take no more work, and tell the daemon to stop: what is in memory is not what is in the journal."""
        if not self._broken:
            self._broken = True
            self._on_fatal(error)

    async def close(self) -> None:
        """Commit what is queued, checkpoint, and end the thread."""
        self._closing.set()
        self._items.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        try:
            while (batch := self._take()) is not None:
                self._batch = batch
                if not self._commit(batch):
                    log.error("stopped on a full disk: what was not acknowledged is dropped", changes=len(batch))
                    return
            _CLOSING()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except Exception as error:  # noqa: BLE001  # the thread's border: whatever it is, the daemon must stop serving
            self._loop.call_soon_threadsafe(self._give_up, error)
        finally:
            self._connection.close()

    def _give_up(self, error: Exception) -> None:
        self.fail(error)
        for _, future in [*self._batch, *self._left()]:
            if not future.done():
                future.set_exception(_no_journal())

    def _left(self) -> Iterator[Item]:
        with contextlib.suppress(queue.Empty):
            while True:
                if (item := self._items.get_nowait()) is not None:
                    yield item

    def _take(self) -> list[Item] | None:
        item = self._items.get()
        if item is None:
            return None
        batch = [item]
        while len(batch) < _BATCH:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                break
            if item is None:
                self._items.put(None)  # closing: first this batch, then the end
                break
            batch.append(item)
        return batch

    def _commit(self, batch: list[Item]) -> bool:
        """Commit, as often as it takes on a full disk; False when the daemon is told to stop meanwhile."""
        while True:
            try:
                began = time.monotonic()
                results = self._transaction(batch)
                self.times.note(time.monotonic() - began)
                break
            except sqlite3.OperationalError as error:
                if not self._is_disk_full(error):
                    raise
                if not self.full:
                    self.full = True
                    self._loop.call_soon_threadsafe(self._on_full, True)
                if self._closing.wait(_RETRY_S):
                    return False
        _COMMITTED()
        if self.full:
            self.full = False
            self._loop.call_soon_threadsafe(self._on_full, False)
        self._loop.call_soon_threadsafe(_resolve, batch, results)
        return True

    def _is_disk_full(self, error: sqlite3.OperationalError) -> bool:
        """Tell a full disk from a broken one, by the words: Python 3.10 has no error codes of SQLite's.

        SQLITE_FULL is one; a shared memory file that cannot grow is SQLITE_IOERR, so the disk is asked too.
        """
        if "database or disk is full" in str(error):
            return True
        return "disk I/O error" in str(error) and is_full(self._path.parent)

    def _transaction(self, batch: list[Item]) -> list[Any]:
        execute = self._connection.execute
        results: list[Any] = []
        execute("BEGIN IMMEDIATE")
        try:
            for work, _ in batch:
                execute("SAVEPOINT item")
                try:
                    results.append(work(self._connection))
                except sqlite3.OperationalError:
                    raise
                except Exception as error:  # noqa: BLE001  # the caller's own error goes back to the caller alone
                    execute("ROLLBACK TO item")
                    results.append(error)
                execute("RELEASE item")
            _BEFORE_COMMIT()
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        return results


def _no_journal() -> Unavailable:
    return Unavailable("DRAINING", "the journal cannot be written: the daemon is going down; look at its log")


def _resolve(batch: list[Item], results: list[Any]) -> None:
    for (_, future), result in zip(batch, results, strict=True):
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
