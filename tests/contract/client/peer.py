"""A small daemon of the tests' own: the real services on a real socket, saying what a test wrote down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from orinbench.v1 import artifact_pb2, artifact_pb2_grpc, board_pb2, board_pb2_grpc, run_pb2, run_pb2_grpc
from orinbench.v1.record_pb2 import (
    RECORD_KIND_FINISHED,
    RECORD_KIND_LOG,
    RECORD_KIND_PROGRESS,
    RUN_STATE_SUCCEEDED,
    FinishedRecord,
    LogRecord,
    ProgressRecord,
    Record,
    RecordBody,
)

Context = grpc.aio.ServicerContext[Any, Any]
# What one call of WatchRun does: it may send pages, wait, and abort.
Turn = Callable[[run_pb2.WatchRunRequest, Context], AsyncIterator[run_pb2.WatchRunResponse]]


def log(seq: int) -> Record:
    """A durable record that says its own seq."""
    body = RecordBody(log=LogRecord(message=f"line {seq}"))
    return Record(seq=seq, kind=RECORD_KIND_LOG, body=body.SerializeToString())


def bookmark(last_seq: int) -> Record:
    """A sign of life."""
    body = RecordBody(progress=ProgressRecord(last_seq=last_seq))
    return Record(kind=RECORD_KIND_PROGRESS, body=body.SerializeToString())


def finished(seq: int) -> Record:
    """The last record."""
    body = RecordBody(finished=FinishedRecord(state=RUN_STATE_SUCCEEDED, record_count=seq - 1))
    return Record(seq=seq, kind=RECORD_KIND_FINISHED, body=body.SerializeToString())


def page(*records: Record) -> run_pb2.WatchRunResponse:
    """One message of the stream."""
    return run_pb2.WatchRunResponse(records=records)


async def refuse(context: Context, code: grpc.StatusCode, text: str, reason: str, **metadata: str) -> NoReturn:
    """Abort as the daemon does: with one ErrorInfo of its domain."""
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="orinbench.v1", metadata=metadata))
    status = status_pb2.Status(code=code.value[0], message=text, details=[packed])
    details = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(code, text, details)
    raise AssertionError("abort does not return")


# The generated classes answer UNIMPLEMENTED to all that a test does not need; their types call that abstract.
_Services: Any = type(
    "_Services",
    (
        run_pb2_grpc.RunServiceServicer,
        board_pb2_grpc.BoardServiceServicer,
        artifact_pb2_grpc.ArtifactServiceServicer,
    ),
    {},
)


class Peer(_Services):  # type: ignore[misc]
    """Answers from what a test gave it, and remembers what it was asked."""

    def __init__(self, turns: Iterable[Turn] = (), board: board_pb2.Board | None = None) -> None:
        self.turns = iter(turns)
        self.board = board or board_pb2.Board(name="boards/peer", api_revision=1)
        self.watched: list[int] = []
        self.metadata: dict[str, str] = {}
        self.before: list[Callable[[Context], Awaitable[None]]] = []
        self.stored = bytearray()
        self.wanted = b""
        self.put: Callable[[bytearray, Context], Awaitable[None]] | None = None
        self.offsets: list[int] = []
        self.calls = 0

    async def _begin(self, context: Context) -> None:
        self.calls += 1
        self.metadata = {key: str(value) for key, value in context.invocation_metadata() or ()}
        if self.before:
            await self.before.pop(0)(context)

    async def GetBoard(self, request: Any, context: Any) -> board_pb2.GetBoardResponse:  # noqa: N802
        await self._begin(context)
        return board_pb2.GetBoardResponse(board=self.board)

    async def ResumeRun(self, request: Any, context: Any) -> run_pb2.ResumeRunResponse:  # noqa: N802
        await self._begin(context)
        return run_pb2.ResumeRunResponse(run=run_pb2.Run(name=request.name))

    async def ListRuns(self, request: Any, context: Any) -> run_pb2.ListRunsResponse:  # noqa: N802
        first = not request.page_token
        return run_pb2.ListRunsResponse(
            runs=[run_pb2.Run(name="runs/b" if first else "runs/a")], next_page_token="more" if first else ""
        )

    async def WatchRun(  # noqa: N802
        self, request: run_pb2.WatchRunRequest, context: Context
    ) -> AsyncIterator[run_pb2.WatchRunResponse]:
        self.watched.append(request.after_seq)
        async for response in next(self.turns)(request, context):
            yield response

    async def HasArtifacts(self, request: Any, context: Any) -> artifact_pb2.HasArtifactsResponse:  # noqa: N802
        missing = artifact_pb2.MissingArtifact(digest=request.digests[0], received_bytes=len(self.stored))
        return artifact_pb2.HasArtifactsResponse(missing=[missing] if self.stored != self.wanted else [])

    async def PutArtifact(self, request: Any, context: Any) -> artifact_pb2.PutArtifactResponse:  # noqa: N802
        async for message in request:
            if message.WhichOneof("part") == "header":
                self.offsets.append(message.header.offset)
                continue
            self.stored += message.chunk
            if self.put is not None:
                await self.put(self.stored, context)
        return artifact_pb2.PutArtifactResponse()


@asynccontextmanager
async def serving(peer: Peer, address: Path | str) -> AsyncIterator[str]:
    """Serve `peer` on a socket path or host:port (port 0: a free one) and give the target to dial."""
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    run_pb2_grpc.add_RunServiceServicer_to_server(peer, server)
    board_pb2_grpc.add_BoardServiceServicer_to_server(peer, server)
    artifact_pb2_grpc.add_ArtifactServiceServicer_to_server(peer, server)
    target = f"unix:{address}" if isinstance(address, Path) else address
    port = server.add_insecure_port(target)
    await server.start()
    try:
        yield target if isinstance(address, Path) else f"{address.rpartition(':')[0]}:{port}"
    finally:
        await server.stop(None)
