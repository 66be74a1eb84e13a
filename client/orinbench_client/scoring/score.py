"""Scoring: texts and references in, edit counts out. Nothing here knows where they are stored."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from orinbench_profiles import SuiteDeclaration, canonical_json, digest_bytes

from orinbench_client.bundles.model import Counts, Sample
from orinbench_client.errors import BadInput
from orinbench_client.metrics import EditCounts, character_edits, word_edits
from orinbench_client.statistics import Interval
from orinbench_client.text import Normalizer, get_normalizer

#: What counts edits here, and by which rule: its digest is part of a score's name.
SCORER = {"name": "asr-edits-1", "unit": "words, characters without spaces", "ties": "fewest S, then fewest D"}
SCORER_DIGEST = digest_bytes(canonical_json(SCORER))


class ScoreLine(NamedTuple):
    """One scored sample: both texts normalised, and the edits between them."""

    sample_id: str
    reference: str
    prediction: str
    words: EditCounts
    characters: EditCounts


@dataclass(frozen=True)
class Score:
    """Every sample of a run under one normaliser, in the order of the suite."""

    normalizer: Normalizer
    lines: tuple[ScoreLine, ...]

    def counts(self) -> Counts:
        """Return the counts as arrays."""
        return counts_of(self.lines)


def counts_of(lines: Sequence[ScoreLine]) -> Counts:
    """Return the counts of scored samples as arrays."""
    return Counts(
        tuple(line.sample_id for line in lines),
        np.array([line.words for line in lines], dtype=np.int64).reshape(-1, 4),
        np.array([line.characters for line in lines], dtype=np.int64).reshape(-1, 4),
    )


def score_samples(samples: Sequence[Sample], references: Mapping[str, str], normalizer: Normalizer) -> Score:
    """Score each sample against the reference of its id. An empty text is valid: all deletions.

    Raises BadInput for a sample without a reference, for a reference no sample answers (the run is incomplete), and
    for a reference with nothing in it after normalisation.
    """
    require_complete(samples, references)
    return Score(normalizer, tuple(_score_one(sample, references, normalizer) for sample in samples))


def suite_normalizer(declaration: SuiteDeclaration) -> Normalizer:
    """Return the normaliser a suite declares. Raises BadInput for one that declares none."""
    if declaration.normalizer is None:
        raise BadInput(f"suite {declaration.id} names no normaliser, so no edits can be counted")
    return get_normalizer(declaration.normalizer)


def require_complete(samples: Sequence[Sample], references: Mapping[str, str]) -> None:
    """Raise BadInput for an id that comes twice, and for a reference no sample answers: the run is incomplete."""
    if twice := repeated([sample.sample_id for sample in samples]):
        raise BadInput(twice)
    missing = references.keys() - {sample.sample_id for sample in samples}
    if missing:
        raise BadInput(
            f"incomplete: {len(missing)} of {len(references)} samples have no result, the first {min(missing)}"
        )


def repeated(sample_ids: Sequence[str]) -> str:
    """Return what is wrong with a run that has several results of a sample, in words; "" where there is none."""
    often = ((sample_id, count) for sample_id, count in Counter(sample_ids).items() if count > 1)
    return next((f"sample {sample_id} has {count} results: each may have one" for sample_id, count in often), "")


def reference_of(sample_id: str, references: Mapping[str, str]) -> str:
    """Return the right answer of a sample. Raises BadInput where the suite has none."""
    if sample_id not in references:
        raise BadInput(f"sample {sample_id}: the suite has no reference for it: another suite's results?")
    return references[sample_id]


def _score_one(sample: Sample, references: Mapping[str, str], normalizer: Normalizer) -> ScoreLine:
    return score_pair(sample.sample_id, reference_of(sample.sample_id, references), sample.reply, normalizer)


def score_pair(sample_id: str, reference: str, text: str, normalizer: Normalizer) -> ScoreLine:
    """Score one text. Raises BadInput when nothing of the reference is left after normalisation."""
    expected, found = normalizer.normalize(reference), normalizer.normalize(text)
    if not expected:
        raise BadInput(f"sample {sample_id}: its reference is empty after {normalizer.name}: invalid suite data")
    return ScoreLine(sample_id, expected, found, word_edits(expected, found), character_edits(expected, found))


class RunningScore:
    """Corpus rates of a run under way, with an interval that costs nothing: for display, never for a board.

    The interval is the normal approximation of the ratio of two sums (delta method: the variance of the residuals
    edits − rate × units over the mean unit count), from sums alone, so a sample costs the same at any length.
    """

    def __init__(self, references: Mapping[str, str], normalizer: Normalizer) -> None:
        self._references = references
        self._normalizer = normalizer
        self._words = RatioSums()
        self._characters = RatioSums()

    def add(self, sample_id: str, text: str) -> ScoreLine:
        """Count one sample and return its score. Raises BadInput for an id without a usable reference."""
        line = _score_one(Sample(sample_id, text), self._references, self._normalizer)
        self._words.add(line.words.edits, line.words.units)
        self._characters.add(line.characters.edits, line.characters.units)
        return line

    @property
    def samples(self) -> int:
        """How many samples have been added."""
        return self._words.count

    @property
    def wer(self) -> RunningRate | None:
        """Word error rate so far; None before the first sample."""
        return self._words.rate()

    @property
    def cer(self) -> RunningRate | None:
        """Character error rate so far; None before the first sample."""
        return self._characters.rate()

    @property
    def figures(self) -> Sequence[tuple[str, RunningRate]]:
        """The character and the word error rate."""
        return [(name, rate) for name, rate in (("CER", self.cer), ("WER", self.wer)) if rate is not None]

    @property
    def remark(self) -> str:
        """Nothing."""
        return ""


class Running(Protocol):
    """The score of a run under way, for display."""

    def add(self, sample_id: str, text: str) -> object:
        """Take in one sample. Raises BadInput for an id the suite does not know."""

    @property
    def figures(self) -> Sequence[tuple[str, RunningRate]]:
        """The figures so far by name, the one that is ranked by first; none before the first sample."""

    @property
    def remark(self) -> str:
        """What else people should see; empty where there is nothing."""


class RunningRate(NamedTuple):
    """A rate so far. `interval` is None while there are fewer than two samples."""

    value: float
    interval: Interval | None


class RatioSums:
    """Sums over samples of a numerator and a denominator, and their ratio with its interval."""

    def __init__(self) -> None:
        self.count = 0
        self._edits = self._units = 0
        self._edits_squared = self._units_squared = self._product = 0

    def add(self, edits: int, units: int) -> None:
        """Take in one sample."""
        self.count += 1
        self._edits += edits
        self._units += units
        self._edits_squared += edits * edits
        self._units_squared += units * units
        self._product += edits * units

    def rate(self) -> RunningRate | None:
        """Return the ratio so far; None before the first sample."""
        if not self.count:
            return None
        value = self._edits / self._units
        if self.count == 1:
            return RunningRate(value, None)
        residual = self._edits_squared - 2 * value * self._product + value * value * self._units_squared
        error = math.sqrt(max(0.0, residual) * self.count / (self.count - 1)) / self._units
        return RunningRate(value, Interval(max(0.0, value - 1.96 * error), value + 1.96 * error))
