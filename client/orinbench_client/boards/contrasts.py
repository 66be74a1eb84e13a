"""The paired differences between variants of a suite, sample by sample, of runs of one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from orinbench_client.boards.figures import Figure
from orinbench_client.boards.parts import Part, grading_of
from orinbench_client.bundles.model import ScoredRun
from orinbench_client.errors import BadInput
from orinbench_client.scoring.grades import Contrast, Metric
from orinbench_client.statistics import FloatArray, percentile_interval

Rates = Callable[[Part, Metric], FloatArray]


def pairs(runs: Sequence[ScoredRun], contrast: Contrast) -> Iterator[tuple[ScoredRun, ScoredRun]]:
    """Yield the pairs of runs of one model, on the same samples, that differ in what a contrast compares alone."""

    def others(run: ScoredRun) -> tuple[object, ...]:
        grading = grading_of(run)
        variant = {axis: word for axis, word in grading.variant.items() if axis != contrast.axis}
        return run.facts.model, variant, grading.made_with, [grade.sample_id for grade in grading.grades]

    sides = [
        [run for run in runs if grading_of(run).variant.get(contrast.axis) == word]
        for word in (contrast.first, contrast.second)
    ]
    for first in sides[0]:
        yield from ((first, second) for second in sides[1] if others(first) == others(second))


def differences(first: Sequence[Part], second: Sequence[Part], rates: Rates) -> Iterator[Figure]:
    """Yield, cell by cell, the first run's headline less the second's, with the interval of the paired difference."""
    others = {tuple(part.labels.items()): part for part in second}
    for part in first:
        other = others.get(tuple(part.labels.items()))
        if other is None:
            raise BadInput(f"{', '.join(part.labels.values())}: one variant alone has such samples: score both anew")
        interval = percentile_interval(rates(part, part.headline) - rates(other, other.headline))
        yield {
            **part.labels,
            "first": part.value,
            "second": other.value,
            "difference": part.value - other.value,
            "ci": list(interval),
            "resolved": interval.excludes_zero,
            "n": len(part.stats),
        }
