"""F1 over classes, from counts that a bootstrap can add up."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def class_columns(truth: IntArray, predicted: IntArray) -> list[IntArray]:
    """Return hits, true and predicted members of each class of `truth`, as columns (samples,) of zeros and ones.

    Both arrays are (samples,); whatever else `predicted` holds, such as −1 for no answer, is no class of its own.
    """
    classes = np.unique(truth)
    hits = [((truth == label) & (predicted == label)).astype(np.int64) for label in classes]
    return [*hits, *_members(truth, classes), *_members(predicted, classes)]


def macro_f1(sums: Sequence[FloatArray]) -> FloatArray:
    """Return the mean F1 of the classes, (replicates,), of the sums of class_columns.

    F1 of a class is 2 hits / (true + predicted). A class that a replicate drew no true member of is left out.
    """
    hits, true, predicted = np.split(np.stack(sums), 3)
    there = true > 0
    scores = np.where(there, 2 * hits / np.where(there, true + predicted, 1.0), 0.0)
    result: FloatArray = scores.sum(axis=0) / there.sum(axis=0)
    return result


def expected_macro_f1(shares: Sequence[float], classes: int) -> float:
    """Return the macro-F1 of guessing among so many classes, from the expected counts.

    `shares` are those of the classes that occur. Precision is then a class's share, recall one over `classes`.
    """
    chance = 1 / classes
    # Exactly rounded, as every sum of floats that is kept: what sum() gives depends on the version of Python.
    return math.fsum(2 * share * chance / (share + chance) for share in shares) / len(shares)


def _members(values: IntArray, classes: IntArray) -> list[IntArray]:
    return [(values == label).astype(np.int64) for label in classes]
