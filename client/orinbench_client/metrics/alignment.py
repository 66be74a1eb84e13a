"""A word alignment to be read by people: for the few samples that are shown, not for counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One step of an alignment: `kind` is ``=``, ``S``, ``D`` or ``I``; the absent side is empty."""

    kind: str
    reference: str
    prediction: str


def align(reference: Sequence[str], prediction: Sequence[str]) -> list[Step]:
    """Return an alignment with the counts of word_edits: the same costs, traced back through the whole table."""
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
