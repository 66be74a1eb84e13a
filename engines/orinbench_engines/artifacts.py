"""The folder of artifacts: everything a run needs, each file under its digest."""

from __future__ import annotations

from pathlib import Path

from orinbench_profiles import digest_bytes, digest_file, is_digest

from orinbench_engines.failures import WorkerFailure, board_failure, infrastructure_failure, input_failure


class Artifacts:
    """Reads artifacts and verifies them. `what` names the artifact in an error: "the input of sample a-1"."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, digest: str) -> Path:
        """Return where the artifact lies: sha256:abcd… is ab/abcd…. Raises WorkerFailure (infrastructure)."""
        if not is_digest(digest):
            raise infrastructure_failure("PREPARE_INVALID", f"{digest!r} is not sha256: and 64 hex digits")
        name = digest.removeprefix("sha256:")
        return self._folder / name[:2] / name

    def read(self, digest: str, what: str) -> bytes:
        """Return the artifact's bytes. Raises WorkerFailure (input, board)."""
        try:
            return self.path(digest).read_bytes()
        except OSError as error:
            raise _unreadable(error, digest, what) from error

    def read_verified(self, digest: str, what: str) -> bytes:
        """Return the artifact's bytes, digest verified. Raises WorkerFailure (input, board)."""
        data = self.read(digest, what)
        if digest_bytes(data) != digest:
            raise _mismatch(f"{what} is not what its digest {digest} says")
        return data

    def verify(self, digest: str, what: str, size: int | None = None) -> Path:
        """Return the artifact's path, digest and declared size verified. Raises WorkerFailure (input, board)."""
        path = self.path(digest)
        try:
            found = path.stat().st_size
            if size is not None and found != size:
                raise _mismatch(f"{what} has {found} bytes, {size} are declared")
            if digest_file(path) != digest:
                raise _mismatch(f"{what} is not what its digest {digest} says")
        except OSError as error:
            raise _unreadable(error, digest, what) from error
        return path


def _mismatch(problem: str) -> WorkerFailure:
    return input_failure("DIGEST_MISMATCH", f"{problem}: push it again")


def _unreadable(error: OSError, digest: str, what: str) -> WorkerFailure:
    if isinstance(error, FileNotFoundError):
        return input_failure("ARTIFACT_MISSING", f"{what} ({digest}) is not on the board: push it")
    return board_failure("ARTIFACT_UNREADABLE", f"{what} ({digest}) cannot be read: {error.strerror}")
