"""Whose signatures count: the pinned public keys of boards, and what they make of a run."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from orinbench_profiles.digest import canonical_json
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from orinbench_client.bundles.files import parse_model, read_json, write_file
from orinbench_client.bundles.model import ScoredRun
from orinbench_client.errors import BadInput

_SCHEME = "ed25519:"
_NOT_TRUSTED = "not signed by a trusted board, which this leaderboard demands: orinbench trust add"


@dataclass(frozen=True)
class PublicKey:
    """The Ed25519 key of a board: 32 bytes."""

    raw: bytes

    @classmethod
    def parse(cls, text: str, place: str) -> PublicKey:
        """Read ``ed25519:`` and base64, as `orinbenchd key` prints it. Raises BadInput naming the place."""
        try:
            raw = base64.b64decode(text.strip().removeprefix(_SCHEME), validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if not text.startswith(_SCHEME) or len(raw) != 32:
            raise BadInput(f"{place}: no public key of a board: 'ed25519:' and 32 bytes, as 'orinbenchd key' prints it")
        return cls(raw)

    @property
    def key_id(self) -> str:
        """The fingerprint: "sha256:" and the digest of the 32 bytes."""
        return "sha256:" + hashlib.sha256(self.raw).hexdigest()

    def __str__(self) -> str:
        return _SCHEME + base64.b64encode(self.raw).decode()


class _Board(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    key: str


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    schema_: Literal["orinbench-trust-1"] = Field(alias="schema")
    boards: list[_Board]


class TrustList:
    """Trusted keys by name, in a file that may be kept beside the results. A file that is not there is an empty list.

    A board whose key was made anew is trusted under two names: its old runs stay what they were.
    """

    def __init__(self, path: Path) -> None:
        """Read the list. Raises BadInput for a damaged file."""
        self.path = path
        self._keys: dict[str, PublicKey] = {}
        if not path.exists():
            return
        for board in parse_model(_Content, read_json(path), str(path)).boards:
            self._keys[board.name] = PublicKey.parse(board.key, f"{path}: {board.name}")

    @property
    def keys(self) -> Mapping[str, PublicKey]:
        """The keys by name, in the order of names."""
        return dict(sorted(self._keys.items()))

    def name_of(self, key_id: str) -> str | None:
        """Return the name of a trusted key."""
        return next((name for name, key in self._keys.items() if key.key_id == key_id), None)

    def add(self, name: str, key: PublicKey) -> None:
        """Trust a key. Raises BadInput for a name that is taken by another key, or a key that has another name."""
        known = self._keys.get(name)
        if known is not None and known != key:
            raise BadInput(
                f"{name}: is trusted by another key ({known.key_id}): if the board's key was made anew, trust it under "
                f"another name; if not, somebody else answers there"
            )
        other = self.name_of(key.key_id)
        if other not in (None, name):
            raise BadInput(f"{name}: its key is trusted already, as {other}")
        self._save({**self._keys, name: key})

    def remove(self, name: str) -> None:
        """Trust a key no longer. Raises BadInput when there is none of this name."""
        if name not in self._keys:
            raise BadInput(f"{self.path}: trusts no {name!r} (there are: {', '.join(self.keys) or 'none'})")
        self._save({other: key for other, key in self._keys.items() if other != name})

    def judge(self, run: ScoredRun, demanded: bool) -> ScoredRun:
        """Return a run with the standing its signature has here. With `demanded` only trusted runs can be ranked."""
        facts = run.facts
        name = self.name_of(facts.key_id) if facts.standing == "unknown" and facts.key_id else None
        if name is not None:
            return replace(run, facts=replace(facts, standing="trusted", signer=name))
        if not demanded or facts.standing == "invalid":
            return run
        return replace(run, facts=replace(facts, causes=(*facts.causes, _NOT_TRUSTED)))

    def _save(self, keys: Mapping[str, PublicKey]) -> None:
        boards = [{"name": name, "key": str(key)} for name, key in sorted(keys.items())]
        content = {"schema": "orinbench-trust-1", "boards": boards}
        parse_model(_Content, content, str(self.path))
        write_file(self.path, canonical_json(content))
        self._keys = dict(keys)


def trust_file() -> Path:
    """Return where the user's own list is."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "orinbench" / "trust.json"
