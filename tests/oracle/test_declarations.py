"""Our declarations of PESTE's suites and models against its published specifications."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.prepare.fleurs import manifest_line, read_sums
from orinbench_profiles import HubSource, canonical_json, digest_bytes, load_model, load_suite

pytestmark = pytest.mark.oracle
ADAPTERS = {
    "transformers-whisper": "whisper",
    "transformers-qwen": "qwen-asr",
    "transformers-ctc": "ctc",
    "nemo-rnnt": "nemo-rnnt",
}
MODELS = (
    "nvidia-fastconformer-fa",
    "qwen3-asr-0-6b",
    "qwen3-asr-1-7b",
    "wav2vec2-large-xlsr-53-persian",
    "whisper-large-persian-steja",
    "whisper-large-v3",
    "whisper-large-v3-turbo",
    "whisper-persian-paulwalker",
)


def specification(path: Path) -> dict[str, Any]:
    """Read a published specification."""
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def test_every_published_model_is_declared(oracle: Path) -> None:
    """None is left out."""
    assert sorted(path.stem for path in (oracle / "peste-v1/models").iterdir()) == sorted(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_the_published_one(oracle: Path, name: str) -> None:
    """Repository, revision, adapter, type, licence and generation are those of the specification whose digest it
    accepts."""
    published = specification(oracle / f"peste-v1/models/{name}.json")
    model = load_model(name).declaration
    assert isinstance(model.source, HubSource)
    assert (model.source.repository, model.source.revision) == (published["repository"], published["revision"])
    assert (model.adapter, model.dtype) == (ADAPTERS[published["adapter"]], published["native_dtype"])
    assert model.license == published["license"]
    assert model.accepts_digests == [digest_bytes(canonical_json(published))]
    for option, value in model.options.items():
        assert value == {**published["generation"], "language": published["language"]}[option]


@pytest.mark.parametrize("name", ["fleurs-fa-ir-v1", "fleurs-fa-ir-v2"])
def test_a_suite_is_the_published_one(oracle: Path, name: str) -> None:
    """Source, normaliser and count are those of the specification; the sums and the digest of our manifest follow
    from its manifest's rows of the test split, whose own digest is the pinned one."""
    published = specification(oracle / f"peste-v1/suites/{name}/suite.json")
    loaded = load_suite(name)
    suite, source = loaded.declaration, loaded.declaration.source
    assert isinstance(source, HubSource)
    found = {"repository": source.repository, "revision": source.revision, "config": source.config}
    assert {**found, "license": suite.license} == published["dataset"]
    assert source.split == published["evaluation_split"]
    assert suite.normalizer == published["normalization_version"]
    assert suite.samples == published["expected_split_counts"]["test"]
    assert suite.accepts_digests == [digest_bytes(canonical_json(published))]

    manifest = (oracle / f"peste-v1/suites/{name}" / published["manifest_path"]).read_bytes()
    assert sha256(manifest).hexdigest() == published["manifest_sha256"]
    rows = [row for row in map(json.loads, manifest.splitlines()) if row["split"] == "test"]
    sums = read_sums(loaded)
    assert [(each.sample_id, each.audio) for each in sums] == [(row["sample_id"], row["audio_sha256"]) for row in rows]
    references = [sha256(row["transcription"].encode()).hexdigest() for row in rows]
    assert [each.reference for each in sums] == references
    assert len({each.audio for each in sums}) == len(sums)
    lines = [manifest_line(s, row["duration_seconds"], row["transcription"]) for s, row in zip(sums, rows, strict=True)]
    assert suite.manifest_digest == digest_bytes(b"".join(lines))
