"""Utterance-level percentile bootstrap by PESTE's rule, for many quantities of one set of samples at once.

A replicate draws n of n samples with replacement; its rate is the sum of one column over the sum of another. All
quantities share one draw. Instead of gathering every column by every index, the draws are counted once a sample
and the counts multiplied with all columns together. Sums of integers below 2^53 are exact in float64, whatever the
order, so the rates are those of the plain definition to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

REPLICATES = 10_000
SEED = 20250731
CONFIDENCE = 0.95
_QUANTILES = (0.025, 0.975)
#: How many indices are drawn at a time: what bounds the memory, whatever the number of samples.
_CHUNK = 1 << 20

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """Bounds of a 95 % interval."""

    lo: float
    hi: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside: of a difference, whether it is resolved."""
        return self.lo > 0 or self.hi < 0


def draw_indices(samples: int, replicates: int = REPLICATES) -> Iterator[IntArray]:
    """Yield the drawn indices, some replicates at a time, each array (replicates, samples).

    Joined they are ``default_rng(SEED).integers(0, samples, size=(replicates, samples), dtype=int64)``.
    """
    generator = np.random.default_rng(SEED)
    rows = max(1, _CHUNK // samples)
    for start in range(0, replicates, rows):
        size = (min(rows, replicates - start), samples)
        yield generator.integers(0, samples, size=size, dtype=np.int64)


def percentile_interval(values: FloatArray) -> Interval:
    """Return the 95 % percentile bounds of replicate values (linear interpolation)."""
    lo, hi = np.quantile(values, _QUANTILES)
    return Interval(float(lo), float(hi))


class Replicates:
    """Replicate sums of columns of integers, those of one length over one draw of samples.

    `columns` are arrays (samples,) of int64, none negative, each summing to less than 2^53. Equal columns are computed
    once. Memory: 80 KB a distinct column beside one chunk of draws.
    """

    def __init__(self, columns: Sequence[IntArray]) -> None:
        self._sums: dict[bytes, FloatArray] = {}
        by_length: dict[int, dict[bytes, IntArray]] = {}
        for column in columns:
            by_length.setdefault(len(column), {})[column.tobytes()] = column
        for distinct in by_length.values():
            self._sums |= zip(distinct, _replicate_sums(list(distinct.values())), strict=True)

    def rates(self, numerator: IntArray, denominator: IntArray) -> FloatArray:
        """Return per replicate the sum of one column over the sum of another, both given at construction."""
        result: FloatArray = self.sums(numerator) / self.sums(denominator)
        return result

    def sums(self, column: IntArray) -> FloatArray:
        """Return per replicate the sum of a column that was given at construction."""
        return self._sums[column.tobytes()]


def _replicate_sums(columns: Sequence[IntArray]) -> FloatArray:
    """Return the sums as (columns, replicates)."""
    matrix = np.stack(columns).astype(np.float64)
    sums = np.empty((matrix.shape[0], REPLICATES))
    done = 0
    for indices in draw_indices(matrix.shape[1]):
        counts = _draw_counts(indices, matrix.shape[1])
        sums[:, done : done + len(counts)] = matrix @ counts.T
        done += len(counts)
    return sums


def _draw_counts(indices: IntArray, samples: int) -> FloatArray:
    """Return how often each sample was drawn, (replicates, samples)."""
    rows = indices.shape[0]
    offsets = np.arange(rows, dtype=np.int64)[:, np.newaxis] * samples
    counts = np.bincount((indices + offsets).ravel(), minlength=rows * samples)
    return counts.reshape(rows, samples).astype(np.float64)
