"""A score under the names PESTE's files give it: for checking them, and for writing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orinbench_client.bundles.model import Sample
from orinbench_client.metrics import EditCounts, memory_efficiency, word_accuracy_pct
from orinbench_client.scoring.score import Score


def aggregates(score: Score, reserved_bytes: int | None) -> dict[str, Any]:
    """Return the sums and rates of a score; the memory efficiency only where reserved bytes were read."""
    counts = score.counts()
    sums: dict[str, Any] = {
        "samples": len(score.lines),
        "wer": counts.wer,
        "cer": counts.cer,
        "word_errors": int(counts.word_edits.sum()),
        "word_reference_units": int(counts.word_units.sum()),
        "character_errors": int(counts.character_edits.sum()),
        "character_reference_units": int(counts.character_units.sum()),
        "word_accuracy_pct": word_accuracy_pct(counts.wer),
    }
    if reserved_bytes:
        sums["memory_efficiency"] = memory_efficiency(counts.wer, reserved_bytes)
    return sums


def named_counts(kind: str, counts: EditCounts) -> dict[str, int]:
    """Return edit counts under PESTE's names; `kind` is ``word`` or ``character``."""
    return {
        f"{kind}_substitutions": counts.substitutions,
        f"{kind}_deletions": counts.deletions,
        f"{kind}_insertions": counts.insertions,
        f"{kind}_reference_units": counts.units,
    }


def prediction_lines(samples: Sequence[Sample], answers: Mapping[str, str], score: Score) -> list[dict[str, Any]]:
    """Return the lines of predictions.jsonl; `answers` are the references by sample id."""
    return [
        {
            "schema_version": 1,
            "sequence": index,
            "sample_id": sample.sample_id,
            "reference": answers[sample.sample_id],
            "prediction": sample.reply,
            "normalized_reference": line.reference,
            "normalized_prediction": line.prediction,
            **named_counts("word", line.words),
            **named_counts("character", line.characters),
            "structured_output": None,
        }
        for index, (sample, line) in enumerate(zip(samples, score.lines, strict=True))
    ]
