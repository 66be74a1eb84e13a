"""Fetches a model from a hub: the download in a process of its own, its files into the store."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import structlog
from orinbench.v1 import artifact_pb2
from orinbench_profiles import (
    DeclarationError,
    HubSource,
    ModelDeclaration,
    ModelFile,
    canonical_declaration,
    digest_bytes,
    parse_model,
    resolve_model,
)

from orinbenchd.artifacts.hub import run_hub
from orinbenchd.artifacts.resolutions import Resolutions
from orinbenchd.artifacts.store import ArtifactStore, StoredArtifact
from orinbenchd.config import Config
from orinbenchd.errors import (
    DaemonError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
    invalid_field,
)

log = structlog.get_logger("hub")

_ERRORS: dict[str, type[DaemonError]] = {
    "HUB_NOT_FOUND": NotFound,
    "HUB_DENIED": FailedPrecondition,
    "HUB_UNREACHABLE": Unavailable,
    "HUB_CLIENT_MISSING": FailedPrecondition,
    "DISK_LOW": ResourceExhausted,
    "DIGEST_MISMATCH": InvalidArgument,
}
Response = artifact_pb2.PrepareModelResponse


class ModelPreparer:
    """Prepares models, one after the other."""

    def __init__(self, store: ArtifactStore, config: Config) -> None:
        self._store = store
        self._resolutions = Resolutions(config.data_dir)
        self._folder = config.downloads
        self._lock = asyncio.Lock()

    async def prepare(self, data: bytes, token: str) -> AsyncGenerator[Response, None]:
        """Fetch what the board lacks of a model, tell how it goes, and last what runs are to name.

        `data` is the declaration, `token` the hub's; without one the daemon's own HF_TOKEN is used. The caller may
        leave at any time: what has come is gone on with the next time. Raises DaemonError.
        """
        given = digest_bytes(data)
        try:
            model = parse_model(data)
        except DeclarationError as error:
            raise InvalidArgument("DECLARATION_INVALID", str(error), digest=given) from None
        if not isinstance(model.source, HubSource):
            raise invalid_field("declaration", f"the files of model {model.id} do not come from a hub: push them")
        if model.resolves is not None:
            raise invalid_field("declaration", f"model {model.id} is resolved: prepare the one it came from")
        async with self._lock:
            if not self._is_here(given):
                files: list[ModelFile] = []
                async with aclosing(self._fetch(model, model.source, given, token, files)) as fetched:
                    async for response in fetched:
                        yield response
                await self._conclude(model, data, given, files)
            yield self._answer(given)

    def _is_here(self, given: str) -> bool:
        digest = self._resolutions.find(given)
        if digest is None or not self._store.has(digest):
            return False
        return all(self._store.has(file.digest) for file in parse_model(self._store.read(digest)).files)

    async def _fetch(
        self, model: ModelDeclaration, source: HubSource, given: str, token: str, files: list[ModelFile]
    ) -> AsyncGenerator[Response, None]:
        """Run the child; each file it brings goes into the store and onto the list `files`."""
        folder = self._folder / given.removeprefix("sha256:")
        request = {
            "kind": "model",
            "repository": source.repository,
            "revision": source.revision,
            "include": [file.path for file in model.files] or source.include,
            "digests": {file.path: file.digest for file in model.files},
            "folder": str(folder),
            "stores": str(self._store.folder),
            "token": token or os.environ.get("HF_TOKEN") or None,
        }
        log.info("fetching", model=model.id, repository=source.repository, revision=source.revision)
        here = total = 0
        async with aclosing(run_hub(folder, request)) as events:
            async for kind, value in events:
                if kind == "planned":
                    self._store.check_room(value["missing_bytes"], value["largest_bytes"])
                    total = value["total_bytes"]
                elif kind == "progress":
                    yield Response(file=value["path"], received_bytes=here + value["received"], total_bytes=total)
                elif kind == "arrived":
                    here += value["bytes"]
                    files.append(ModelFile(path=value["path"], digest=value["digest"], bytes=value["bytes"]))
                    if value["at"] is not None:
                        await self._store.adopt(Path(value["at"]), value["digest"])
                elif kind == "failed":
                    raise _ERRORS[value["reason"]](value["reason"], value["message"], repository=source.repository)
        shutil.rmtree(folder, ignore_errors=True)

    async def _conclude(self, model: ModelDeclaration, data: bytes, given: str, files: list[ModelFile]) -> None:
        resolved = canonical_declaration(resolve_model(model, given, files)) if model.unresolved else data
        digest = (await self._store.keep(resolved)).digest
        self._resolutions.record(given, digest)
        log.info("fetched", model=model.id, files=len(files), bytes=sum(file.bytes for file in files), digest=digest)

    def _answer(self, given: str) -> Response:
        digest = self._resolutions.find(given) or given
        data = self._store.read(digest)
        digests = dict.fromkeys([digest, *(file.digest for file in parse_model(data).files)])
        artifacts = [shown(self._store.state(each)) for each in digests]
        return Response(artifacts=artifacts, done=True, model_digest=digest, model_declaration=data)


def shown(stored: StoredArtifact) -> artifact_pb2.Artifact:
    """Return an artifact as clients see it."""
    message = artifact_pb2.Artifact(digest=stored.digest, size_bytes=stored.size)
    message.create_time.FromNanoseconds(stored.created_ns)
    return message
