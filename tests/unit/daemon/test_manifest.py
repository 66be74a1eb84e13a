"""The inputs manifest as the daemon reads it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbenchd.errors import InvalidArgument
from orinbenchd.runs.plan import read_manifest

DIGEST = "sha256:" + "a" * 64
GOOD = {"sample_id": "s", "input": {"digest": DIGEST, "bytes": 1, "media_type": "audio/flac"}, "audio_seconds": 1.5}

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(text: bytes) -> list[Any]:
    """Read a manifest of these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest"
        path.write_bytes(text)
        return list(read_manifest(path, DIGEST))


@given(st.lists(JSON | st.just(GOOD), max_size=4), st.binary(max_size=20))
def test_any_bytes_are_read_or_refused_by_line(values: list[object], tail: bytes) -> None:
    """Whatever the lines hold, the answer is samples or one InvalidArgument that names a line, nothing else."""
    text = b"".join(json.dumps(value).encode() + b"\n" for value in values) + tail
    try:
        found = read(text)
    except InvalidArgument as error:
        assert f"line {error.metadata['line']}" in str(error)
    else:
        assert len(found) == len(text.splitlines()) or tail.strip() == b""


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"reference": "the right answer"}, "unknown keys: reference"),
        ({"sample_id": ""}, "1 to 256"),
        ({"sample_id": 7}, "must be a string"),
        ({"audio_seconds": -1}, "audio_seconds"),
        ({"audio_seconds": float("nan")}, "audio_seconds"),
        ({"audio_seconds": 0}, "audio_seconds"),
        ({"audio_seconds": True}, "audio_seconds"),
        ({"max_tokens": True}, "max_tokens"),
        ({"sample_id": "half a pair \ud800"}, "surrogates"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"input": {"digest": "md5:1", "bytes": 1, "media_type": "x"}}, "sha256"),
        ({"input": None}, "line 2"),
        ({"input": {"digest": DIGEST, "reference": "the right answer"}}, "unknown keys: reference"),
        ({"attachments": {}}, "attachments must be a list"),
        ({"attachments": ["sha256:1"]}, "attachments must hold"),
        ({"attachments": [{"digest": "md5:1"}]}, "attachments.digest"),
    ],
)
def test_a_bad_line_is_named(change: dict[str, Any], wanted: str) -> None:
    """A reference, a wrong type or a number out of range is refused with its line."""
    lines = [json.dumps(GOOD), json.dumps(GOOD | change)]
    with pytest.raises(InvalidArgument, match=wanted) as error:
        read("\n".join(lines).encode())
    assert "line 2" in str(error.value)


def test_brackets_without_end_are_refused_by_line() -> None:
    """A line that no parser can go down into is a bad line, not a fault of the daemon."""
    with pytest.raises(InvalidArgument, match="line 1"):
        read(b"[" * 200_000)
