"""Persian-looking texts and a directory in PESTE's layout, the same for the same seed: nobody's sentences."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orinbench_client.bundles.model import Sample
from orinbench_client.bundles.peste_terms import aggregates, prediction_lines
from orinbench_client.scoring.score import Score, score_samples
from orinbench_client.text import get_normalizer
from orinbench_profiles.digest import canonical_json

LETTERS = "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیئآ"
SUITE = "synthetic-fa"
PROFILE = "Synthetic board"
_RESERVED = 1 << 30


def make_references(samples: int, seed: int = 1) -> dict[str, str]:
    """Return sentences of 8 to 40 words by sample id; some words hold a ZWNJ, some are numbers."""
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices(LETTERS, k=rng.randint(2, 7))) for _ in range(2000)]
    vocabulary += ["\u200c".join(rng.sample(vocabulary, 2)) for _ in range(200)] + ["۱۹۶۷", "۲۰", "3.5"]
    return {f"test-{index:06d}": " ".join(rng.choices(vocabulary, k=rng.randint(8, 40))) for index in range(samples)}


def make_samples(references: Mapping[str, str], error_rate: float, seed: int = 2) -> list[Sample]:
    """Return what a model with about this word error rate would say to the references."""
    rng = random.Random(seed)
    return [
        Sample(sample_id, " ".join(_misheard(text.split(), error_rate, rng)), float(8 + len(text) % 30))
        for sample_id, text in references.items()
    ]


def _misheard(words: Sequence[str], error_rate: float, rng: random.Random) -> list[str]:
    heard: list[str] = []
    for word in words:
        if rng.random() >= error_rate:
            heard.append(word)
            continue
        kind = rng.choice("SSSDI")
        heard += {"S": [word[:-1] + rng.choice(LETTERS)], "D": [], "I": [word, rng.choice(LETTERS)]}[kind]
    return heard


def write_peste(
    folder: Path, error_rates: Mapping[str, float], samples: int = 871, schema: int = 1, suite_id: str = SUITE
) -> None:
    """Write a directory in PESTE's layout: one suite, and a model with one successful run for each error rate."""
    references = make_references(samples)
    heard = {model: make_samples(references, rate, seed) for seed, (model, rate) in enumerate(error_rates.items())}
    suite_digest = _write_suite(folder / "suites" / suite_id, suite_id, references, next(iter(heard.values())))
    for model, said in heard.items():
        spec = {"schema_version": schema, "model_id": model, "repository": f"synthetic/{model}"}
        _write(folder / "models" / f"{model}.json", spec)
        score = score_samples(said, references, get_normalizer("fa-v1"))
        run = _run(suite_id, model, schema, score)
        run |= {"suite_digest": suite_digest, "model_digest": _digest(canonical_json(spec))}
        place = folder / "results" / suite_id / run["run_id"]
        _write(place / "run.json", run)
        lines = prediction_lines(said, references, score)
        (place / "predictions.jsonl").write_bytes(b"".join(canonical_json(line) for line in lines))


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write_suite(folder: Path, suite_id: str, references: Mapping[str, str], said: Sequence[Sample]) -> str:
    rows = [
        {
            "sample_id": sample.sample_id,
            "split": "test",
            "transcription": references[sample.sample_id],
            "duration_seconds": sample.audio_seconds,
        }
        for sample in said
    ]
    manifest = b"".join(canonical_json(row) for row in rows)
    spec = {
        "schema_version": 1,
        "suite_id": suite_id,
        "evaluation_split": "test",
        "normalization_version": "fa-v1",
        "manifest_path": "manifest.jsonl",
        "manifest_sha256": _digest(manifest),
        "expected_split_counts": {"test": len(rows)},
    }
    _write(folder / "suite.json", spec)
    (folder / "manifest.jsonl").write_bytes(manifest)
    return _digest(canonical_json(spec))


def _run(suite_id: str, model: str, schema: int, score: Score) -> dict[str, Any]:
    facts = {"checkpoint_bytes": 1000, "native_dtype": "float32", "parameter_count": 250}
    memory = {**facts, "peak_cuda_reserved_bytes": _RESERVED, "peak_cuda_allocated_bytes": 900}
    speed = {
        "processing_seconds": 10.0 * len(model),
        "total_audio_seconds": 1000.0,
        "rtf": len(model) / 100,
        "audio_throughput_x": 100 / len(model),
        "batch_size": 1,
        "valid": True,
        "invalidity_reason": None,
    }
    readings = {"memory": memory} if schema == 1 else {"model_facts": facts, "speed": speed}
    return {
        "schema_version": schema,
        "run_id": f"{suite_id}-{model}-20260101T000000Z",
        "suite_id": suite_id,
        "model_id": model,
        "status": "success",
        "environment": {
            "hardware_profile": {"profile": PROFILE if schema == 1 else "Synthetic GPU"},
            "peste_revision": "0" * 40,
            "seed": 20250731,
        },
        "predictions_path": "predictions.jsonl",
        "aggregates": aggregates(score, _RESERVED if schema == 1 else None),
        "error": None,
        **readings,
    }
