"""A checkpoint of the user's own on torch: declared in a file, pushed, run by a daemon, scored by the client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from orinbench_profiles import digest_bytes

from tests.integration.cli.program import program_in
from tests.integration.harness import Daemon, to_toml


@pytest.mark.models
@pytest.mark.filterwarnings("ignore")
def test_a_folder_with_a_checkpoint_becomes_a_score(daemon: Daemon, tmp_path: Path) -> None:
    """`orinbench run` on a declaration beside a checkpoint's folder computes every sample and scores it."""
    from tests.contract.worker.checkpoints import wav2vec2, written

    files = wav2vec2(tmp_path)
    written(files, tmp_path / "checkpoint")
    declaration = {
        "id": "tiny-ctc",
        "title": "Tiny",
        "license": "Apache-2.0",
        "engine": "torch",
        "adapter": "ctc",
        "dtype": "float32",
        "warmup": 0,
        "source": {"kind": "folder", "path": "checkpoint"},
        "files": [{"path": name, "digest": digest_bytes(data), "bytes": len(data)} for name, data in files.items()],
    }
    (tmp_path / "model.toml").write_text(to_toml(declaration))
    with program_in(tmp_path, daemon) as program:
        outcome = json.loads(program.good("run", "--suite", "fa-demo-v1", "--model", "model.toml", "--json"))
    samples = (tmp_path / outcome["bundle"] / "samples.jsonl").read_text().splitlines()

    assert outcome["state"] == "succeeded"
    assert outcome["score"]["cer"] > 0.5
    assert outcome["memory"]["method"] == "process-rss"
    assert len(samples) == 40
    assert any(json.loads(line)["text"] for line in samples)
