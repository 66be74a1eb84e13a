"""Pushes artifacts: what the board lacks, from where an earlier upload stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orinbench.v1.artifact_pb2 import PutArtifactHeader, PutArtifactRequest
from orinbench_profiles import digest_bytes

from orinbench_client.errors import BadInput

_CHUNK = 256 * 1024
# Hears how many bytes of an artifact have been sent or were there already.
OnPosition = Callable[[int], None]


@dataclass(frozen=True)
class Upload:
    """An artifact to push: its digest and either its bytes or the file that holds them."""

    digest: str
    size_bytes: int
    content: bytes | Path

    @classmethod
    def of_bytes(cls, data: bytes) -> Upload:
        """Return the upload of `data`."""
        return cls(digest_bytes(data), len(data), data)


def requests(upload: Upload, offset: int, on_position: OnPosition) -> Iterator[PutArtifactRequest]:
    """Yield the header and the chunks of `upload` from `offset`.

    Raises BadInput if the file cannot be read.
    """
    yield PutArtifactRequest(
        header=PutArtifactHeader(digest=upload.digest, size_bytes=upload.size_bytes, offset=offset)
    )
    for chunk in _chunks(upload.content, offset):
        yield PutArtifactRequest(chunk=chunk)
        offset += len(chunk)
        on_position(offset)


def _chunks(content: bytes | Path, offset: int) -> Iterator[bytes]:
    if isinstance(content, bytes):
        for start in range(offset, len(content), _CHUNK):
            yield content[start : start + _CHUNK]
        return
    try:
        with content.open("rb") as file:
            file.seek(offset)
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise BadInput(f"{content}: cannot be read: {error.strerror}") from None
