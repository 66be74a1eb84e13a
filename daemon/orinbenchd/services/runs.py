"""RunService: submit, look, stop, follow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2, run_pb2_grpc

from orinbenchd.doors.doorkeeper import Context
from orinbenchd.errors import DataLoss, OutOfRange, PermissionDenied, Unavailable, invalid_field
from orinbenchd.failpoints import failpoint
from orinbenchd.journal.reader import PAGE_RECORDS
from orinbenchd.runs import machine
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.manager import RunManager
from orinbenchd.services.interceptor import caller

BOOKMARK_S = 10.0
_PAGE = failpoint("watch.page")
# From here on a page is full, whatever was asked for: any client takes an answer of 4 MiB.
_ANSWER_BYTES = 2 << 20
# The largest number SQLite has.
_LAST_SEQ = 2**63 - 1


class Standing(NamedTuple):
    """What a watcher who has every record may not know: the worker's phase, the place in the queue."""

    state: pb.RunState
    phase: str
    position: int | None


class RunService(run_pb2_grpc.RunServiceServicer):
    """The servicer; the manager does the work."""

    def __init__(self, manager: RunManager) -> None:
        self._manager = manager

    async def CreateRun(self, request: run_pb2.CreateRunRequest, context: Context) -> run_pb2.CreateRunResponse:
        """Queue a run."""
        if request.plan.options.priority > 0:
            _require_admin("only an admin may put a run before others: give a priority of 0 or less")
        return run_pb2.CreateRunResponse(run=await self._manager.create(request, caller().name))

    async def GetRun(self, request: run_pb2.GetRunRequest, context: Context) -> run_pb2.GetRunResponse:
        """Return one run."""
        return run_pb2.GetRunResponse(run=await self._manager.get(request.name))

    async def ListRuns(self, request: run_pb2.ListRunsRequest, context: Context) -> run_pb2.ListRunsResponse:
        """Return a page of runs, newest first."""
        size = page_size(request.page_size, 50, 200)
        before = page_cursor(request.page_token)
        found = await self._manager.page(before, size + 1, list(request.states))
        shown: list[run_pb2.Run] = []
        left = _ANSWER_BYTES
        for _, run in found[:size]:
            if run.HasField("failure"):
                run.failure.ClearField("stderr_tail")
            left -= run.ByteSize()
            if shown and left < 0:
                break
            shown.append(run)
        token = str(found[len(shown) - 1][0]) if len(found) > len(shown) else ""
        return run_pb2.ListRunsResponse(runs=shown, next_page_token=token)

    async def CancelRun(self, request: run_pb2.CancelRunRequest, context: Context) -> run_pb2.CancelRunResponse:
        """Stop a run."""
        await self._require_own(request.name)
        return run_pb2.CancelRunResponse(run=await self._manager.cancel(request.name, request.reason[:500]))

    async def ResumeRun(self, request: run_pb2.ResumeRunRequest, context: Context) -> run_pb2.ResumeRunResponse:
        """Continue a failed run."""
        await self._require_own(request.name)
        return run_pb2.ResumeRunResponse(run=await self._manager.resume(request.name))

    async def WatchRun(
        self, request: run_pb2.WatchRunRequest, context: Context
    ) -> AsyncIterator[run_pb2.WatchRunResponse]:
        """Send all records after a cursor, then follow to the end."""
        if request.after_seq > _LAST_SEQ:
            raise _beyond(request.after_seq)
        number, live = await self._manager.records_of(request.name)
        after = request.after_seq
        pages = self._stored(request.name, number, after) if live is None else self._follow(live, after)
        async for page in pages:
            _PAGE()
            yield run_pb2.WatchRunResponse(records=page)

    async def ListRecords(self, request: run_pb2.ListRecordsRequest, context: Context) -> run_pb2.ListRecordsResponse:
        """Return decoded records, paged."""
        size = page_size(request.page_size, 100, PAGE_RECORDS)
        number, _ = await self._manager.records_of(request.name)
        cursor = page_cursor(request.page_token) or 0
        found: list[pb.Record] = []
        while len(found) < size and sum(len(record.body) for record in found) < _ANSWER_BYTES:
            page = await self._manager.reader.page(number, cursor)
            if not page:
                break
            cursor = page[-1].seq
            found += [record for record in page if not request.kinds or record.kind in request.kinds]
        more = len(found) > size or bool(found and await self._manager.reader.page(number, found[-1].seq))
        found = found[:size]
        decoded = [run_pb2.DecodedRecord(seq=r.seq, body=pb.RecordBody.FromString(r.body)) for r in found]
        token = str(found[-1].seq) if more and found else ""
        return run_pb2.ListRecordsResponse(records=decoded, next_page_token=token)

    async def _require_own(self, name: str) -> None:
        """Let nobody but an admin act on a run of somebody else. Raises PermissionDenied, NotFound."""
        if caller().role == "admin":
            return
        run = await self._manager.get(name)
        if run.submitter != caller().name:
            _require_admin(f"{run.name} was submitted by {run.submitter}: only they or an admin may do this")

    async def _stored(self, name: str, number: int, after_seq: int) -> AsyncIterator[list[pb.Record]]:
        cursor, last = after_seq, None
        while page := await self._manager.reader.page(number, cursor):
            yield page
            cursor, last = page[-1].seq, page[-1]
        if last is None and after_seq > 0:
            last = next(iter(await self._manager.reader.page(number, after_seq - 1)), None)
        if last is not None and last.kind == pb.RECORD_KIND_FINISHED:
            return
        run = await self._manager.get(name)  # NotFound if it was removed under us
        final = await self._manager.reader.page(number, int(run.last_seq) - 1)
        if run.state in machine.TERMINAL and not (final and final[-1].kind == pb.RECORD_KIND_FINISHED):
            raise _damaged(run, cursor)
        if last is None:
            raise _beyond(after_seq)

    async def _follow(self, live: LiveRun, after_seq: int) -> AsyncIterator[list[pb.Record]]:
        log, cursor = live.log, after_seq
        if after_seq > log.last_seq:
            raise _beyond(after_seq)
        said: Standing | None = None
        with self._manager.watching(live):
            while True:
                page = await log.page(self._manager.reader, cursor)
                if page:
                    yield page
                    cursor = page[-1].seq
                elif live.ended and cursor >= log.last_seq:
                    return
                elif self._manager.draining:
                    raise Unavailable("DRAINING", "the daemon is going down; the run goes on when it is back")
                elif log.durable_seq <= cursor:
                    # What no record says is said when it changes, and again when the stream is quiet for long.
                    # Not before it is durable: a daemon that dies now comes back as it was.
                    news = log.durable_seq == log.last_seq and said != self._standing(live)
                    if news or not await log.changed.wait(BOOKMARK_S):
                        said = self._standing(live)
                        yield [live.bookmark(said.position, self._manager.expected_wait_s(live))]

    def _standing(self, live: LiveRun) -> Standing:
        queued = live.run.state == pb.RUN_STATE_QUEUED
        return Standing(live.run.state, live.phase, self._manager.position(live) if queued else None)


def _require_admin(otherwise: str) -> None:
    role = caller().role
    if role != "admin":
        raise PermissionDenied("ROLE_INSUFFICIENT", otherwise, role=role, needed="admin")


def page_size(asked: int, default: int, largest: int) -> int:
    """Return a page size within its bounds. Raises InvalidArgument for a negative one."""
    if asked < 0:
        raise invalid_field("page_size", f"{asked} is negative")
    return min(asked or default, largest)


def page_cursor(token: str) -> int | None:
    """Read a page token as we give them out. Raises InvalidArgument."""
    if not token:
        return None
    if not token.isdecimal() or len(token) > 18:
        raise invalid_field("page_token", "not one that this daemon gave out")
    return int(token)


def _damaged(run: run_pb2.Run, last_seq: int) -> DataLoss:
    return DataLoss(
        machine.JOURNAL_DAMAGED,
        f"{run.name}: the board's journal was damaged and has no record after {last_seq}; what could not be saved is "
        "there beside it, in a file that ends in .broken",
        run=run.name,
        last_seq=last_seq,
    )


def _beyond(after_seq: int) -> OutOfRange:
    return OutOfRange(
        "CURSOR_OUT_OF_RANGE",
        f"after_seq {after_seq} is beyond the end of the run: begin again at 0",
        after_seq=after_seq,
    )
