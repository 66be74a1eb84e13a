"""A board's charts as SVG, drawn here so that they are the same bytes everywhere: no fonts measured, no dates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from orinbench_client.boards.document import Document
from orinbench_client.boards.tables import COSTS, METHODS

_WIDTH, _ROW, _TOP, _BOTTOM, _RIGHT = 760, 26, 48, 48, 72
_CHARACTER, _LEGEND = 7.2, 500
_INK, _FAINT, _MARK, _FRONT = "#1a1a1a", "#d0d0d0", "#1f5fa8", "#c2571a"
_TICKS = 6


class _Bar(NamedTuple):
    label: str
    value: float
    bounds: Sequence[float] | None


class _Dot(NamedTuple):
    label: str
    x: float
    y: float
    on_front: bool


def board_charts(document: Document) -> dict[str, str]:
    """Return the charts of a board, SVG text by file name. A board without rows has no chart."""
    boards = document["boards"]
    charts = {}
    if "scorer" in document:
        return _graded_charts(document)
    if rows := boards["accuracy"]["rows"]:
        charts["accuracy.svg"] = _bars("Character error rate, 95 % interval", _to_bars(rows, "cer", "cer_ci"))
    for method in boards.get("memory", {}).get("methods", []):
        rows = [row for row in boards["memory"]["rows"] if row["memory_method"] == method]
        title = f"Word accuracy % a GiB of {METHODS.get(method, method)}"
        charts[f"memory-{method}.svg"] = _bars(title, _to_bars(rows, "memory_efficiency", "memory_efficiency_ci"))
    for name in ("speed", "energy"):
        if board := boards.get(name):
            cost = board["ranked_by"]
            interval = {"window_mean_s": "window_mean_ci_s"}.get(cost, f"{cost}_ci")
            charts[f"{name}.svg"] = _bars(COSTS[cost].capitalize(), _to_bars(board["rows"], cost, interval))
    for name, front in boards.get("pareto", {}).items():
        charts[f"pareto-{name.replace('_', '-')}.svg"] = _scatter(front)
    return charts


def _graded_charts(document: Document) -> dict[str, str]:
    """Return a chart of the scores of each variant."""
    charts = {}
    rows = document["boards"].get("accuracy", {}).get("rows", [])
    for variant in document["variants"]:
        own = [row for row in rows if row["suite_digest"] == variant["suite_digest"]]
        bars = [_Bar(_short(row["model"]), row["score"], row["ci"]) for row in own]
        if bars:
            name = "-".join(["accuracy", *variant["chosen"].values()])
            charts[f"{name}.svg"] = _bars(f"{own[0]['metric'].capitalize()}, 95 % interval", bars)
    return charts


def _to_bars(rows: Sequence[dict[str, Any]], value: str, bounds: str) -> list[_Bar]:
    return [_Bar(_short(row["model_id"]), row[value], row.get(bounds)) for row in rows]


def _short(label: str) -> str:
    return label if len(label) <= 40 else f"{label[:39]}…"


def _bars(title: str, bars: Sequence[_Bar]) -> str:
    left = 24 + _CHARACTER * max(len(bar.label) for bar in bars)
    top = max(bar.bounds[1] if bar.bounds else bar.value for bar in bars)
    scale = _Scale(top, left, _WIDTH - _RIGHT)
    height = _TOP + _ROW * len(bars) + _BOTTOM
    parts = [_text(16, 24, title, weight="bold"), *_vertical_grid(scale, _TOP, height - _BOTTOM)]
    for index, bar in enumerate(bars):
        parts += _bar(bar, scale, left, _TOP + _ROW * index + _ROW / 2)
    return _document(height, parts)


def _bar(bar: _Bar, scale: _Scale, left: float, y: float) -> list[str]:
    parts = [_text(left - 8, y + 4, bar.label, anchor="end"), _line(left, y, scale.at(bar.value), y, _MARK, 10)]
    end = bar.value
    if bar.bounds is not None:
        lo, end = bar.bounds
        parts.append(_line(scale.at(lo), y, scale.at(end), y, _INK, 1.5))
        parts += [_line(scale.at(bound), y - 5, scale.at(bound), y + 5, _INK, 1.5) for bound in bar.bounds]
    return [*parts, _text(scale.at(end) + 6, y + 4, f"{bar.value:.4g}")]


def _scatter(front: Document) -> str:
    cost = front["cost"]
    dots = [_Dot(_short(point["model_id"]), point[cost], point["cer"], point["on_front"]) for point in front["points"]]
    height, left = 460, 64.0
    x = _Scale(max(dot.x for dot in dots), left, _LEGEND - 28)
    y = _Scale(max(dot.y for dot in dots), height - _BOTTOM, _TOP)
    parts = [
        _text(16, 24, f"Character error rate and {COSTS[cost]}: lower left is better", weight="bold"),
        *_vertical_grid(x, _TOP, height - _BOTTOM),
        *_horizontal_grid(y, left, x.at(x.top)),
        _text(left, height - 10, COSTS[cost]),
        *_staircase([dot for dot in dots if dot.on_front], x, y),
    ]
    # Numbers at the dots, names beside the chart: models lie close together where it matters.
    for number, dot in enumerate(dots, start=1):
        parts += [_circle(x.at(dot.x), y.at(dot.y), dot), _text(x.at(dot.x) + 7, y.at(dot.y) - 6, str(number))]
        row = _TOP + 20 * number
        parts += [_circle(_LEGEND, row - 4, dot), _text(_LEGEND + 12, row, f"{number}  {dot.label}")]
    return _document(max(height, _TOP + 20 * len(dots) + _BOTTOM), parts)


def _circle(x: float, y: float, dot: _Dot) -> str:
    return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="4.5" fill="{_FRONT if dot.on_front else _MARK}"/>'


def _staircase(dots: Sequence[_Dot], x: _Scale, y: _Scale) -> list[str]:
    ordered = sorted(dots, key=lambda dot: (dot.x, dot.y))
    parts = []
    for one, other in pairwise(ordered):
        parts.append(_line(x.at(one.x), y.at(one.y), x.at(other.x), y.at(one.y), _FRONT, 1))
        parts.append(_line(x.at(other.x), y.at(one.y), x.at(other.x), y.at(other.y), _FRONT, 1))
    return parts


class _Scale:
    """A linear scale from zero to a round number at or above the largest value."""

    def __init__(self, largest: float, start: float, end: float) -> None:
        self.step = _round_step(largest)
        self.top = self.step
        while self.top < largest:
            self.top += self.step
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        return self._start + (self._end - self._start) * (value / self.top)

    def ticks(self) -> list[float]:
        return [self.step * index for index in range(round(self.top / self.step) + 1)]


def _round_step(largest: float) -> float:
    """Return 1, 2 or 5 times a power of ten, so that at most _TICKS steps reach `largest`."""
    power = 1.0
    while power * 10 * _TICKS < largest:
        power *= 10
    while power * _TICKS > largest > 0 and power > 1e-9:
        power /= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * _TICKS >= largest)


def _vertical_grid(scale: _Scale, top: float, bottom: float) -> list[str]:
    parts = []
    for tick in scale.ticks():
        parts.append(_line(scale.at(tick), top - 4, scale.at(tick), bottom, _FAINT, 1))
        parts.append(_text(scale.at(tick), bottom + 18, f"{tick:.4g}", anchor="middle"))
    return parts


def _horizontal_grid(scale: _Scale, left: float, right: float) -> list[str]:
    parts = []
    for tick in scale.ticks():
        parts.append(_line(left, scale.at(tick), right, scale.at(tick), _FAINT, 1))
        parts.append(_text(left - 8, scale.at(tick) + 4, f"{tick:.4g}", anchor="end"))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    place = f'x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"'
    return f'<line {place} stroke="{colour}" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> str:
    style = f'text-anchor="{anchor}" font-weight="{weight}" fill="{_INK}"'
    return f'<text x="{x:.2f}" y="{y:.2f}" {style}>{escape(text)}</text>'


def _document(height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:g}"'
        f' viewBox="0 0 {_WIDTH} {height:g}" font-family="sans-serif" font-size="12">'
    )
    background = f'<rect width="{_WIDTH}" height="{height:g}" fill="#ffffff"/>'
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"
