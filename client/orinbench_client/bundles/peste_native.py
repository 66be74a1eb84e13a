"""A native run in PESTE's terms: schema 1 tells its memory, schema 2 its speed.

The run keeps its own digests, except that of a suite which stands for exactly one of upstream's. It never claims a
source revision of PESTE's, so upstream's own board shows it as unranked until someone vouches for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from orinbench_profiles.digest import canonical_json

from orinbench_client.bundles.model import SUCCEEDED, ModelFacts, Origin, RunFacts
from orinbench_client.bundles.peste_terms import aggregates, prediction_lines
from orinbench_client.bundles.results import Bundle
from orinbench_client.errors import BadInput
from orinbench_client.scoring.score import score_samples, suite_normalizer
from orinbench_client.suites import Suite, references

_NS = 1e9


class Translation(NamedTuple):
    """A run in PESTE's terms: the content of its two files, and where they belong."""

    suite_id: str
    run_id: str
    run_json: bytes
    predictions: bytes


def translate(bundle: Bundle, suite: Suite, form: Origin) -> Translation:
    """Return a native run in PESTE's terms. `suite` is the one it was run on; it holds the right answers.

    Raises BadInput when a successful run lacks the reading that `form` is about.
    """
    facts = bundle.facts
    answers = references(suite)
    score = None
    if facts.state == SUCCEEDED:
        score = score_samples(bundle.samples, answers, suite_normalizer(suite.declaration))
    lines = prediction_lines(bundle.samples, answers, score) if score else []
    accepted = suite.declaration.accepts_digests
    suite_digest = accepted[0] if len(accepted) == 1 else facts.suite.digest
    run = {
        "schema_version": int(form[-1]),
        "run_id": facts.run_id,
        "suite_id": facts.suite.name,
        "suite_digest": suite_digest[7:],
        "model_id": facts.model.name,
        "model_digest": facts.model.digest[7:],
        "status": _status(facts),
        "environment": {"hardware_profile": {"profile": facts.hardware.name}, "peste_revision": None},
        "predictions_path": "predictions.jsonl",
        "aggregates": aggregates(score, _reserved(facts) if form == "peste-1" else None) if score else None,
        "logs": None,
        "error": facts.failure,
        **(_memory(bundle) if form == "peste-1" else {"model_facts": _model(facts.facts), "speed": _speed(bundle)}),
    }
    return Translation(
        facts.suite.name, facts.run_id, canonical_json(run), b"".join(canonical_json(line) for line in lines)
    )


def _status(facts: RunFacts) -> str:
    if facts.failure is not None and facts.failure.startswith("oom:"):
        return "oom"
    return {SUCCEEDED: "success", "cancelled": "killed"}.get(facts.state, "failed")


def _reserved(facts: RunFacts) -> int | None:
    return facts.memory.reserved_bytes if facts.memory else None


def _model(facts: ModelFacts) -> dict[str, Any]:
    return {
        "checkpoint_bytes": facts.checkpoint_bytes,
        "native_dtype": facts.native_dtype,
        "parameter_count": facts.parameter_count,
    }


def _memory(bundle: Bundle) -> dict[str, Any]:
    memory = bundle.facts.memory
    if bundle.facts.state == SUCCEEDED and not _reserved(bundle.facts):
        raise BadInput(f"{bundle.path}: no peak of reserved CUDA memory, which peste-1 is about: export it as peste-2")
    peaks = (
        ("peak_cuda_reserved_bytes", memory and memory.reserved_bytes),
        ("peak_cuda_allocated_bytes", memory and memory.allocated_bytes),
        ("peak_process_rss_bytes", memory and memory.rss_bytes),
    )
    return {"memory": {**_model(bundle.facts.facts), **dict(peaks)}}


def _speed(bundle: Bundle) -> dict[str, Any] | None:
    facts, timing = bundle.facts, bundle.facts.timing
    if timing is None or timing.total_audio_ns is None:
        if facts.state == SUCCEEDED:
            raise BadInput(f"{bundle.path}: no timed windows of audio, which peste-2 is about: export it as peste-1")
        return None
    reasons = [violation.reason for violation in facts.violations if "speed" in violation.voids]
    return {
        "audio_throughput_x": timing.total_audio_ns / timing.total_window_ns,
        "rtf": timing.total_window_ns / timing.total_audio_ns,
        "processing_seconds": timing.total_window_ns / _NS,
        "total_audio_seconds": timing.total_audio_ns / _NS,
        "batch_size": 1,
        "measured_batches": len(bundle.samples),
        "warmup_batches": None,
        "valid": not reasons,
        "invalidity_reason": ", ".join(reasons) or None,
    }
