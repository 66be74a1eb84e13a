"""Fetches files of a Hugging Face hub at a pinned revision, each checked against what the hub states of it.

Here because the daemon and the client both need it and may not know each other. As a program,
`python -m orinbench_profiles.hub` reads one request in JSON from standard input, token included, and prints an event a
line: so the daemon keeps huggingface_hub, and the time a download takes, in a process of its own.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from orinbench_profiles.schema import plain_path

_BLOCK = 1 << 20
_PROGRESS_S = 0.5
_WILD = frozenset("*?[")
_FULL = (errno.ENOSPC, errno.EDQUOT)
# So many tries in a row that bring nothing end a download.
_FRUITLESS = 3


class HubError(Exception):
    """What was asked cannot be had. `reason` is HUB_NOT_FOUND, _DENIED, _UNREACHABLE, _CLIENT_MISSING, DISK_LOW or
    DIGEST_MISMATCH."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Wanted:
    """Files of a repository. They arrive in `folder` under their own names; what is begun stays there.

    A file whose digest is among `digests` (by path), or is stated by the hub, is not fetched if `stores`, a folder
    of artifacts, has it.
    """

    kind: Literal["model", "dataset"]
    repository: str
    revision: str
    include: Sequence[str]
    folder: Path
    digests: dict[str, str] = field(default_factory=dict)
    stores: Path | None = None


@dataclass(frozen=True)
class Planned:
    """What will be fetched, before the first byte: bytes in all, bytes that are not here yet, the largest file."""

    total_bytes: int
    missing_bytes: int
    largest_bytes: int


@dataclass(frozen=True)
class Progress:
    """How much of one file is here."""

    path: str
    received: int
    total: int


@dataclass(frozen=True)
class Arrived:
    """A file that is what the hub states: its digest, and where it lies (None: among the artifacts already)."""

    path: str
    digest: str
    bytes: int
    at: str | None


Event = Planned | Progress | Arrived


@dataclass(frozen=True)
class _Stated:
    """What the hub says of a file: its size, and the SHA-256 of a large file or the git blob id of a small one."""

    path: str
    bytes: int
    sha256: str | None
    blob: str

    @property
    def part(self) -> str:
        return f".{self.sha256 or self.blob}.part"


def fetch(wanted: Wanted, token: str | None, emit: Callable[[Event], None]) -> None:
    """Fetch what is wanted; `emit` hears how it goes. A broken download goes on where it stopped. Raises HubError."""
    hub = _library()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with (wanted.folder / ".lock").open("w") as lock, _told(wanted, hub, bool(token)):
        # One that outlived its daemon may still write here.
        fcntl.flock(lock, fcntl.LOCK_EX)
        info = hub.HfApi(token=token or False).repo_info(
            wanted.repository, repo_type=wanted.kind, revision=wanted.revision, files_metadata=True
        )
        if info.sha != wanted.revision:
            raise HubError("HUB_NOT_FOUND", f"{wanted.repository} has no revision {wanted.revision}")
        files = [_Fetch(wanted, stated, hub, token, emit) for stated in _choose(wanted, info.siblings)]
        sizes = [file.stated.bytes for file in files]
        emit(Planned(sum(sizes), sum(file.missing() for file in files), max(sizes)))
        for file in files:
            emit(file.run())


class _Fetch:
    """One file."""

    def __init__(
        self, wanted: Wanted, stated: _Stated, hub: Any, token: str | None, emit: Callable[[Event], None]
    ) -> None:
        self.stated = stated
        self._wanted = wanted
        self._hub = hub
        self._token = token
        self._emit = emit
        self._target = wanted.folder / stated.path
        self._part = wanted.folder / stated.part
        self._told = (-1, 0.0)

    def missing(self) -> int:
        """Return the bytes that are still to come."""
        if self._stored() is not None or self._target.exists():
            return 0
        return self.stated.bytes - self._kept()

    def run(self) -> Arrived:
        """Fetch and check the file. Raises HubError."""
        stated = self.stated
        if (digest := self._stored()) is not None:
            return Arrived(stated.path, digest, stated.bytes, None)
        if not self._target.exists():
            self._download()
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._part.rename(self._target)
        digest = self._check()
        self.tell(stated.bytes)
        return Arrived(stated.path, digest, stated.bytes, str(self._target))

    def tell(self, received: int) -> None:
        """Say how far it is, unless that was said a moment ago."""
        before, at = self._told
        if received == before or (received < self.stated.bytes and time.monotonic() < at + _PROGRESS_S):
            return
        self._told = (received, time.monotonic())
        self._emit(Progress(self.stated.path, received, self.stated.bytes))

    def _stored(self) -> str | None:
        digest = self._wanted.digests.get(self.stated.path)
        if self.stated.sha256 is not None:
            stated = f"sha256:{self.stated.sha256}"
            if digest not in (None, stated):
                raise self._differs(stated)
            digest = stated
        stores = self._wanted.stores
        if digest is None or stores is None:
            return None
        name = digest.removeprefix("sha256:")
        return digest if (stores / name[:2] / name).is_file() else None

    def _kept(self) -> int:
        kept = self._part.stat().st_size if self._part.exists() else 0
        return kept if kept <= self.stated.bytes else 0

    def _download(self) -> None:
        kept, fruitless = self._kept(), 0
        while True:
            try:
                self._download_from(kept)
                return
            except Exception as error:
                # A link that breaks is taken up again for as long as it brings something. What came of the library's
                # last block may be lost with the link, so a try without any is no proof that it will not.
                now = self._kept()
                fruitless = 0 if now > kept else fruitless + 1
                if not _link_broke(error, self._hub) or fruitless == _FRUITLESS:
                    raise
                kept = now

    def _download_from(self, kept: int) -> None:
        wanted = self._wanted
        url = self._hub.hf_hub_url(wanted.repository, self.stated.path, repo_type=wanted.kind, revision=wanted.revision)
        # Bytes as they are stored: a range of a compressed answer would be of other bytes.
        headers = self._hub.utils.build_hf_headers(token=self._token or False) | {"Accept-Encoding": "identity"}
        with self._part.open("ab" if kept else "wb") as file:
            self._hub.file_download.http_get(
                url,
                _Metered(file, self.tell),
                resume_size=kept,
                headers=headers,
                expected_size=self.stated.bytes,
            )

    def _check(self) -> str:
        """Return the digest of the file, which must be what the hub and the declaration say; else it is removed."""
        sha256, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % self.stated.bytes, usedforsecurity=False)
        with self._target.open("rb") as file:
            for block in iter(lambda: file.read(_BLOCK), b""):
                sha256.update(block)
                blob.update(block)
        stated = self.stated.sha256 or self.stated.blob
        found = sha256.hexdigest() if self.stated.sha256 else blob.hexdigest()
        if found != stated:
            self._target.unlink()
            where = f"{self.stated.path} of {self._wanted.repository} at {self._wanted.revision}"
            raise HubError(
                "DIGEST_MISMATCH", f"{where}: what came is {found}, the hub states {stated}: nothing of it was kept"
            )
        digest = f"sha256:{sha256.hexdigest()}"
        if self._wanted.digests.get(self.stated.path, digest) != digest:
            self._target.unlink()
            raise self._differs(digest)
        return digest

    def _differs(self, found: str) -> HubError:
        path, wanted = self.stated.path, self._wanted
        return HubError(
            "DIGEST_MISMATCH",
            f"{path} of {wanted.repository} at {wanted.revision} has digest {found}, "
            f"the declaration says {wanted.digests[path]}",
        )


class _Metered(io.RawIOBase):
    """A file that tells its position after every write."""

    def __init__(self, file: Any, tell: Callable[[int], None]) -> None:
        self._file = file
        self._tell = tell

    def write(self, data: Any) -> int:
        written = int(self._file.write(data))
        self._tell(self._file.tell())
        return written

    def tell(self) -> int:
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def truncate(self, size: int | None = None) -> int:
        return int(self._file.truncate(size))


def _library() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.file_download
    except ImportError as error:
        raise HubError(
            "HUB_CLIENT_MISSING", f"huggingface_hub is not installed here ({error}): pip install 'orinbench[prepare]'"
        ) from None
    return huggingface_hub


def _choose(wanted: Wanted, siblings: Sequence[Any] | None) -> list[_Stated]:
    """Return what the hub states of the files that are meant. Raises HubError."""
    there = {sibling.rfilename: sibling for sibling in siblings or ()}
    where = f"{wanted.repository} at {wanted.revision}"
    lacking = [name for name in wanted.include if not _WILD & set(name) and name not in there]
    chosen = [path for path in sorted(there) if any(_matches(path, pattern) for pattern in wanted.include)]
    if lacking or not chosen:
        raise HubError(
            "HUB_NOT_FOUND",
            f"{where} has no {' and no '.join(lacking or wanted.include)}; it has: {', '.join(sorted(there)[:20])}",
        )
    return [_stated(where, there[path]) for path in chosen]


def _matches(path: str, pattern: str) -> bool:
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def _stated(where: str, sibling: Any) -> _Stated:
    lfs = sibling.lfs
    if sibling.size is None or not (sibling.blob_id or lfs):
        raise HubError("HUB_UNREACHABLE", f"the hub does not state size and digest of {sibling.rfilename} of {where}")
    try:
        path = plain_path(sibling.rfilename)
    except ValueError as error:
        raise HubError("HUB_NOT_FOUND", f"{where}: {error}") from None
    return _Stated(path, sibling.size, lfs.sha256 if lfs else None, sibling.blob_id or "")


@contextmanager
def _told(wanted: Wanted, hub: Any, with_token: bool) -> Iterator[None]:
    """Say in one sentence what the library's errors mean."""
    try:
        yield
    except HubError:
        raise
    except Exception as error:
        found = _meaning(error, wanted, hub, with_token)
        if found is None:
            raise
        raise found from error


def _meaning(error: Exception, wanted: Wanted, hub: Any, with_token: bool) -> HubError | None:
    errors, endpoint, repository = hub.errors, hub.constants.ENDPOINT, wanted.repository
    if isinstance(error, OSError) and error.errno in _FULL:
        return HubError("DISK_LOW", f"the disk is full: {wanted.folder} keeps what has come so far")
    if isinstance(error, errors.GatedRepoError):
        hint = "the token given may not read it" if with_token else "no token was given (HF_TOKEN)"
        return HubError("HUB_DENIED", f"{repository} is gated: accept its conditions on the hub; {hint}")
    if isinstance(error, errors.RevisionNotFoundError):
        return HubError("HUB_NOT_FOUND", f"{repository} has no revision {wanted.revision}")
    if isinstance(error, errors.RepositoryNotFoundError):
        hint = "the token given may not see it" if with_token else "it is private, and no token was given (HF_TOKEN)"
        return HubError("HUB_NOT_FOUND", f"there is no {wanted.kind} {repository} at {endpoint}, or {hint}")
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code
        denied = status in (401, 403)
        return HubError("HUB_DENIED" if denied else "HUB_UNREACHABLE", f"{endpoint} answered {status} for {repository}")
    if _link_broke(error, hub):
        line = (str(error).splitlines() or [""])[0]
        return HubError("HUB_UNREACHABLE", f"{endpoint} cannot be reached: {line or type(error).__name__}")
    return None


def _link_broke(error: Exception, hub: Any) -> bool:
    """Tell whether it was the way to the hub, not what the hub said."""
    if isinstance(error, hub.errors.HfHubHTTPError) or getattr(error, "errno", None) in _FULL:
        return False
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore")


def main() -> int:
    """Do what the request on standard input asks; return the exit code."""
    # Whatever else the machine does goes first.
    os.nice(10)
    request = json.loads(sys.stdin.readline())
    token = request.pop("token")
    stores = Path(request.pop("stores"))
    wanted = Wanted(folder=Path(request.pop("folder")), stores=stores, **request)
    try:
        fetch(wanted, token, lambda event: _say({type(event).__name__.lower(): asdict(event)}))
    except HubError as error:
        text = str(error).replace(token, "(token)") if token else str(error)
        _say({"failed": {"reason": error.reason, "message": text}})
        return 1
    _say({"done": {}})
    return 0


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201  the daemon reads it


if __name__ == "__main__":
    sys.exit(main())
