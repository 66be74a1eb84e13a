"""Grading: replies and references in, one grade a sample out. The seam for every task that is not edit counts.

A scorer is found by the name a suite declares. It grades one reply at a time, says which tables there are, which
metric each cell of them has, and what answering without understanding earns (floors). Boards, intervals, files and
the figure shown during a run are made of that and are the same for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np

from orinbench_client.bundles.model import IntArray, Sample
from orinbench_client.errors import BadInput
from orinbench_client.scoring.score import RatioSums, RunningRate, reference_of, require_complete
from orinbench_client.statistics import FloatArray, Interval

GROUP = "orinbench.scorers"
#: The scorer whose scores are edit counts: it is no grader, see orinbench_client.scoring.score.
EDITS = "asr-edits-1"
# Found also where the package is not installed, such as in a checkout.
_OURS = dict.fromkeys(
    ("parse-upstream", "parse-upstream-no-examples", "parse-paper", "parse-strict"),
    "orinbench_client.parse.scorer:ParseScorer",
)
_OURS["parsa-1"] = "orinbench_client.parsa.scorer:ParsaScorer"

State = Literal["ok", "wrong", "unparsable", "refused"]


class Grade(NamedTuple):
    """One graded reply.

    `labels` place it in the tables, one for each of the scorer's axes. `state`: ``ok`` earned something, ``wrong``
    was understood and earned nothing, ``unparsable`` and ``refused`` hold no answer and earn what a wrong one does.
    `rule` says how the answer was read, or why it could not be. `answer` is the answer as read (JSON), None where
    there is none. `stats` are whole numbers, as many as the metrics of its cell take.
    """

    sample_id: str
    labels: tuple[str, ...]
    state: State
    rule: str
    answer: Any
    stats: tuple[int, ...]


@dataclass(frozen=True)
class Metric:
    """A figure of many samples, made of their `stats`, an array (samples, k) of int64.

    `value` is the exact figure. `columns` gives what a bootstrap adds up, each (samples,) of int64, none negative;
    `rates` makes the figure of such sums, each (replicates,). `counts_right`: it is the share of right answers.
    """

    name: str
    value: Callable[[IntArray], float]
    columns: Callable[[IntArray], Sequence[IntArray]]
    rates: Callable[[Sequence[FloatArray]], FloatArray]
    higher_is_better: bool = True
    counts_right: bool = False


class Floor(NamedTuple):
    """What a reply that understood nothing earns in the cell of `labels`, such as always the same `answer`."""

    labels: Mapping[str, str]
    answer: str
    value: float


class Contrast(NamedTuple):
    """Two variants of a suite whose difference says something of a model: `first` less `second`, of one `axis`.

    Their samples have the same ids and answers, so that they can be compared one by one.
    """

    name: str
    axis: str
    first: str
    second: str


class Scorer(Protocol):
    """Grades the replies of one task. A published scorer never changes: a new rule is a new name."""

    @property
    def name(self) -> str:
        """The name a suite declares."""

    @property
    def digest(self) -> str:
        """Digest of the rules, part of a score's name; whatever is normalised is in it."""

    @property
    def axes(self) -> tuple[str, ...]:
        """What each label of a grade is called."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The tables by name, each with the axes its cells are told apart by."""

    @property
    def contrasts(self) -> Sequence[Contrast]:
        """The differences between variants that boards show; none for most."""

    def grade(self, sample_id: str, text: str, reference: str) -> Grade | None:
        """Grade a reply; None leaves the sample out of this score. Raises BadInput for a reference of another task."""

    def metrics(self, labels: Mapping[str, str]) -> Sequence[Metric]:
        """Return the metrics of a cell, the headline first; without labels those of all samples, none if there is none.

        They share the stats of the cell's grades.
        """

    def floors(self, references: Mapping[str, str]) -> Sequence[Floor]:
        """Return the floors of every cell of every table, and of all together (no labels)."""

    def made_with(self, references: Mapping[str, str]) -> Mapping[str, str]:
        """Return what else made the grades and is kept with a score, such as a library's signature; none for most."""

    def details(self, labels: Mapping[str, str], value: float) -> Mapping[str, Any]:
        """Return what else stands in a cell beside its figure."""


def find_scorer(name: str) -> Scorer:
    """Return a scorer by name. Raises BadInput for an unknown one."""
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        return cast("Scorer", getattr(import_module(module), attribute)(name))
    for entry in entry_points(group=GROUP, name=name):
        return cast("Scorer", entry.load()(name))
    known = sorted({EDITS, *_OURS, *(entry.name for entry in entry_points(group=GROUP))})
    raise BadInput(f"no scorer is called {name!r}: this installation knows {', '.join(known)}")


def grade_samples(samples: Sequence[Sample], references: Mapping[str, str], scorer: Scorer) -> list[Grade]:
    """Grade each sample against the reference of its id.

    Raises BadInput for a sample without a reference, and for a reference no sample answers (the run is incomplete).
    """
    require_complete(samples, references)
    grades = (
        scorer.grade(sample.sample_id, sample.reply, reference_of(sample.sample_id, references)) for sample in samples
    )
    return [grade for grade in grades if grade is not None]


def stats_of(stats: Sequence[Sequence[int]]) -> IntArray:
    """Return the stats of samples of one cell as an array (samples, k)."""
    return np.array(stats, dtype=np.int64)


def ratio_metric(name: str, higher_is_better: bool = True) -> Metric:
    """Return the metric Σ first / Σ second of two stats: accuracy of (0 or 1, 1), corpus WER of (edits, words)."""
    return Metric(
        name,
        lambda stats: int(stats[:, 0].sum()) / int(stats[:, 1].sum()),
        lambda stats: (np.ascontiguousarray(stats[:, 0]), np.ascontiguousarray(stats[:, 1])),
        lambda sums: sums[0] / sums[1],
        higher_is_better,
    )


#: Values below one are added up in units of a billionth: whole numbers, so that every machine gets the same sum.
_UNIT = 10**9


def fraction_metric(name: str) -> Metric:
    """Return the mean of first / second over the samples. Exact for the figure, to 1e-9 for its interval."""
    return Metric(name, _mean_of_fractions, _fraction_columns, lambda sums: sums[0] / sums[1] / _UNIT)


def _mean_of_fractions(stats: IntArray) -> float:
    wholes, numerators = stats[:, 1], stats[:, 0]
    sums = (Fraction(int(numerators[wholes == whole].sum()), int(whole)) for whole in np.unique(wholes))
    return float(sum(sums, Fraction()) / len(stats))


def _fraction_columns(stats: IntArray) -> tuple[IntArray, IntArray]:
    units = (stats[:, 0] * _UNIT + stats[:, 1] // 2) // stats[:, 1]
    return units, np.ones(len(stats), dtype=np.int64)


@dataclass(frozen=True)
class Grading:
    """The grades of a run by one scorer, and what boards need to know of the suite.

    `family` is the digest all variants of the suite have in common: they share a board, each with tables of its own.
    `made_with` is what made the grades, by name.
    """

    scorer: str
    family: str
    variant: Mapping[str, str]
    grades: Sequence[Grade]
    floors: Sequence[Floor]
    made_with: Mapping[str, str] = field(default_factory=dict)


class RunningGrades:
    """The figure of a graded run under way: for display, never for a board."""

    def __init__(self, references: Mapping[str, str], scorer: Scorer) -> None:
        self._references = references
        self._scorer = scorer
        self._metric = next(iter(scorer.metrics({})), None)
        self._sums = RatioSums()
        self._unread: Counter[str] = Counter()

    def add(self, sample_id: str, text: str) -> Grade | None:
        """Grade one sample. Raises BadInput for an id the suite does not know."""
        grade = self._scorer.grade(sample_id, text, reference_of(sample_id, self._references))
        if grade is None:
            return None
        if grade.state in ("unparsable", "refused"):
            self._unread[grade.state] += 1
        if self._metric is not None:
            numerator, denominator = self._metric.columns(stats_of([grade.stats]))
            self._sums.add(int(numerator[0]), int(denominator[0]))
        return grade

    @property
    def figures(self) -> Sequence[tuple[str, RunningRate]]:
        """The figure of all samples so far; none before the first, and where the scorer has no such figure."""
        rate = self._sums.rate()
        if self._metric is None or rate is None:
            return []
        scale = float(self._metric.rates([np.ones(1), np.ones(1)])[0])
        interval = rate.interval and Interval(rate.interval.lo * scale, min(1.0, rate.interval.hi * scale))
        return [(self._metric.name, RunningRate(rate.value * scale, interval))]

    @property
    def remark(self) -> str:
        """How many replies held no answer."""
        return ", ".join(f"{count} {state}" for state, count in sorted(self._unread.items()))
