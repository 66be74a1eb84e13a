"""Tokens of the TCP door, in one file that is read again when it changes. Only their hashes are kept."""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import structlog
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from orinbenchd.doors.roles import LOCAL, NOBODY, Role
from orinbenchd.start_error import StartError

log = structlog.get_logger("tokens")

CallerName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]


class Token(BaseModel):
    """Someone who may come in by TCP. A token has 256 random bits, so a plain SHA-256 of it cannot be turned back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: CallerName
    role: Role
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    created: str


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: tuple[Token, ...]


class TokenFile:
    """``tokens.json`` in the data folder: 0600, changed by `orinbenchd token` alone, written whole or not at all."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "tokens.json"
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[Token, ...] = ()

    def read(self) -> tuple[Token, ...]:
        """Return all tokens. Raises StartError for a file that is damaged or may not be read."""
        try:
            return _Content.model_validate_json(self._path.read_bytes()).tokens
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StartError(f"tokens {self._path}: cannot be read: {error.strerror}") from None
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, problem["loc"]))
            raise StartError(
                f"tokens {self._path}: damaged ({where or 'the file'}: {problem['msg']}): "
                "remove it and make the tokens anew with 'orinbenchd token create'"
            ) from None

    def find(self, text: str) -> Token | None:
        """Return the token that `text` is. Made or revoked ones count from the next call on."""
        self._refresh()
        digest = sha256(text.encode()).hexdigest()
        # All are compared, so that the time tells nothing about which.
        found = [token for token in self._tokens if hmac.compare_digest(token.sha256, digest)]
        return found[0] if found else None

    def create(self, name: str, role: Role) -> str:
        """Add a token and return it: this once. Raises StartError."""
        text = secrets.token_urlsafe(32)
        digest = sha256(text.encode()).hexdigest()
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if name in (LOCAL.name, NOBODY.name):
            raise StartError(f"token {name!r}: this name stands for somebody else: choose another")
        try:
            token = Token(name=name, role=role, sha256=digest, created=created)
        except ValidationError:
            raise StartError(f"token {name!r}: a name has 1 to 64 of A-Z a-z 0-9 . _ @ -") from None
        with self._changing() as tokens:
            if any(old.name == name for old in tokens):
                raise StartError(f"token {name!r}: there is one of this name: revoke it first, or choose another")
            tokens.append(token)
        return text

    def revoke(self, name: str) -> None:
        """Remove a token. Raises StartError when there is none of this name."""
        with self._changing() as tokens:
            left = [token for token in tokens if token.name != name]
            if len(left) == len(tokens):
                known = ", ".join(token.name for token in tokens) or "none"
                raise StartError(f"token {name!r}: there is none of this name (there are: {known})")
            tokens[:] = left

    def _refresh(self) -> None:
        try:
            state = self._path.stat()
            now: tuple[int, ...] = (state.st_mtime_ns, state.st_ino, state.st_size)
        except OSError:
            now = ()
        if now == self._seen:
            return
        self._seen = now
        try:
            self._tokens = self.read()
        except StartError as error:
            # Nobody gets in by a file that cannot be read.
            self._tokens = ()
            log.error("no token is taken", reason=str(error))

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        folder = self._path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o750)
            handle = os.open(folder, os.O_RDONLY)
            try:
                # Two commands at once: the second waits, so none is lost.
                fcntl.flock(handle, fcntl.LOCK_EX)
                tokens = list(self.read())
                yield tokens
                self._write(tokens)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise StartError(
                f"tokens {self._path}: cannot be written: {error.strerror}: be root, or the user of the daemon"
            ) from None

    def _write(self, tokens: list[Token]) -> None:
        folder = self._path.parent
        handle, name = tempfile.mkstemp(dir=folder, prefix=".tokens-")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump({"tokens": [token.model_dump() for token in tokens]}, file, indent=1)
                file.flush()
                os.fsync(handle)
                if os.geteuid() == 0:
                    # The command is root's, the file is the daemon's.
                    owner = folder.stat()
                    os.fchown(handle, owner.st_uid, owner.st_gid)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
