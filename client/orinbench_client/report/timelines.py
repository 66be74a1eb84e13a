"""The telemetry of a run as a chart: a panel a quantity, gaps left open, events across all panels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from orinbench_client.report.drawing import COLOURS, DASHES, LINES, Drawing, draw, values
from orinbench_client.report.facts import Event, Panel, Point, Timeline

_WIDTH, _HEIGHT = 620, 96


def draw_timeline(name: str, run_id: str, timeline: Timeline) -> Drawing:
    """Return the chart of a run's timeline."""
    end_s = max(point.at_s for panel in timeline.panels for points in panel.series.values() for point in points)
    last = len(timeline.panels) - 1
    panels = [
        _panel(panel, timeline.events, end_s, first=place == 0, last=place == last)
        for place, panel in enumerate(timeline.panels)
    ]
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(color="independent", strokeDash="independent")
    return draw(name, run_id, "telemetry", chart)


def _panel(panel: Panel, events: Sequence[Event], end_s: float, *, first: bool, last: bool) -> Any:
    names = list(panel.series)
    words = "seconds since the first reading" if last else None
    axis = alt.Axis(title=words, labels=last, ticks=last, tickCount=8)
    x = alt.X("at:Q", axis=axis, scale=alt.Scale(domain=[0, end_s or 1], nice=False))
    y = alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=False, nice=True))
    legend = alt.Legend(title=panel.title, orient="right", symbolSize=260)
    colour = alt.Color("name:N", sort=None, legend=legend, scale=alt.Scale(domain=names, range=_cycle(LINES, names)))
    dash = alt.StrokeDash(
        "name:N", sort=None, legend=legend, scale=alt.Scale(domain=names, range=_cycle(DASHES, names))
    )
    lines = alt.Chart(values([_row(name, point) for name in names for point in panel.series[name]]))
    layers = [lines.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour, strokeDash=dash, detail="piece:N")]
    if alone := [_row(name, point) for name in names for point in _alone(panel.series[name])]:
        # A reading between two gaps is no line.
        layers.append(alt.Chart(values(alone)).mark_point(filled=True, size=16).encode(x=x, y=y, color=colour))
    if events:
        layers += _marks(events, x, labelled=first)
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)


def _row(name: str, point: Point) -> dict[str, Any]:
    return {"name": name, "at": point.at_s, "value": point.value, "piece": point.piece}


def _alone(points: Sequence[Point]) -> list[Point]:
    members = Counter(point.piece for point in points)
    return [point for point in points if members[point.piece] == 1]


def _cycle(looks: Sequence[Any], names: Sequence[str]) -> list[Any]:
    return [looks[place % len(looks)] for place in range(len(names))]


def _marks(events: Sequence[Event], x: alt.X, *, labelled: bool) -> list[Any]:
    rows = [{"at": event.at_s, "label": f"{number}"} for number, event in enumerate(events, start=1)]
    rules = alt.Chart(values(rows))
    marks = [rules.mark_rule(color=COLOURS["front"], strokeDash=[3, 3], strokeWidth=1.5).encode(x=x)]
    if labelled:
        # Numbers, which the page explains: their words would cover each other.
        text = rules.mark_text(color=COLOURS["front"], fontWeight="bold", fontSize=12, dy=-8)
        marks.append(text.encode(x=x, y=alt.value(0), text="label:N"))
    return marks
