"""The charts of boards: which there are, and values with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from orinbench_client.boards.document import Document
from orinbench_client.boards.tables import COSTS, METHODS, Row
from orinbench_client.report.drawing import COLOURS, WIDTH, Drawing, draw, is_wide, scale_of, values
from orinbench_client.report.pareto import draw_pareto

_INTERVALS = {"window_mean_s": "window_mean_ci_s", "score": "ci"}
_FIELDS = ("value", "lo", "hi", "floor")
_GRADED_COSTS = {**COSTS, "energy_j_per_correct_answer": "J a correct answer"}


def board_charts(document: Document, prefix: str) -> list[Drawing]:
    """Return the charts of a board, their names beginning with `prefix`; none of what has no rows."""
    charts = _graded(document, prefix) if "scorer" in document else _edits(document, prefix)
    return list(charts)


def _edits(document: Document, prefix: str) -> Iterator[Drawing]:
    boards = document["boards"]
    rows = boards["accuracy"]["rows"]
    yield from _interval(f"{prefix}accuracy-cer", "Character error rate", rows, "cer")
    yield from _interval(f"{prefix}accuracy-wer", "Word error rate", rows, "wer")
    for method in boards.get("memory", {}).get("methods", []):
        own = [row for row in boards["memory"]["rows"] if row["memory_method"] == method]
        title = f"Word accuracy % a GiB of {METHODS.get(method, method)}"
        yield from _interval(f"{prefix}memory-{method}", title, own, "memory_efficiency")
    for name in ("speed", "energy"):
        if board := boards.get(name):
            cost = board["ranked_by"]
            yield from _interval(f"{prefix}{name}", COSTS[cost], board["rows"], cost)
    intervals = {row["model_id"]: row["cer_ci"] for row in rows}
    for name, front in boards.get("pareto", {}).items():
        yield draw_pareto(f"{prefix}pareto-{name.replace('_', '-')}", front, intervals)


def _graded(document: Document, prefix: str) -> Iterator[Drawing]:
    boards = document["boards"]
    for variant in document["variants"]:
        words = list(variant["chosen"].values())
        inside = f", {', '.join(words)}" if words else ""
        for name in ("accuracy", "memory", "speed", "energy"):
            board = boards.get(name, {})
            rows = [row for row in board.get("rows", []) if row["suite_digest"] == variant["suite_digest"]]
            if name == "memory":
                for method in board["methods"] if rows else []:
                    own = [row for row in rows if row["memory_method"] == method]
                    title = f"Peak memory, GiB ({METHODS.get(method, method)}){inside}"
                    yield from _interval("-".join([f"{prefix}memory-{method}", *words]), title, own, "peak_memory_gib")
            elif value := "score" if name == "accuracy" else board.get("ranked_by"):
                title = _GRADED_COSTS.get(value, "Score") + inside
                yield from _interval("-".join([prefix + name, *words]), title, rows, value)


def _interval(name: str, title: str, rows: Sequence[Row], value: str) -> Iterator[Drawing]:
    """Yield the rows that have the value as points with their 95 % intervals, the first on top; nothing without any."""
    rows = [row for row in rows if value in row]
    if not rows:
        return
    title = title[:1].upper() + title[1:]
    bounds = _INTERVALS.get(value, f"{value}_ci")
    points = [_point(row, value, row.get(bounds)) for row in rows]
    names = alt.Axis(title=None, ticks=False, domain=False, labelPadding=10)
    base = alt.Chart(values(points)).encode(y=alt.Y("name:N", sort=None, axis=names))
    scale = scale_of(points, _FIELDS)

    def quantity(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=alt.Axis(title=None, tickCount=6), scale=scale)

    layers = [
        base.mark_rule(color=COLOURS["mark"], strokeWidth=2).encode(x=quantity("lo"), x2="hi:Q"),
        base.mark_tick(color=COLOURS["mark"], thickness=2, size=9).encode(x=quantity("lo")),
        base.mark_tick(color=COLOURS["mark"], thickness=2, size=9).encode(x=quantity("hi")),
    ]
    if any("floor" in point for point in points):
        layers.append(base.mark_tick(color=COLOURS["front"], thickness=2, size=16).encode(x=quantity("floor")))
    layers += [
        base.mark_point(filled=True, opacity=1, color=COLOURS["mark"], size=64).encode(x=quantity("value")),
        base.mark_text(align="left", dx=10, color=COLOURS["ink"]).encode(x=quantity("end"), text="label:N"),
    ]
    remarks = {
        "95 % interval": any("lo" in point for point in points),
        "log scale": is_wide(points, _FIELDS),
        "floor in orange": any("floor" in point for point in points),
    }
    remark = ", ".join(words for words, holds in remarks.items() if holds)
    yield draw(name, title, remark, alt.layer(*layers).properties(width=WIDTH, height=alt.Step(30)))


def _point(row: Row, value: str, bounds: Sequence[float] | None) -> dict[str, Any]:
    point: dict[str, Any] = {
        "name": _name(row),
        "value": row[value],
        "end": row[value],
        "label": f"{row[value]:.4g}",
    }
    if bounds:
        point |= {"lo": bounds[0], "hi": bounds[1], "end": max(row[value], bounds[1])}
    if value == "score" and "floor" in row:
        point["floor"] = row["floor"]
    return point


def _name(row: Row) -> str:
    return str(row.get("model_id") or row.get("model"))
