"""The board's key: Ed25519, made on the board, readable by the daemon alone, and what it signs."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
from hashlib import sha256
from pathlib import Path

from nacl.signing import SigningKey
from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2

from orinbenchd.start_error import StartError

# Field of a Verdict: where it stands in the Run and its plan.
_OF_RUN = ("state", "record_digest", "record_count", "hardware_profile_digest", "execution_contract_digest", "board")
_COUNTS = ("planned_samples", "accepted_samples")
_OF_PLAN = ("suite_id", "suite_digest", "inputs_digest", "model_id", "model_digest", "hardware_profile")
_MESSAGES = ("end_time", "memory", "telemetry", "model_facts")


_SCHEME = b"ed25519-private:"


class BoardKey:
    """Signs verdicts. `key_id` is "sha256:" and the digest of the public key's 32 bytes."""

    def __init__(self, private: SigningKey) -> None:
        self._private = private
        self.public = bytes(private.verify_key)
        self.key_id = "sha256:" + sha256(self.public).hexdigest()

    def __str__(self) -> str:
        """Return the public key as `orinbench trust add --key` reads it."""
        return f"ed25519:{base64.b64encode(self.public).decode()}"

    def sign(self, run: run_pb2.Run) -> None:
        """Put the verdict over an ended run, and its signature, into the run."""
        verdict = pb.Verdict(
            run=run.name,
            violations=run.violations,
            board_key_id=self.key_id,
            board_public_key=self.public,
            **{field: getattr(run, field) for field in (*_OF_RUN, *_COUNTS)},
            **{field: getattr(run.plan, field) for field in _OF_PLAN},
        )
        for field in _MESSAGES:
            if run.HasField(field):
                getattr(verdict, field).CopyFrom(getattr(run, field))
        run.signed_verdict = verdict.SerializeToString()
        run.signature = self._private.sign(run.signed_verdict).signature


def board_key(data_dir: Path) -> BoardKey:
    """Return the key in ``board.key``, making one where there is none. Raises StartError."""
    path = data_dir / "board.key"
    try:
        if not path.exists():
            _make(path)
        if path.stat().st_mode & 0o077:
            raise StartError(f"key {path}: others may read it: chmod 600 it; if others did, remove it for a new one")
        text = path.read_bytes()
    except OSError as error:
        raise StartError(f"key {path}: {error.strerror}: be root, or the user of the daemon") from None
    try:
        seed = base64.b64decode(text.removeprefix(_SCHEME).strip(), validate=True)
    except binascii.Error:
        seed = b""
    if not text.startswith(_SCHEME) or len(seed) != 32:
        raise StartError(f"key {path}: damaged: restore it, or remove it for a new one")
    return BoardKey(SigningKey(seed))


def _make(path: Path) -> None:
    """Write a new key whole or not at all: a torn one would be a board without a name."""
    text = _SCHEME + base64.b64encode(bytes(SigningKey.generate())) + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    scratch = path.with_name(f".key-{os.getpid()}")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
            if os.geteuid() == 0:
                owner = path.parent.stat()
                os.fchown(handle, owner.st_uid, owner.st_gid)
        # A link fails where a name is taken: two who make one at once end with the same.
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(scratch)
    finally:
        scratch.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
