"""Makes the document of a board of graded runs: the scorer's tables, and what was measured beside them.

The variants of a suite (such as the language of its prompts) stand in one document; rows name theirs, and only runs
of one variant are ranked against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from orinbench_client.boards.build import ranked
from orinbench_client.boards.contrasts import differences, pairs
from orinbench_client.boards.document import Document, ModelNames, head
from orinbench_client.boards.figures import Figure, Measured, model_facts
from orinbench_client.boards.parts import Part, cells_of, grading_of, parts_of
from orinbench_client.boards.selection import Group
from orinbench_client.bundles.model import Axis, ScoredRun
from orinbench_client.errors import BadInput
from orinbench_client.metrics import GIB
from orinbench_client.scoring.grades import Grading, Metric, find_scorer
from orinbench_client.statistics import FloatArray, percentile_interval

SCHEMA = "orinbench-leaderboard-graded-1"
UNREAD = ("unparsable", "refused")
_ALL = "accuracy"


def build_graded(group: Group) -> Document:
    """Return the document of a group's board. Boards without a reading are absent, never empty or zero."""
    builder = _Builder(group)
    boards: dict[str, Document | list[Figure]] = {
        _ALL: builder.accuracy(),
        "memory": builder.memory(),
        "speed": builder.measured("speed", builder.figures.speed, "window_mean_s"),
        "energy": builder.measured("energy", builder.energy, "energy_j_per_correct_answer"),
        **{name: builder.table(name) for name in builder.scorer.tables},
        "energy-by-cell": builder.energy_by_cell(),
        "contrasts": builder.contrasts(),
        "unread": builder.unread(),
        "floors": builder.floors(),
    }
    return {
        "schema": SCHEMA,
        **head(group),
        "scorer": builder.made_with(),
        "variants": builder.variants(),
        "axes": {name: list(axes) for name, axes in builder.scorer.tables.items()},
        "boards": {name: board for name, board in boards.items() if rows_of(board)},
    }


class _Builder:
    def __init__(self, group: Group) -> None:
        self.scorer = find_scorer(group.scored_by)
        self._group = group
        self._names = ModelNames(group)
        self._parts = {run.facts.run_id: self._parts_of(run) for run in group.runs}
        parts = [part for tables in self._parts.values() for own in tables.values() for part in own]
        columns = [column for part in parts for metric in part.metrics for column in metric.columns(part.stats)]
        self.figures = Measured(group.runs, columns)

    def _parts_of(self, run: ScoredRun) -> dict[str, list[Part]]:
        cells = cells_of(grading_of(run).grades)
        tables = {_ALL: (), **self.scorer.tables}
        # A file of grades vouches for itself alone: it may hold counts that no reply comes to.
        try:
            parts = {name: list(parts_of(cells, self.scorer, axes)) for name, axes in tables.items()}
            figures = [metric.value(part.stats) for own in parts.values() for part in own for metric in part.metrics]
        except (ArithmeticError, LookupError):
            figures = [math.nan]
        if not all(map(math.isfinite, figures)):
            raise BadInput(f"{run.facts.run_id}: its grades are none that {self.scorer.name} gives: score it anew")
        return parts

    def variants(self) -> list[Figure]:
        """Return which variants there are, each with its runs; rows name theirs by its digest."""
        return [
            {
                "chosen": dict(grading_of(runs[0]).variant),
                "suite_digest": runs[0].facts.suite.digest,
                "runs": [{"model": self._names.of(run.facts), "run_id": run.facts.run_id} for run in runs],
            }
            for runs in self._by_variant()
        ]

    def accuracy(self) -> Document:
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

    def _overall(self, run: ScoredRun) -> Part | None:
        return next(iter(self._parts[run.facts.run_id][_ALL]), None)

    def _worth(self, run: ScoredRun) -> float:
        part = self._overall(run)
        if part is None:
            return 0.0
        return part.value if part.headline.higher_is_better else -part.value

    def _identity(self, run: ScoredRun) -> Figure:
        """Return whose a row is: nothing that differs between two runs with the same outputs."""
        variant = grading_of(run).variant
        return {"model": self._names.of(run.facts), **variant, "suite_digest": run.facts.suite.digest}

    def _measured_identity(self, run: ScoredRun) -> Figure:
        return {**self._identity(run), "run_id": run.facts.run_id}

    def _accuracy_row(self, run: ScoredRun) -> Figure:
        part = self._overall(run)
        figures = self._figures(run, part) if part else {}
        facts = {"model_digest": run.facts.model.digest, "origin": run.facts.origin, **model_facts(run)}
        return {**self._identity(run), **figures, **facts}

    def _figures(self, run: ScoredRun, part: Part) -> Figure:
        interval = percentile_interval(self._rates(part, part.headline))
        beside: Figure = {}
        for metric in part.metrics[1:]:
            beside[metric.name] = metric.value(part.stats)
            beside[f"{metric.name}_ci"] = list(percentile_interval(self._rates(part, metric)))
        return {
            **part.labels,
            "metric": part.headline.name,
            "score": part.value,
            **self.scorer.details(part.labels, part.value),
            "ci": list(interval),
            **beside,
            "n": len(part.stats),
            **{state: part.states.get(state, 0) for state in UNREAD},
            **_floor(grading_of(run), part, interval),
        }

    def _rates(self, part: Part, metric: Metric) -> FloatArray:
        return metric.rates([self.figures.replicates.sums(column) for column in metric.columns(part.stats)])

    def _comparison(self, first: ScoredRun, second: ScoredRun) -> Figure:
        one, other = self._overall(first), self._overall(second)
        ids = [[grade.sample_id for grade in grading_of(run).grades] for run in (first, second)]
        if one is None or other is None or ids[0] != ids[1]:
            raise BadInput(f"{first.facts.run_id}, {second.facts.run_id}: not the same samples, although of one suite")
        interval = percentile_interval(self._rates(one, one.headline) - self._rates(other, other.headline))
        return {
            **grading_of(first).variant,
            "suite_digest": first.facts.suite.digest,
            "first": self._names.of(first.facts),
            "second": self._names.of(second.facts),
            "score_difference": one.value - other.value,
            "ci": list(interval),
            "resolved": interval.excludes_zero,
        }

    def memory(self) -> Document:
        rows = []
        for run in self._group.ranked_by("memory"):
            memory = run.facts.memory
            if memory is not None and memory.peak_bytes is not None:
                peak, score = memory.peak_bytes / GIB, self._score(run)
                # Ranked by what it brings: otherwise a small model that is always wrong would come first.
                brings = {"score_pct_per_gib": 100 * self._worth(run) / peak} if score else {}
                figures = {"memory_method": memory.method, "peak_memory_gib": peak, **brings, **score}
                rows.append({**self._measured_identity(run), **figures})
        # Numbers taken by different methods are never ranked together.
        methods = sorted({row["memory_method"] for row in rows})
        by_method = [[row for row in rows if row["memory_method"] == method] for method in methods]
        # Where there is no score of all samples together, less memory is all there is to say.
        cost = "score_pct_per_gib" if self.scorer.metrics({}) else "peak_memory_gib"
        sign = -1 if cost == "score_pct_per_gib" else 1
        in_order = [self._in_order(own, lambda row: sign * row.get(cost, 0.0)) for own in by_method]
        return {"methods": methods, "rows": [row for own in in_order for row in own]}

    def measured(self, axis: Axis, figures: Callable[[ScoredRun], Figure], cost: str) -> Document:
        rows = [
            {**self._measured_identity(run), **found, **self._score(run)}
            for run in self._group.ranked_by(axis)
            if (found := figures(run))
        ]
        have = self._in_order([row for row in rows if cost in row], lambda row: float(row[cost]))
        if not have:
            return {"rows": rows}
        # A model without the figure, such as one that is never right, stands behind those that are ranked by it.
        others = [row for row in rows if cost not in row]
        return {"ranked_by": cost, "rows": sorted([*have, *others], key=_variant_of)}

    def _in_order(self, rows: Sequence[Figure], cost: Callable[[Figure], float]) -> list[Figure]:
        """Return rows by cost, ranked within their variant."""
        ordered = sorted(rows, key=lambda row: (_variant_of(row), cost(row), row["model"], row["run_id"]))
        return [row for _, own in groupby(ordered, key=_variant_of) for row in ranked(list(own))]

    def _score(self, run: ScoredRun) -> Figure:
        part = self._overall(run)
        return {"score": part.value} if part else {}

    def energy(self, run: ScoredRun) -> Figure:
        """Return the energy of a run; of a correct answer too, partial credit counting in part."""
        figures, energy, part = self.figures.energy(run), run.facts.energy_uj, self._overall(run)
        if energy is not None and part is None:
            return figures | self._energy_of_right(run, [cell for cell in self._cells(run) if cell.right is not None])
        # A score that leaves samples out says nothing of their energy.
        if energy is None or part is None or len(energy) != len(part.stats):
            return figures
        correct = part.value * len(part.stats)
        if correct:
            figures["energy_j_per_correct_answer"] = figures["energy_j"] / correct
        return figures

    def _cells(self, run: ScoredRun) -> list[Part]:
        """Return the cells of the scorer's first table."""
        return self._parts[run.facts.run_id][next(iter(self.scorer.tables))]

    def _energy_of_right(self, run: ScoredRun, parts: Sequence[Part]) -> Figure:
        """Return the energy that a right answer took among the samples of `parts`."""
        energy = run.facts.energy_uj
        right = sum(part.right or 0 for part in parts)
        if energy is None or not right or len(energy) != len(grading_of(run).grades):
            return {}
        spent = sum(int(energy[part.places].sum()) for part in parts)
        return {"energy_j_per_correct_answer": spent / 1e6 / right}

    def energy_by_cell(self) -> list[Figure]:
        """Return the energy of a right answer in every cell that has some."""
        return [
            {**self._measured_identity(run), **part.labels, **found}
            for run in self._group.ranked_by("energy")
            for part in self._cells(run)
            if part.right is not None and (found := self._energy_of_right(run, [part]))
        ]

    def made_with(self) -> Figure:
        """Return the scorer, and what else made the grades of all runs alike."""
        made = [grading_of(run).made_with for run in self._group.runs]
        shared = set.intersection(*(set(each.items()) for each in made)) if made else set[tuple[str, str]]()
        return {**dict(sorted(shared)), "name": self.scorer.name, "digest": self.scorer.digest}

    def contrasts(self) -> list[Figure]:
        """Return the differences between variants that the scorer names."""
        return [
            {
                "contrast": contrast.name,
                "model": self._names.of(first.facts),
                **row,
            }
            for contrast in self.scorer.contrasts
            for first, second in pairs(self._group.runs, contrast)
            for row in differences(self._cells(first), self._cells(second), self._rates)
        ]

    def table(self, name: str) -> list[Figure]:
        return [
            {**self._identity(run), **self._figures(run, part)}
            for run in sorted(self._group.runs, key=lambda run: (self._names.of(run.facts), run.facts.run_id))
            for part in self._parts[run.facts.run_id][name]
        ]

    def unread(self) -> list[Figure]:
        """Return every reply that held no answer, with the rule by which it was found to hold none."""
        return [
            {**self._identity(run), "sample_id": grade.sample_id, "state": grade.state, "rule": grade.rule}
            for run in self._group.runs
            for grade in grading_of(run).grades
            if grade.state in UNREAD
        ]

    def floors(self) -> list[Figure]:
        """Return what every constant answer earns in every cell; the floors of a variant are those of its samples."""
        rows: dict[tuple[Any, ...], Figure] = {}
        for run in self._group.runs:
            grading = grading_of(run)
            place = {**grading.variant, "suite_digest": run.facts.suite.digest}
            for floor in grading.floors:
                row = {**place, **floor.labels, "answer": floor.answer, "value": floor.value}
                rows[tuple(sorted(row.items()))] = row
        return list(rows.values())


def _variant_of(row: Figure) -> str:
    return str(row["suite_digest"])


def rows_of(board: Document | list[Figure]) -> list[Figure]:
    """Return the rows of a board: a list of cells is nothing but rows."""
    rows: list[Figure] = board if isinstance(board, list) else board["rows"]
    return rows


def _floor(grading: Grading, part: Part, interval: tuple[float, float]) -> Figure:
    """Return the best floor of a cell, and whether the score is clear of it."""
    own = [floor for floor in grading.floors if floor.labels == part.labels]
    if not own:
        return {}
    if part.headline.higher_is_better:
        best = max(own, key=lambda floor: floor.value)
        return {"floor": best.value, "floor_answer": best.answer, "above_floor": interval[0] > best.value}
    best = min(own, key=lambda floor: floor.value)
    return {"floor": best.value, "floor_answer": best.answer, "above_floor": interval[1] < best.value}
