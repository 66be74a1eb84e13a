"""The inputs manifest, line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbench_engines.artifacts import Artifacts
from orinbench_engines.failures import WorkerFailure
from orinbench_engines.manifest import Manifest
from orinbench_profiles import canonical_json

_DIGEST = "sha256:" + "0" * 64
_LINE: dict[str, Any] = {
    "sample_id": "s",
    "input": {"digest": _DIGEST, "bytes": 1, "media_type": "audio/wav"},
    "audio_seconds": 1.5,
}


def _manifest(folder: Path, data: bytes, planned: int = 1) -> Manifest:
    path = folder / "manifest"
    path.write_bytes(data)
    return Manifest(path, Artifacts(folder), planned)


def test_lines_are_numbered_from_where_one_begins(tmp_path: Path) -> None:
    """Reading from the third line gives the indices of the whole manifest, up to the last planned."""
    data = b"".join(canonical_json({**_LINE, "sample_id": f"s-{index}"}) for index in range(5))
    inputs = list(_manifest(tmp_path, data, planned=4).inputs(2))

    assert [(index, declared.sample_id) for index, declared in inputs] == [(2, "s-2"), (3, "s-3")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(b"\n", "line 1: Invalid JSON", id="empty line"),
        pytest.param(b"[]\n", "line 1: Input should be an object", id="list"),
        pytest.param(b"\xff\n", "line 1: Invalid JSON", id="not UTF-8"),
        pytest.param(canonical_json({**_LINE, "sample_id": ""}), "sample_id", id="no id"),
        pytest.param(canonical_json({**_LINE, "audio_seconds": 0}), "audio_seconds", id="no length"),
        pytest.param(canonical_json({**_LINE, "max_tokens": 0}), "max_tokens", id="no tokens"),
        pytest.param(canonical_json({**_LINE, "text": "x"}), "text: Extra inputs", id="a reference"),
        pytest.param(canonical_json({**_LINE, "input": {}}), "input.digest: Field required", id="no input"),
        pytest.param(
            canonical_json({**_LINE, "input": {**_LINE["input"], "digest": "md5:0"}}), "input.digest", id="other digest"
        ),
        pytest.param(
            canonical_json({**_LINE, "input": {**_LINE["input"], "media_type": "audio/mp3"}}),
            "input.media_type",
            id="other type",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    """The failure says which line, which field, and what is wrong with it."""
    with pytest.raises(WorkerFailure, match=problem) as caught:
        list(_manifest(tmp_path, line).inputs(0))

    assert caught.value.reason == "MANIFEST_INVALID"


@given(data=st.binary(max_size=200))
def test_any_bytes_are_lines_or_a_failure(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever the artifact holds, reading it gives inputs or one failure of class input."""
    manifest = _manifest(tmp_path_factory.getbasetemp(), data, planned=1000)
    try:
        inputs = list(manifest.inputs(0))
    except WorkerFailure as failure:
        assert failure.reason == "MANIFEST_INVALID"
    else:
        assert len(inputs) == len(data.splitlines())


def test_verifying_shows_progress(tmp_path: Path) -> None:
    """A long manifest is read with a sign of life every few hundred lines, before the first missing input even."""
    signs: list[None] = []
    manifest = _manifest(tmp_path, canonical_json(_LINE) * 600, planned=600)
    manifest.verify(first_index=600, progress=lambda: signs.append(None))

    assert len(signs) == 3
