"""Makes the document of a board: every figure, nothing of how it looks. It is what leaderboard.json holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from orinbench_client.boards.document import Document, ModelNames, head
from orinbench_client.boards.figures import Figure, Figures, counts_of, has_device_memory, model_facts
from orinbench_client.boards.pareto import Point, front
from orinbench_client.boards.selection import Group
from orinbench_client.bundles.model import Axis, ScoredRun
from orinbench_client.text import get_normalizer, normalizer_names

SCHEMA = "orinbench-leaderboard-1"
NO_DIFFERENCE = "No clear difference"
FIRST_LOWER = "First model has lower CER"

_Cost = tuple[str, Axis, tuple[str, ...]]
#: Pareto fronts: name, axis, and the figure that is the cost: the first that all runs have.
_COSTS: tuple[_Cost, ...] = (
    ("cer_memory", "memory", ("peak_memory_gib",)),
    ("cer_rtf", "speed", ("rtf", "window_mean_s")),
    ("cer_energy", "energy", ("energy_j_per_audio_hour", "energy_j_per_sample")),
)


def build_board(group: Group) -> Document:
    """Return the document of a group's board. Boards without a reading are absent, never empty or zero."""
    builder = _Builder(group)
    boards = {
        "accuracy": builder.accuracy(),
        "memory": builder.memory(),
        "speed": builder.speed(),
        "energy": builder.energy(),
        "pareto": builder.pareto(),
    }
    return {
        "schema": SCHEMA,
        **head(group),
        "normalizer": {"name": group.scored_by, "digest": get_normalizer(group.scored_by).digest}
        if group.scored_by in normalizer_names()
        else None,
        "samples": len(counts_of(group.runs[0]).sample_ids) if group.runs else None,
        "runs": [builder.names(run) for run in builder.by_accuracy],
        "boards": {name: board for name, board in boards.items() if board},
        "diagnostics": [{**builder.names(run), **run.diagnostics} for run in builder.by_accuracy],
    }


class _Builder:
    def __init__(self, group: Group) -> None:
        self._group = group
        self._figures = Figures(group.runs)
        self._names = ModelNames(group)
        self.by_accuracy = sorted(group.runs, key=self._accuracy_order)

    def names(self, run: ScoredRun) -> Figure:
        return {"model_id": self._model(run), "run_id": run.facts.run_id}

    def _model(self, run: ScoredRun) -> str:
        return self._names.of(run.facts)

    def _accuracy_order(self, run: ScoredRun) -> tuple[float, float, str]:
        counts = counts_of(run)
        return (counts.cer, counts.wer, self._model(run))

    def accuracy(self) -> Document:
        """Return the rows, which hold nothing that differs between two runs with the same outputs."""
        memory = {run.facts.run_id for run in self._group.ranked_by("memory") if has_device_memory(run)}
        rows = [
            {
                "model_id": self._model(run),
                "model_digest": run.facts.model.digest,
                "origin": run.facts.origin,
                **self._figures.accuracy(run),
                **(self._figures.memory(run) if run.facts.run_id in memory else {}),
                **model_facts(run),
            }
            for run in self.by_accuracy
        ]
        return {"rows": ranked(rows), "comparisons": [self._comparison(*pair) for pair in pairwise(self.by_accuracy)]}

    def _comparison(self, first: ScoredRun, second: ScoredRun) -> Figure:
        interval = self._figures.cer_difference(first.facts.run_id, second.facts.run_id)
        difference = counts_of(first).cer - counts_of(second).cer
        return {
            "first": self._model(first),
            "second": self._model(second),
            "cer_difference": difference,
            "ci": list(interval),
            "resolved": interval.excludes_zero,
            "verdict": FIRST_LOWER if interval.hi < 0 else NO_DIFFERENCE,
        }

    def memory(self) -> Document | None:
        rows = self._rows("memory", self._figures.memory)
        # Numbers taken by different methods are never ranked together.
        methods = sorted({str(row["memory_method"]) for row in rows})
        in_order: list[Figure] = []
        for method in methods:
            own = [row for row in rows if row["memory_method"] == method]
            in_order += ranked(sorted(own, key=lambda row: (-row["memory_efficiency"], row["wer"], row["model_id"])))
        return {"methods": methods, "rows": in_order} if in_order else None

    def speed(self) -> Document | None:
        return self._cheapest("speed", self._figures.speed, ("rtf", "window_mean_s"))

    def energy(self) -> Document | None:
        return self._cheapest("energy", self._figures.energy, ("energy_j_per_audio_hour", "energy_j_per_sample"))

    def _cheapest(self, axis: Axis, figure: Callable[[ScoredRun], Figure], costs: Sequence[str]) -> Document | None:
        rows = self._rows(axis, figure)
        cost = _common(rows, costs)
        if cost is None:
            return None
        ordered = sorted(rows, key=lambda row: (row[cost], row["cer"], row["wer"], row["model_id"]))
        return {"ranked_by": cost, "rows": ranked(ordered)}

    def _rows(self, axis: Axis, figure: Callable[[ScoredRun], Figure]) -> list[dict[str, Any]]:
        rows = []
        for run in self._group.ranked_by(axis):
            if figures := figure(run):
                counts = counts_of(run)
                rows.append({**self.names(run), **figures, "cer": counts.cer, "wer": counts.wer})
        return rows

    def pareto(self) -> Document:
        figures = {"memory": self._figures.memory, "speed": self._figures.speed, "energy": self._figures.energy}
        fronts = {}
        for name, axis, costs in _COSTS:
            rows = self._rows(axis, figures[axis])
            methods = {row.get("memory_method") for row in rows}
            cost = _common(rows, costs)
            if cost is not None and len(methods) == 1:
                points = [Point(row["run_id"], row["model_id"], row["cer"], row[cost]) for row in rows]
                fronts[name] = front(points, cost, self._figures)
        return fronts


def ranked(rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return rows that are in order with their ranks."""
    return [{"rank": rank, **row} for rank, row in enumerate(rows, start=1)]


def _common(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str | None:
    """Return the first name that every row has; None without rows."""
    return next((name for name in names if rows and all(name in row for row in rows)), None)
