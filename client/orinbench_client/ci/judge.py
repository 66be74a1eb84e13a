"""Holds a finished run against its gates. Every figure is taken from the board that the run would make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orinbench_client.boards.build import build_board
from orinbench_client.boards.document import DEVELOPMENT_HEADING
from orinbench_client.boards.figures import model_facts
from orinbench_client.boards.graded import build_graded, rows_of
from orinbench_client.boards.selection import Group, group_runs
from orinbench_client.bundles.model import Axis, ScoredRun
from orinbench_client.ci.baseline import Difference, Finished, difference
from orinbench_client.ci.gates import Gate, Regression, Threshold
from orinbench_client.ci.metrics import METRICS
from orinbench_client.errors import BadInput

SIMULATED = "SIMULATED"


@dataclass(frozen=True)
class Verdict:
    """What became of a gate. `value` is the figure, None where it is absent; `why` says what else stood against it."""

    gate: Gate
    met: bool
    value: float | None = None
    unit: str = ""
    difference: Difference | None = None
    why: str = ""


class _Absent(Exception):
    """There is no such figure of this run; the text says why."""


def marks_of(run: ScoredRun) -> list[str]:
    """Return what everybody who reads the figures should know: a development profile, a simulated board."""
    reasons = {violation.reason for violation in run.facts.violations}
    development = [DEVELOPMENT_HEADING] if group_runs([run])[0].development else []
    return [*development, *([SIMULATED] if SIMULATED in reasons else [])]


def judge(finished: Finished, gates: Sequence[Gate], baseline: Finished | None) -> list[Verdict]:
    """Return a verdict for each gate. A figure that is absent, or void on its axis, never meets one.

    Raises BadInput for a baseline that the run cannot be compared with.
    """
    figures = _Figures(finished.run)

    def judged(gate: Gate) -> Verdict:
        if isinstance(gate, Threshold):
            return _bounded(figures, gate)
        if baseline is None:
            raise BadInput(f"the gate {gate} needs a baseline: --baseline BUNDLE")
        return _regressed(figures, gate, baseline, finished)

    return [_or_absent(gate, judged) for gate in gates]


def _or_absent(gate: Gate, judged: Callable[[Gate], Verdict]) -> Verdict:
    try:
        return judged(gate)
    except _Absent as absent:
        return Verdict(gate, False, why=f"absent: {absent}")


def _bounded(figures: _Figures, gate: Threshold) -> Verdict:
    value, unit = figures.cell(gate) if gate.labels else figures.of(gate.metric)
    return Verdict(gate, gate.holds(value), value, unit)


def _regressed(figures: _Figures, gate: Regression, baseline: Finished, finished: Finished) -> Verdict:
    figures.require("accuracy")
    found = difference(baseline, finished, gate.metric)
    if found is None:
        raise _Absent(f"{gate.metric or 'the figure that is ranked'} is no figure of all samples of this suite")
    return Verdict(gate, not found.worse, found.value, "ratio", found, "worse than the baseline" if found.worse else "")


class _Figures:
    """The figures of one run, as its board has them."""

    def __init__(self, run: ScoredRun) -> None:
        self.run = run
        self._group = group_runs([run])[0]
        self._document = build_graded(self._group) if self._group.graded else build_board(self._group)

    def require(self, axis: Axis) -> None:
        """Raise _Absent for a run whose readings on an axis do not count."""
        if not self._group.ranked_by(axis):
            # A run whose accuracy does not count is on no board.
            raise _Absent("; ".join(_causes(self._group, axis) or _causes(self._group, "accuracy")))

    def of(self, name: str) -> tuple[float, str]:
        """Return a figure of the whole run and its unit. Raises _Absent."""
        metric = METRICS[name]
        self.require(metric.axis)
        row = model_facts(self.run) if metric.board == "facts" else self._row(metric.board)
        key = metric.graded_key if self._group.graded and metric.graded_key else metric.key
        if key not in row:
            raise _Absent(f"this run has no reading of {name} ({metric.meaning})")
        return row[key] * metric.scale, metric.unit

    def cell(self, gate: Threshold) -> tuple[float, str]:
        """Return a figure of one cell of the tables of a graded run. Raises _Absent."""
        self.require("accuracy")
        wanted = dict(gate.labels)
        for name, axes in self._document.get("axes", {}).items():
            if set(axes) != set(wanted):
                continue
            for row in rows_of(self._document["boards"].get(name, [])):
                if all(row.get(axis) == value for axis, value in wanted.items()):
                    return _of_cell(row, gate.metric)
            raise _Absent(f"its table {name} has no such cell")
        raise _Absent(f"no table has just the axes {', '.join(wanted)}{self._tables()}")

    def _tables(self) -> str:
        tables: Mapping[str, Sequence[str]] = self._document.get("axes", {})
        return (
            "".join(f"; {name} has {', '.join(axes)}" for name, axes in tables.items()) or ": its suite is not graded"
        )

    def _row(self, board: str) -> Mapping[str, Any]:
        rows = rows_of(self._document["boards"].get(board, []))
        return rows[0] if rows else {}


def _of_cell(row: Mapping[str, Any], name: str) -> tuple[float, str]:
    if name in ("score", row["metric"]):
        return row["score"], "ratio"
    if name in ("unparsable", "refused"):
        return row[name], "count"
    value = row.get(name)
    # A row also holds what is no figure, such as its labels.
    if name.endswith("_ci") or not isinstance(value, float):
        raise _Absent(f"the cell has {row['metric']}, not {name}")
    return value, "ratio"


def _causes(group: Group, axis: Axis) -> list[str]:
    return list(dict.fromkeys(entry.cause for entry in group.unranked if axis in entry.axes))
