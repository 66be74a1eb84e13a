"""ArtifactService: files on the board, by digest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from orinbench.v1 import artifact_pb2, artifact_pb2_grpc

from orinbenchd.artifacts.prepare import ModelPreparer, shown
from orinbenchd.artifacts.store import ArtifactStore
from orinbenchd.doors.doorkeeper import Context
from orinbenchd.errors import FailedPrecondition, Unavailable, invalid_field
from orinbenchd.runs.manager import RunManager
from orinbenchd.services.runs import page_cursor, page_size

_ASKED = 1000


class ArtifactService(artifact_pb2_grpc.ArtifactServiceServicer):
    """The servicer; the store does the work."""

    def __init__(self, store: ArtifactStore, preparer: ModelPreparer, manager: RunManager, silence_s: float) -> None:
        self._store = store
        self._preparer = preparer
        self._manager = manager
        self._silence_s = silence_s

    async def HasArtifacts(
        self, request: artifact_pb2.HasArtifactsRequest, context: Context
    ) -> artifact_pb2.HasArtifactsResponse:
        """Say which artifacts are missing."""
        if len(request.digests) > _ASKED:
            raise invalid_field("digests", f"{len(request.digests)} were asked, at most {_ASKED} may be")
        missing = [
            artifact_pb2.MissingArtifact(digest=digest, received_bytes=self._store.received(digest))
            for digest in request.digests
            if not self._store.use(digest)
        ]
        return artifact_pb2.HasArtifactsResponse(missing=missing)

    async def PutArtifact(
        self, requests: AsyncIterator[artifact_pb2.PutArtifactRequest], context: Context
    ) -> artifact_pb2.PutArtifactResponse:
        """Store one artifact."""
        arriving = _paced(requests, self._silence_s)
        first = await anext(arriving, None)
        if first is None or first.WhichOneof("part") != "header":
            raise invalid_field("header", "the first message must be the header")
        header = first.header
        stored = await self._store.put(header.digest, header.size_bytes, header.offset, _chunks(arriving))
        return artifact_pb2.PutArtifactResponse(artifact=shown(stored))

    async def PrepareModel(
        self, request: artifact_pb2.PrepareModelRequest, context: Context
    ) -> AsyncGenerator[artifact_pb2.PrepareModelResponse, None]:
        """Fetch a model from its hub."""
        async with aclosing(self._preparer.prepare(request.declaration, request.hub_token)) as responses:
            async for response in responses:
                yield response

    async def ListArtifacts(
        self, request: artifact_pb2.ListArtifactsRequest, context: Context
    ) -> artifact_pb2.ListArtifactsResponse:
        """Return a page of artifacts, newest first."""
        size = page_size(request.page_size, 100, 1000)
        start = page_cursor(request.page_token) or 0
        stored = await asyncio.to_thread(self._store.list)
        token = str(start + size) if len(stored) > start + size else ""
        page = [shown(artifact) for artifact in stored[start : start + size]]
        return artifact_pb2.ListArtifactsResponse(artifacts=page, next_page_token=token)

    async def DeleteArtifact(
        self, request: artifact_pb2.DeleteArtifactRequest, context: Context
    ) -> artifact_pb2.DeleteArtifactResponse:
        """Remove an artifact that no unfinished run needs."""
        self._store.path(request.digest)
        async with self._manager.needed_artifacts() as users:
            if user := users.get(request.digest):
                raise FailedPrecondition(
                    "ARTIFACT_IN_USE",
                    f"{user} needs {request.digest}: wait or cancel it",
                    digest=request.digest,
                    run=user,
                )
            self._store.delete(request.digest)
        return artifact_pb2.DeleteArtifactResponse()


async def _paced(
    requests: AsyncIterator[artifact_pb2.PutArtifactRequest], silence_s: float
) -> AsyncIterator[artifact_pb2.PutArtifactRequest]:
    """Hand on what comes, and end an upload that holds its place and sends nothing."""
    while True:
        try:
            request = await asyncio.wait_for(anext(requests, None), silence_s)
        except asyncio.TimeoutError:
            raise Unavailable(
                "UPLOAD_STALLED",
                f"the upload sent nothing for {silence_s:g} s; what came is kept: go on from there",
                silence_s=silence_s,
            ) from None
        if request is None:
            return
        yield request


async def _chunks(requests: AsyncIterator[artifact_pb2.PutArtifactRequest]) -> AsyncIterator[bytes]:
    async for request in requests:
        if request.WhichOneof("part") != "chunk":
            raise invalid_field("chunk", "only chunks may follow the header")
        yield request.chunk
