"""A word alignment to be read by people: for what is shown, not for counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from orinbench_client.metrics.edits import count_edits, numbered

_KINDS = {"equal": "=", "replace": "S", "delete": "D", "insert": "I"}


class Step(NamedTuple):
    """One step of an alignment: `kind` is ``=``, ``S``, ``D`` or ``I``; the absent side is empty."""

    kind: str
    reference: str
    prediction: str


def align(reference: Sequence[str], prediction: Sequence[str]) -> list[Step]:
    """Return an alignment with the counts of word_edits."""
    left, right = numbered(reference, prediction)
    steps = _any_minimal(reference, prediction, left, right)
    kinds = Counter(step.kind for step in steps)
    if (kinds["S"], kinds["D"], kinds["I"]) == count_edits(left, right)[:3]:
        return steps
    return _traced(reference, prediction)


def _any_minimal(
    reference: Sequence[str], prediction: Sequence[str], left: Sequence[int], right: Sequence[int]
) -> list[Step]:
    """Return one of the alignments with the fewest edits: mostly it has the fewest substitutions too."""
    steps = []
    for part in Levenshtein.opcodes(left, right):
        words = reference[part.src_start : part.src_end], prediction[part.dest_start : part.dest_end]
        steps += [Step(_KINDS[part.tag], *pair) for pair in zip_longest(*words, fillvalue="")]
    return steps


def _traced(reference: Sequence[str], prediction: Sequence[str]) -> list[Step]:
    """Return an alignment by the costs of word_edits, traced back through the whole table."""
    table = _cost_table(reference, prediction)
    steps: list[Step] = []
    row, column = len(reference), len(prediction)
    while row or column:
        step = _step_into(table, reference, prediction, row, column)
        steps.append(step)
        row -= step.kind != "I"
        column -= step.kind != "D"
    return steps[::-1]


def _costs(reference: Sequence[str], prediction: Sequence[str]) -> tuple[int, int]:
    gap = min(len(reference), len(prediction)) + 2
    return gap, gap + 1


def _cost_table(reference: Sequence[str], prediction: Sequence[str]) -> list[list[int]]:
    gap, substitution = _costs(reference, prediction)
    table = [[column * gap for column in range(len(prediction) + 1)]]
    for row, word in enumerate(reference, start=1):
        above, line = table[-1], [row * gap]
        for column, other in enumerate(prediction):
            diagonal = above[column] + (0 if word == other else substitution)
            line.append(min(diagonal, above[column + 1] + gap, line[column] + gap))
        table.append(line)
    return table


def _step_into(
    table: list[list[int]], reference: Sequence[str], prediction: Sequence[str], row: int, column: int
) -> Step:
    gap, substitution = _costs(reference, prediction)
    here = table[row][column]
    if row and column:
        word, other = reference[row - 1], prediction[column - 1]
        if here == table[row - 1][column - 1] + (0 if word == other else substitution):
            return Step("=" if word == other else "S", word, other)
    if row and here == table[row - 1][column] + gap:
        return Step("D", reference[row - 1], "")
    return Step("I", "", prediction[column - 1])
