"""Files addressed by digest: written once, verified, then read-only.

artifacts/ab/<64 hex digits>     complete
uploads/<64 hex digits>.part     begun; an upload may go on where it stopped
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from orinbench_profiles import MAX_DECLARATION_BYTES, digest_bytes, is_digest

from orinbenchd.errors import InvalidArgument, ResourceExhausted, artifact_not_found, disk_low, invalid_field
from orinbenchd.failpoints import failpoint

MAX_CHUNK = 1 << 20
_NO_ROOM = 1 << 20
_CHUNK = failpoint("artifact.chunk")
_SYNCED = failpoint("artifact.synced")
_RENAMED = failpoint("artifact.renamed")
_PUBLISHED = failpoint("artifact.published")
_DELETED = failpoint("artifact.deleted")


@dataclass(frozen=True)
class StoredArtifact:
    """A complete artifact: its digest, size in bytes, times of arrival and last use in nanoseconds since the epoch."""

    digest: str
    size: int
    created_ns: int
    used_ns: int


class ArtifactStore:
    """The artifacts below one folder."""

    def __init__(self, data_dir: Path, max_bytes: int, reserve_bytes: int) -> None:
        self.folder = data_dir / "artifacts"
        self._uploads = data_dir / "uploads"
        self._max_bytes = max_bytes
        self._reserve_bytes = reserve_bytes
        # One upload of a digest at a time; a lock lives as long as somebody holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._uploads.mkdir(parents=True, exist_ok=True)

    def path(self, digest: str) -> Path:
        """Return where an artifact is or would be. Raises InvalidArgument for anything but a digest."""
        if not is_digest(digest):
            raise invalid_field("digest", f"{digest[:80]!r} is not 'sha256:' and 64 hex digits")
        name = digest.removeprefix("sha256:")
        return self.folder / name[:2] / name

    def has(self, digest: str) -> bool:
        """Tell whether a complete artifact is there."""
        return self.path(digest).is_file()

    def use(self, digest: str) -> bool:
        """Tell whether a complete artifact is there, and count its age from now."""
        path = self.path(digest)
        try:
            # The time of arrival stays; a disk mounted without access times keeps what is set.
            os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
        except FileNotFoundError:
            return False
        return True

    def read(self, digest: str) -> bytes:
        """Return the bytes of a declaration. Raises NotFound, and InvalidArgument for what is too large for one."""
        path = self.path(digest)
        try:
            # Before it is read: a file of weights would not fit beside the model that runs.
            if (size := path.stat().st_size) > MAX_DECLARATION_BYTES:
                text = f"artifact {digest} has {size} bytes: this is no declaration"
                raise InvalidArgument("DECLARATION_INVALID", text, digest=digest)
            return path.read_bytes()
        except FileNotFoundError:
            raise artifact_not_found(digest) from None

    def state(self, digest: str) -> StoredArtifact:
        """Return what is known of a complete artifact. Raises NotFound."""
        try:
            return _stored(self.path(digest))
        except FileNotFoundError:
            raise artifact_not_found(digest) from None

    def received(self, digest: str) -> int:
        """Return how many bytes of a begun upload are kept."""
        try:
            return self._part(digest).stat().st_size
        except FileNotFoundError:
            return 0

    def list(self) -> list[StoredArtifact]:
        """Return all complete artifacts, newest first; what else somebody put there is not ours."""
        found = (_stored(path) for path in self.folder.glob("??/*") if is_digest(f"sha256:{path.name}"))
        return sorted(found, key=lambda artifact: (-artifact.created_ns, artifact.digest))

    def delete(self, digest: str) -> None:
        """Remove an artifact. Raises NotFound."""
        try:
            self.path(digest).unlink()
        except FileNotFoundError:
            raise artifact_not_found(digest) from None
        _DELETED()

    def drop_uploads(self, before_ns: int) -> None:
        """Remove uploads that nobody went on with since a time, in nanoseconds since the epoch."""
        for part in self._uploads.glob("*.part"):
            busy = "sha256:" + part.name.removesuffix(".part") in self._locks
            if not busy and part.stat().st_mtime_ns < before_ns:
                part.unlink(missing_ok=True)

    async def put(self, digest: str, size: int, offset: int, chunks: AsyncIterator[bytes]) -> StoredArtifact:
        """Store an artifact from its chunks, beginning at `offset` of it.

        Raises InvalidArgument when the bytes are not what digest and size say (the upload is then discarded) and
        ResourceExhausted when it is too large for the limit or the disk. A broken link keeps what has arrived.
        """
        self.path(digest)
        if size < 0:
            raise invalid_field("size_bytes", f"{size} is negative")
        self.check_room(size - self.received(digest), size)
        lock = self._locks.get(digest)
        if lock is None:
            lock = self._locks[digest] = asyncio.Lock()
        async with lock:
            try:
                if not self.use(digest):
                    await self._receive(digest, size, offset, chunks)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise disk_low(free_bytes(self.folder), size) from None
            return self.state(digest)

    async def keep(self, data: bytes) -> StoredArtifact:
        """Store a small artifact of our own making."""

        async def chunks() -> AsyncIterator[bytes]:
            for start in range(0, len(data), MAX_CHUNK):
                yield data[start : start + MAX_CHUNK]

        return await self.put(digest_bytes(data), len(data), 0, chunks())

    async def adopt(self, path: Path, digest: str) -> None:
        """Take over a file below the data folder whose digest was verified."""
        await asyncio.to_thread(self._adopt, path, digest)

    def _adopt(self, path: Path, digest: str) -> None:
        with path.open("rb") as file:
            os.fsync(file.fileno())
        self._publish(path, digest)

    async def _receive(self, digest: str, size: int, offset: int, chunks: AsyncIterator[bytes]) -> None:
        part = self._part(digest)
        kept = self.received(digest)
        if offset not in (0, kept):
            raise invalid_field("offset", f"{offset}, but {kept} bytes are kept: begin there or at 0")
        with part.open("r+b" if offset else "wb") as file:
            state = await asyncio.to_thread(_hash_start, file, offset)
            got = offset
            async for chunk in chunks:
                got += len(chunk)
                if got > size or len(chunk) > MAX_CHUNK:
                    break
                state.update(chunk)
                await asyncio.to_thread(file.write, chunk)
                _CHUNK()
            if got < size:
                raise InvalidArgument(
                    "FIELD_INVALID", f"size_bytes: {size} were announced, {got} came", field="size_bytes"
                )
            file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
            _SYNCED()
        found = "sha256:" + state.hexdigest()
        if got > size or found != digest:
            part.unlink()
            raise InvalidArgument(
                "DIGEST_MISMATCH",
                f"the {got} bytes sent have digest {found}, not {digest}: the file changed or was damaged",
                digest=digest,
                found=found,
            )
        await asyncio.to_thread(self._publish, part, digest)

    def _publish(self, part: Path, digest: str) -> None:
        path = self.path(digest)
        path.parent.mkdir(exist_ok=True)
        part.chmod(0o444)
        part.rename(path)
        _RENAMED()
        for folder in (path.parent, self.folder):
            sync_folder(folder)
        _PUBLISHED()

    def _part(self, digest: str) -> Path:
        return self._uploads / (self.path(digest).name + ".part")

    def check_room(self, missing: int, largest: int) -> None:
        """Raise ResourceExhausted if `missing` bytes have no room here, or the largest artifact is too large."""
        if largest > self._max_bytes:
            raise ResourceExhausted(
                "TOO_LARGE",
                f"an artifact may have {self._max_bytes} bytes, not {largest}",
                limit=self._max_bytes,
                found=largest,
            )
        free = free_bytes(self.folder)
        needed = missing + self._reserve_bytes
        if free < needed:
            raise disk_low(free, needed)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _stored(path: Path) -> StoredArtifact:
    state = path.stat()
    used_ns = max(state.st_atime_ns, state.st_mtime_ns)
    return StoredArtifact("sha256:" + path.name, state.st_size, state.st_mtime_ns, used_ns)


def is_full(folder: Path) -> bool:
    """Tell whether the disk below a folder is so full that any write may fail, whatever its error is called."""
    return free_bytes(folder) <= _NO_ROOM


def free_bytes(folder: Path) -> int:
    """Return the bytes an ordinary user may still write below a folder."""
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def _hash_start(file: object, offset: int) -> hashlib._Hash:
    """Hash what is kept of a begun upload and leave the file at its end."""
    state = hashlib.sha256()
    left = offset
    while left > 0:
        block = file.read(min(left, MAX_CHUNK))  # type: ignore[attr-defined]
        if not block:
            break
        state.update(block)
        left -= len(block)
    return state
