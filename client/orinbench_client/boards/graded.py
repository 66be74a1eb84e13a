"""Makes the document of a board of graded runs: the scorer's tables, and what was measured beside them.

The variants of a suite (such as the language of its prompts) stand in one document; rows name theirs, and only runs
of one variant are ranked against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from orinbench_client.boards.build import ranked
from orinbench_client.boards.document import Document, ModelNames, head
from orinbench_client.boards.figures import Figure, Measured, model_facts
from orinbench_client.boards.selection import Group
from orinbench_client.bundles.model import Axis, IntArray, ScoredRun
from orinbench_client.errors import BadInput
from orinbench_client.metrics import GIB
from orinbench_client.scoring.grades import Grade, Grading, Metric, Scorer, find_scorer, stats_of
from orinbench_client.statistics import FloatArray, percentile_interval

SCHEMA = "orinbench-leaderboard-graded-1"
UNREAD = ("unparsable", "refused")
_ALL = "accuracy"


def build_graded(group: Group) -> Document:
    """Return the document of a group's board. Boards without a reading are absent, never empty or zero."""
    builder = _Builder(group)
    boards = {
        _ALL: builder.accuracy(),
        "memory": builder.memory(),
        "speed": builder.measured("speed", builder.figures.speed, "window_mean_s"),
        "energy": builder.measured("energy", builder.energy, "energy_j_per_correct_answer"),
        **{name: {"axes": list(axes), "rows": builder.table(name)} for name, axes in builder.scorer.tables.items()},
        "unread": builder.unread(),
        "floors": builder.floors(),
    }
    return {
        "schema": SCHEMA,
        **head(group),
        "scorer": {"name": builder.scorer.name, "digest": builder.scorer.digest},
        "variants": builder.variants(),
        "boards": {name: board for name, board in boards.items() if board and board.get("rows") != []},
    }


@dataclass(frozen=True)
class _Part:
    """The samples of one run in one cell of one table."""

    labels: Mapping[str, str]
    states: Mapping[str, int]
    stats: IntArray
    metric: Metric
    columns: Sequence[IntArray]


class _Builder:
    def __init__(self, group: Group) -> None:
        self.scorer = find_scorer(group.scored_by)
        self._group = group
        self._names = ModelNames(group)
        self._parts = {run.facts.run_id: self._parts_of(run) for run in group.runs}
        parts = [part for tables in self._parts.values() for own in tables.values() for part in own]
        self.figures = Measured(group.runs, [column for part in parts for column in part.columns])

    def _parts_of(self, run: ScoredRun) -> dict[str, list[_Part]]:
        grades = grading_of(run).grades
        tables = {_ALL: (), **self.scorer.tables}
        return {name: list(_parts(grades, self.scorer, axes)) for name, axes in tables.items()}

    def variants(self) -> list[Figure]:
        """Return which variants there are, each with its runs: the key to the rows of all boards."""
        return [
            {
                "chosen": dict(grading_of(runs[0]).variant),
                "suite_digest": runs[0].facts.suite.digest,
                "runs": [run.facts.run_id for run in runs],
            }
            for runs in self._by_variant()
        ]

    def accuracy(self) -> Document | None:
        rows: list[Figure] = []
        comparisons: list[Figure] = []
        for runs in self._by_variant():
            scored = [run for run in runs if self._overall(run)]
            ordered = sorted(scored, key=lambda run: (-self._worth(run), self._names.of(run.facts), run.facts.run_id))
            rows += ranked([self._accuracy_row(run) for run in ordered])
            comparisons += [self._comparison(*pair) for pair in pairwise(ordered)]
        return {"rows": rows, "comparisons": comparisons}

    def _by_variant(self) -> Iterator[list[ScoredRun]]:
        def order(run: ScoredRun) -> tuple[str, ...]:
            return (*grading_of(run).variant.values(), run.facts.suite.digest)

        for _, runs in groupby(sorted(self._group.runs, key=order), key=order):
            yield list(runs)

    def _overall(self, run: ScoredRun) -> _Part | None:
        return next(iter(self._parts[run.facts.run_id][_ALL]), None)

    def _worth(self, run: ScoredRun) -> float:
        part = self._overall(run)
        if part is None:
            return 0.0
        value = part.metric.value(part.stats)
        return value if part.metric.higher_is_better else -value

    def _identity(self, run: ScoredRun) -> Figure:
        return {"model": self._names.of(run.facts), "run_id": run.facts.run_id, **grading_of(run).variant}

    def _accuracy_row(self, run: ScoredRun) -> Figure:
        part = self._overall(run)
        figures = self._figures(run, part) if part else {}
        facts = {"model_digest": run.facts.model.digest, "origin": run.facts.origin, **model_facts(run)}
        return {**self._identity(run), **figures, **facts}

    def _figures(self, run: ScoredRun, part: _Part) -> Figure:
        value = part.metric.value(part.stats)
        interval = percentile_interval(self._rates(part))
        return {
            **part.labels,
            "metric": part.metric.name,
            "score": value,
            **self.scorer.details(part.labels, value),
            "ci": list(interval),
            "n": len(part.stats),
            **{state: part.states.get(state, 0) for state in UNREAD},
            **_floor(grading_of(run), part, interval),
        }

    def _rates(self, part: _Part) -> FloatArray:
        return part.metric.rates([self.figures.replicates.sums(column) for column in part.columns])

    def _comparison(self, first: ScoredRun, second: ScoredRun) -> Figure:
        one, other = self._overall(first), self._overall(second)
        if one is None or other is None or len(one.stats) != len(other.stats):
            raise BadInput(f"{first.facts.run_id}, {second.facts.run_id}: not the same samples, although of one suite")
        interval = percentile_interval(self._rates(one) - self._rates(other))
        return {
            **grading_of(first).variant,
            "run_id": first.facts.run_id,
            "first": self._names.of(first.facts),
            "second": self._names.of(second.facts),
            "score_difference": one.metric.value(one.stats) - other.metric.value(other.stats),
            "ci": list(interval),
            "resolved": interval.excludes_zero,
        }

    def memory(self) -> Document | None:
        rows = []
        for run in self._group.ranked_by("memory"):
            memory = run.facts.memory
            if memory is not None and memory.peak_bytes is not None:
                peak = memory.peak_bytes / GIB
                rows.append(
                    {
                        **self._identity(run),
                        "memory_method": memory.method,
                        "peak_memory_gib": peak,
                        # Ranked by it: otherwise a small model that is always wrong would come first.
                        **({"score_pct_per_gib": 100 * worth / peak} if (worth := self._worth(run)) else {}),
                        **self._score(run),
                    }
                )
        # Numbers taken by different methods are never ranked together.
        methods = sorted({row["memory_method"] for row in rows})
        by_method = [[row for row in rows if row["memory_method"] == method] for method in methods]
        in_order = [self._in_order(own, lambda row: -row.get("score_pct_per_gib", 0.0)) for own in by_method]
        return {"methods": methods, "rows": [row for own in in_order for row in own]}

    def measured(self, axis: Axis, figures: Callable[[ScoredRun], Figure], cost: str) -> Document | None:
        rows = [
            {**self._identity(run), **found, **self._score(run)}
            for run in self._group.ranked_by(axis)
            if (found := figures(run))
        ]
        if not all(cost in row for row in rows):
            return {"rows": rows}
        return {"ranked_by": cost, "rows": self._in_order(rows, lambda row: float(row[cost]))}

    def _in_order(self, rows: Sequence[Figure], cost: Callable[[Figure], float]) -> list[Figure]:
        """Return rows by cost, ranked within their variant."""
        digests = {run.facts.run_id: run.facts.suite.digest for run in self._group.runs}

        def variant(row: Figure) -> str:
            return digests[row["run_id"]]

        ordered = sorted(rows, key=lambda row: (variant(row), cost(row), row["model"], row["run_id"]))
        return [row for _, own in groupby(ordered, key=variant) for row in ranked(list(own))]

    def _score(self, run: ScoredRun) -> Figure:
        part = self._overall(run)
        return {"score": part.metric.value(part.stats)} if part else {}

    def energy(self, run: ScoredRun) -> Figure:
        """Return the energy of a run; of a correct answer too, partial credit counting in part."""
        figures, energy, part = self.figures.energy(run), run.facts.energy_uj, self._overall(run)
        # A score that leaves samples out says nothing of their energy.
        if energy is None or part is None or len(energy) != len(part.stats):
            return figures
        correct = part.metric.value(part.stats) * len(part.stats)
        if correct:
            figures["energy_j_per_correct_answer"] = figures["energy_j"] / correct
        return figures

    def table(self, name: str) -> list[Figure]:
        return [
            {**self._identity(run), **self._figures(run, part)}
            for run in sorted(self._group.runs, key=lambda run: (self._names.of(run.facts), run.facts.run_id))
            for part in self._parts[run.facts.run_id][name]
        ]

    def unread(self) -> Document:
        """Return every reply that held no answer, with the rule by which it was found to hold none."""
        return {
            "rows": [
                {**self._identity(run), "sample_id": grade.sample_id, "state": grade.state, "rule": grade.rule}
                for run in self._group.runs
                for grade in grading_of(run).grades
                if grade.state in UNREAD
            ]
        }

    def floors(self) -> Document:
        """Return what every constant answer earns in every cell; the floors of a variant are those of its samples."""
        rows: dict[tuple[Any, ...], Figure] = {}
        for run in self._group.runs:
            grading = grading_of(run)
            for floor in grading.floors:
                row = {**grading.variant, **floor.labels, "answer": floor.answer, "value": floor.value}
                rows[tuple(sorted(row.items()))] = row
        return {"rows": list(rows.values())}


def _parts(grades: Sequence[Grade], scorer: Scorer, axes: Sequence[str]) -> Iterator[_Part]:
    places = [scorer.axes.index(axis) for axis in axes]
    cells: dict[tuple[str, ...], list[Grade]] = {}
    for grade in grades:
        cells.setdefault(tuple(grade.labels[place] for place in places), []).append(grade)
    for labels, members in cells.items():
        named = dict(zip(axes, labels, strict=True))
        metric = scorer.metric(named)
        if metric is not None:
            stats = stats_of([grade.stats for grade in members])
            states: Counter[str] = Counter(grade.state for grade in members)
            yield _Part(named, states, stats, metric, metric.columns(stats))


def _floor(grading: Grading, part: _Part, interval: tuple[float, float]) -> Figure:
    """Return the best floor of a cell, and whether the score is clear of it."""
    own = [floor for floor in grading.floors if floor.labels == part.labels]
    if not own:
        return {}
    if part.metric.higher_is_better:
        best = max(own, key=lambda floor: floor.value)
        return {"floor": best.value, "floor_answer": best.answer, "above_floor": interval[0] > best.value}
    best = min(own, key=lambda floor: floor.value)
    return {"floor": best.value, "floor_answer": best.answer, "above_floor": interval[1] < best.value}


def grading_of(run: ScoredRun) -> Grading:
    """Return the grades of a ranked run, which always has them."""
    if run.grading is None:
        raise BadInput(f"{run.facts.run_id}: no grades")
    return run.grading
