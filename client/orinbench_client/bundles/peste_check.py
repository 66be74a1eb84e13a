"""Does an imported run hold up? Sequence, ids, references, texts, edit counts and sums are checked once, at import.

What differs is listed per sample; a run with anything in the list is kept, and not ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from orinbench_client.bundles.model import Sample
from orinbench_client.bundles.peste import ManifestRow, PesteAggregates, PesteBundle, PesteLine, PesteSource
from orinbench_client.bundles.peste_terms import aggregates, named_counts
from orinbench_client.errors import BadInput
from orinbench_client.scoring.score import Score, ScoreLine, score_samples
from orinbench_client.text import get_normalizer

_TOLERANCE = 1e-12


class Difference(BaseModel):
    """One thing that is not as it should be. `place` is ``predictions.jsonl: line N`` or ``run.json``."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    place: str
    what: str
    stored: int | float | str
    expected: int | float | str


@dataclass(frozen=True)
class CheckedRun:
    """A run after the checks. `score` and `samples` are None unless every sample is there in its place."""

    bundle: PesteBundle
    differences: tuple[Difference, ...]
    samples: tuple[Sample, ...] | None = None
    references: Mapping[str, str] | None = None
    score: Score | None = None
    audio_seconds: tuple[float, ...] | None = None


def check_run(bundle: PesteBundle, source: PesteSource) -> CheckedRun:
    """Check a run against its directory's specifications. An unsuccessful run has nothing to be checked.

    Raises BadInput for files that cannot be read, and for a suite whose normaliser is not known.
    """
    if not bundle.run.successful:
        return CheckedRun(bundle, ())
    rows = source.samples(bundle.run.suite_id)
    lines = [line for _, line in bundle.lines()]
    wrong_order = list(_compare_order(lines, rows))
    if wrong_order:
        return CheckedRun(bundle, tuple(wrong_order))
    seconds = tuple(row.duration_seconds for row in rows)
    samples = tuple(
        Sample(line.sample_id, line.prediction, second) for line, second in zip(lines, seconds, strict=True)
    )
    references = {line.sample_id: line.reference for line in lines}
    normalizer = get_normalizer(source.suite(bundle.run.suite_id).normalization_version)
    try:
        score = score_samples(samples, references, normalizer)
    except BadInput as error:
        raise BadInput(f"{bundle.folder / bundle.run.predictions_path}: {error}") from None
    differences = [*_compare_lines(lines, rows, score.lines), *_compare_sums(bundle, score)]
    return CheckedRun(bundle, tuple(differences), samples, references, score, seconds)


def _compare_order(lines: Sequence[PesteLine], rows: Sequence[ManifestRow]) -> Iterator[Difference]:
    seen: set[str] = set()
    for index, (line, row) in enumerate(zip(lines, rows, strict=False)):
        place = _place(index)
        if line.sample_id in seen:
            yield Difference(place=place, what="sample repeated", stored=line.sample_id, expected=row.sample_id)
        elif line.sample_id != row.sample_id:
            yield Difference(place=place, what="sample_id", stored=line.sample_id, expected=row.sample_id)
        if line.sequence != index:
            yield Difference(place=place, what="sequence", stored=line.sequence, expected=index)
        seen.add(line.sample_id)
    if len(lines) != len(rows):
        yield Difference(place="predictions.jsonl", what="samples", stored=len(lines), expected=len(rows))


def _compare_lines(
    lines: Iterable[PesteLine], rows: Iterable[ManifestRow], scored: Iterable[ScoreLine]
) -> Iterator[Difference]:
    for index, (line, row, score) in enumerate(zip(lines, rows, scored, strict=True)):
        expected: dict[str, Any] = {
            "reference": row.transcription,
            "normalized_reference": score.reference,
            "normalized_prediction": score.prediction,
            **named_counts("word", score.words),
            **named_counts("character", score.characters),
        }
        yield from _compare(_place(index), line, expected)


def _compare_sums(bundle: PesteBundle, score: Score) -> Iterator[Difference]:
    stored = bundle.run.aggregates or PesteAggregates()
    memory = bundle.run.memory
    expected = aggregates(score, memory.peak_cuda_reserved_bytes if memory else None)
    recorded = stored.model_dump(exclude_none=True)
    yield from _compare("run.json", stored, {what: value for what, value in expected.items() if what in recorded})


def _compare(place: str, stored: PesteLine | PesteAggregates, expected: Mapping[str, Any]) -> Iterator[Difference]:
    for what, value in expected.items():
        found = getattr(stored, what)
        close = isinstance(value, float) and abs(found - value) <= _TOLERANCE
        if found != value and not close:
            yield Difference(place=place, what=what, stored=found, expected=value)


def _place(index: int) -> str:
    return f"predictions.jsonl: line {index + 1}"


def summarise(differences: Sequence[Difference]) -> str:
    """Return the differences as one cause: how many, and the first in full."""
    first = differences[0]
    more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
    found, expected = _short(first.stored), _short(first.expected)
    return f"does not hold up: {first.place}: {first.what} is {found}, should be {expected}{more}"


def _short(value: float | str) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
