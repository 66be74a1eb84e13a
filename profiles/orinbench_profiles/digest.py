"""Digests: how everything in orinbench is addressed."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

# Kept, because making one costs more than a short line.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


def canonical_json(value: object) -> bytes:
    """Return UTF-8 JSON with sorted keys, no spaces, not ASCII-escaped, and a final newline.

    The rule is PESTE's, so that digests of its specifications can be recomputed. Raises ValueError for NaN and
    infinities, which JSON does not have.
    """
    return _CANONICAL.encode(value).encode() + b"\n"


def digest_bytes(data: bytes) -> str:
    """Return ``sha256:`` and 64 hex digits for `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> str:
    """Return the digest of a file's bytes, read in blocks. Raises OSError."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            state.update(block)
    return "sha256:" + state.hexdigest()


def is_digest(text: str) -> bool:
    """Tell whether `text` is a digest as digest_bytes writes it."""
    return _DIGEST.match(text) is not None
