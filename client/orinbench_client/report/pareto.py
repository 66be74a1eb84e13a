"""A Pareto front as a chart: error against cost, with the intervals of the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from orinbench_client.boards.document import Document
from orinbench_client.boards.tables import COSTS
from orinbench_client.report.drawing import COLOURS, WIDTH, Drawing, draw, is_wide, scale_of, values

#: What finds room beside a chart.
_LONGEST_NAME = 32
_ERRORS = ("cer", "lo", "hi")


def draw_pareto(name: str, front: Document, intervals: Mapping[str, Sequence[float]]) -> Drawing:
    """Return the points of a front, numbered, and their names beside the chart; `intervals` of CER are by model."""
    points = [_point(number, point, front["cost"], intervals) for number, point in enumerate(front["points"], start=1)]
    cost = COSTS[front["cost"]]
    log = ", log scale" if is_wide(points, _ERRORS) or is_wide(points, ("cost",)) else ""
    remark = f"lower left is better, the front in orange{log}"
    chart = alt.hconcat(_plot(points, cost), _names(points), spacing=24)
    return draw(name, f"Character error rate and {cost}", remark, chart)


def _point(
    number: int, point: Mapping[str, Any], cost: str, intervals: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    lo, hi = intervals[point["model_id"]]
    name = point["model_id"]
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    return {
        "number": number,
        "name": f"{number}  {short}",
        "cost": point[cost],
        "cer": point["cer"],
        "lo": lo,
        "hi": hi,
        "front": point["on_front"],
    }


def _on_front(yes: str, no: str) -> Any:
    return alt.condition("datum.front", alt.value(yes), alt.value(no))


def _plot(points: Sequence[dict[str, Any]], cost: str) -> Any:
    x = alt.X("cost:Q", title=cost, axis=alt.Axis(tickCount=6), scale=scale_of(points, ("cost",)))
    scale, axis = scale_of(points, _ERRORS), alt.Axis(tickCount=6)
    y, lo = (alt.Y(f"{field}:Q", title="CER", axis=axis, scale=scale) for field in ("cer", "lo"))
    steps = sorted((point for point in points if point["front"]), key=lambda point: point["cost"])
    line = alt.Chart(values(steps)).mark_line(interpolate="step-after", color=COLOURS["front"], strokeDash=[5, 3])
    dots = alt.Chart(values(points)).encode(x=x, color=_on_front(COLOURS["front"], COLOURS["mark"]))
    return alt.layer(
        line.encode(x=x, y=y),
        dots.mark_rule(strokeWidth=1.5).encode(y=lo, y2="hi:Q"),
        # A diamond beside a circle: colour is not all that tells the front.
        dots.mark_point(filled=True, opacity=1, size=70).encode(y=y, shape=_on_front("diamond", "circle")),
        dots.mark_text(align="left", dx=8, dy=-8, fontSize=12).encode(y=y, text="number:N"),
    ).properties(width=WIDTH - 80, height=270)


def _names(points: Sequence[dict[str, Any]]) -> Any:
    names = alt.Chart(values(points)).mark_text(align="left", fontSize=12)
    colour = _on_front(COLOURS["front"], COLOURS["mark"])
    placed = names.encode(x=alt.value(0), y=alt.Y("number:O", axis=None), text="name:N", color=colour)
    return placed.properties(width=180, height=alt.Step(20))
