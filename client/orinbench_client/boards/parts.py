"""The graded samples of a run, cell by cell: what the tables of a board are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orinbench_client.bundles.model import IntArray, ScoredRun
from orinbench_client.errors import BadInput
from orinbench_client.scoring.grades import Grade, Grading, Metric, Scorer, stats_of


@dataclass(frozen=True)
class Part:
    """The samples of one run in one cell of one table; `places` are theirs among all of the run."""

    labels: Mapping[str, str]
    places: IntArray
    states: Mapping[str, int]
    stats: IntArray
    metrics: Sequence[Metric]

    @property
    def headline(self) -> Metric:
        """The metric that is ranked."""
        return self.metrics[0]

    @property
    def value(self) -> float:
        """The figure of the headline."""
        return self.headline.value(self.stats)

    @property
    def right(self) -> int | None:
        """How many answers are right; None where no figure says so."""
        shares = (metric.value(self.stats) for metric in self.metrics if metric.counts_right)
        return next((round(share * len(self.stats)) for share in shares), None)


class Cell(NamedTuple):
    """The samples of one run that have all labels in common."""

    labels: tuple[str, ...]
    places: IntArray
    states: Mapping[str, int]
    stats: IntArray


def cells_of(grades: Sequence[Grade]) -> list[Cell]:
    """Return the samples of a run by their labels."""
    members: dict[tuple[str, ...], list[int]] = {}
    for place, grade in enumerate(grades):
        members.setdefault(grade.labels, []).append(place)
    return [
        Cell(
            labels,
            np.array(places, dtype=np.int64),
            Counter(grades[place].state for place in places),
            stats_of([grades[place].stats for place in places]),
        )
        for labels, places in members.items()
    ]


def parts_of(cells: Sequence[Cell], scorer: Scorer, axes: Sequence[str]) -> Iterator[Part]:
    """Yield the cells of a table whose cells are told apart by `axes`; those without a metric are left out."""
    positions = [scorer.axes.index(axis) for axis in axes]
    members: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        members.setdefault(tuple(cell.labels[position] for position in positions), []).append(cell)
    for labels, own in members.items():
        named = dict(zip(axes, labels, strict=True))
        if metrics := scorer.metrics(named):
            states = sum((Counter(cell.states) for cell in own), Counter[str]())
            places, stats = (np.concatenate(columns) for columns in zip(*(cell[1::2] for cell in own), strict=True))
            yield Part(named, places, states, stats, metrics)


def grading_of(run: ScoredRun) -> Grading:
    """Return the grades of a ranked run, which always has them."""
    if run.grading is None:
        raise BadInput(f"{run.facts.run_id}: no grades")
    return run.grading
