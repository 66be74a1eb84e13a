"""Charts as SVG: one look, as files on white and in the page in the colours of its theme."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import altair as alt
import vl_convert

WIDTH = 430
#: Colours of charts, each by the variable of the page's style sheet that it becomes there.
COLOURS = {
    "background": "#fffffe",
    "ink": "#1b1d21",
    "muted": "#5b616b",
    "grid": "#e2e4e8",
    "mark": "#1f5fa8",
    "front": "#b04a12",
}
#: Colours and dashes of the lines of a panel: either tells them apart.
LINES = ("#1f5fa9", "#b04a13", "#2b7a4b", "#8a3f97", "#a1272f", "#6b6f16", "#0f7480", "#7a5230")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [12, 3], [4, 4], [1, 3], [10, 2, 2, 2, 2, 2])
_VARIABLES = {**COLOURS, **{f"line-{number}": colour for number, colour in enumerate(LINES, start=1)}}
_PNG_SCALE = 2
#: A linear scale shows values that are so many times apart at most; a logarithmic one has a margin of this factor.
_WIDEST = 12
_MARGIN = 1.15
_ROOT = re.compile(r'<svg [^>]*?width="([\d.]+)" height="[\d.]+" viewBox="([^"]+)">')


@dataclass(frozen=True)
class Drawing:
    """A chart: the stem of its files' names, what it says in words, and its SVG on white."""

    name: str
    title: str
    svg: str

    @property
    def png(self) -> bytes:
        """The chart as PNG, at twice its size."""
        return bytes(vl_convert.svg_to_png(self.svg, scale=_PNG_SCALE))

    @property
    def inline(self) -> str:
        """The chart as an element of the page."""
        label = escape(self.title, quote=True)
        head = rf'<svg class="chart" role="img" aria-label="{label}" style="width:\1px" viewBox="\2">'
        body = _ROOT.sub(lambda found: found.expand(head.replace(label, "\0")).replace("\0", label), self.svg, count=1)
        for name, colour in _VARIABLES.items():
            body = body.replace(f'"{colour}"', f'"var(--{name})"')
        return body.replace('font-family="sans-serif"', "")


def draw(name: str, title: str, remark: str, chart: Any) -> Drawing:
    """Return a chart of altair as SVG, with a remark under its title where there is one.

    The same chart gives the same bytes on the same machine.
    """
    file = io.StringIO()
    head = alt.TitleParams(title, subtitle=remark) if remark else alt.TitleParams(title)
    _in_our_look(chart.properties(title=head)).save(file, format="svg")
    return Drawing(name, ": ".join(filter(None, (title, remark))), file.getvalue())


def _in_our_look(chart: Any) -> Any:
    ink, muted, grid = COLOURS["ink"], COLOURS["muted"], COLOURS["grid"]
    return (
        chart.configure(background=COLOURS["background"], font="sans-serif", padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=ink,
            titleColor=muted,
            gridColor=grid,
            domainColor=grid,
            tickColor=grid,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=260,
            labelOverlap="greedy",
            labelSeparation=8,
        )
        .configure_title(
            anchor="start",
            frame="group",
            color=ink,
            subtitleColor=muted,
            fontSize=13,
            subtitleFontSize=12,
            fontWeight="bold",
            offset=12,
        )
        .configure_legend(labelColor=ink, titleColor=muted, labelFontSize=11, labelLimit=170, symbolStrokeWidth=2)
    )


def values(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows as data of a chart."""
    return {"values": list(rows)}


def is_wide(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> bool:
    """Tell whether one value would press all others together on a linear scale from zero."""
    found = _found(rows, fields)
    return min(found) > 0 and max(found) / min(found) > _WIDEST


def scale_of(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> alt.Scale:
    """Return a scale for the fields of rows: from zero, or logarithmic where they are wide apart."""
    if not is_wide(rows, fields):
        return alt.Scale(zero=True, nice=True)
    found = _found(rows, fields)
    return alt.Scale(type="log", domain=[min(found) / _MARGIN, max(found) * _MARGIN], nice=False)


def _found(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[float]:
    return [row[field] for row in rows for field in fields if field in row]
