"""What a report shows, as typed facts: nothing here is computed, and nothing of how it looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from orinbench_client.boards.document import Document
from orinbench_client.boards.tables import Table

#: How a mark is meant: something is good, wants attention, is bad, or is just so.
Tone = Literal["good", "warn", "bad", "plain"]


class Mark(NamedTuple):
    """A word beside a run, and the sentence behind it."""

    tone: Tone
    word: str
    why: str


class Fact(NamedTuple):
    """One figure or property: its name, its value as text, and what stands beside it, such as the interval."""

    name: str
    value: str
    beside: str = ""


class Section(NamedTuple):
    """Facts under a heading."""

    title: str
    facts: Sequence[Fact]


class AxisVerdict(NamedTuple):
    """Whether a run's readings on an axis count, and why not."""

    axis: str
    mark: Mark
    causes: Sequence[str]


class Event(NamedTuple):
    """Something on the timeline: `at_s` since the first reading, `kind` is ``violation`` or ``segment``."""

    at_s: float
    kind: str
    label: str


class Point(NamedTuple):
    """One reading of a series. Points of one `piece` were read without a gap between them."""

    at_s: float
    value: float
    piece: int


class Panel(NamedTuple):
    """The series of one quantity, each by its name."""

    title: str
    series: Mapping[str, Sequence[Point]]


@dataclass(frozen=True)
class Timeline:
    """Telemetry of a run, thinned to what a chart can show, and what happened meanwhile."""

    panels: Sequence[Panel]
    events: Sequence[Event]
    readings: int
    gaps: int


@dataclass(frozen=True)
class Samples:
    """The samples of a run: `rows` have the columns of `kind` (see report.samples), `note` says what is lacking."""

    kind: Literal["edits", "grades", "texts"]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclass(frozen=True)
class RunView:
    """A run as the report shows it."""

    anchor: str
    run_id: str
    suite: str
    model: str
    hardware: str
    origin: str
    marks: Sequence[Mark]
    headline: Sequence[Fact]
    verdict: Sequence[AxisVerdict]
    tables: Sequence[Table]
    sections: Sequence[Section]
    samples: Samples
    timeline: Timeline | None = None
    log: str = ""
    log_remark: str = ""


@dataclass(frozen=True)
class BoardView:
    """A board: its document, and the anchor of the run behind each line of its tables (None where there is not one)."""

    anchor: str
    document: Document
    tables: Sequence[Table]
    lines: Sequence[Sequence[RunView | None]]
    unranked: Sequence[tuple[RunView, Sequence[str], str]]


@dataclass(frozen=True)
class Report:
    """All boards and runs of a results folder."""

    boards: Sequence[BoardView] = field(default_factory=list)
    runs: Sequence[RunView] = field(default_factory=list)
