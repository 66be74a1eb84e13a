"""Our scorer against a plain-Python one with the same tie rule, on the same texts, by turns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median

from orinbench_client.bundles.model import Sample
from orinbench_client.metrics import EditCounts
from orinbench_client.scoring.score import score_samples
from orinbench_client.text import get_normalizer

from bench_cases import Result
from bench_cases.synthetic import make_references, make_samples

SAMPLES, ERROR_RATE, ROUNDS = 871, 0.3, 15
BUDGET_S, BUDGET_RATIO = 0.15, 50.0


def measure() -> Result:
    """Compare the median of some rounds of ours with the plain one, a part of it between two rounds; counts must agree.

    By turns, for a machine's pace differs from one ten seconds to the next.
    """
    references = make_references(SAMPLES)
    samples = make_samples(references, ERROR_RATE)
    normalizer = get_normalizer("fa-v1")
    rounds: list[float] = []
    plain: list[tuple[EditCounts, EditCounts]] = []
    plain_s = 0.0
    for part in range(ROUNDS):
        start = time.perf_counter()
        score = score_samples(samples, references, normalizer)
        middle = time.perf_counter()
        plain += _score_plainly(
            samples[part * len(samples) // ROUNDS : (part + 1) * len(samples) // ROUNDS], references
        )
        rounds.append(middle - start)
        plain_s += time.perf_counter() - middle
    if plain != [(line.words, line.characters) for line in score.lines]:
        raise SystemExit("the two scorers do not agree: the figures mean nothing")
    ours = median(rounds)
    ratio = plain_s / ours
    ok = ours <= BUDGET_S and ratio >= BUDGET_RATIO
    budget = f"at most {BUDGET_S} s, and {BUDGET_RATIO:.0f} times a plain-Python scorer with the same rule"
    return Result("score", ours, plain_s, ratio, "s", budget, ok)


def _score_plainly(samples: Sequence[Sample], references: Mapping[str, str]) -> list[tuple[EditCounts, EditCounts]]:
    normalize = get_normalizer("fa-v1").normalize
    counts = []
    for sample in samples:
        reference, prediction = normalize(references[sample.sample_id]), normalize(sample.text)
        words = count_plainly(reference.split(), prediction.split())
        counts.append((words, count_plainly(reference.replace(" ", ""), prediction.replace(" ", ""))))
    return counts


def count_plainly(reference: Sequence[str], prediction: Sequence[str]) -> EditCounts:
    """Count edits by the textbook recurrence over (edits, substitutions, deletions), compared in that order."""
    row = [(column, 0, 0) for column in range(len(prediction) + 1)]
    for depth, unit in enumerate(reference, start=1):
        above, row = row, [(depth, 0, depth)]
        for column, other in enumerate(prediction):
            if unit == other:
                row.append(above[column])
                continue
            edits, substitutions, deletions = above[column]
            best = (edits + 1, substitutions + 1, deletions)
            edits, substitutions, deletions = above[column + 1]
            best = min(best, (edits + 1, substitutions, deletions + 1))
            edits, substitutions, deletions = row[column]
            row.append(min(best, (edits + 1, substitutions, deletions)))
    edits, substitutions, deletions = row[-1]
    return EditCounts(substitutions, deletions, edits - substitutions - deletions, len(reference))
