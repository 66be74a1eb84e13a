"""Two runs of one suite, sample by sample: the paired difference, and where the second is worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

from orinbench_client.bundles.model import RunFacts
from orinbench_client.bundles.results import find_score
from orinbench_client.errors import BadInput
from orinbench_client.metrics import EditCounts, Step, align
from orinbench_client.scoring.grades import Grading, find_scorer, stats_of
from orinbench_client.scoring.score import ScoreLine, counts_of
from orinbench_client.scoring.store import ScoreSummary, read_score_lines
from orinbench_client.statistics import Interval, Replicates, percentile_interval

Metric = Literal["wer", "cer"]


class Side(NamedTuple):
    """One of the two runs with its scored samples."""

    facts: RunFacts
    normalizer: str
    lines: list[ScoreLine]


class Change(NamedTuple):
    """A sample under both runs. `more` is how many edits the second has more than the first."""

    first: ScoreLine
    second: ScoreLine
    more: int


@dataclass(frozen=True)
class Comparison:
    """`difference` is the first run's rate less the second's, with its paired 95 % interval.

    `changes` are the samples on which the second has more edits, the worst first.
    """

    first_rate: float
    second_rate: float
    interval: Interval
    changes: list[Change]

    @property
    def difference(self) -> float:
        """First rate less second rate."""
        return self.first_rate - self.second_rate


def load_side(path: Path, normalizer: str | None = None) -> Side:
    """Load one run with its score. Raises BadInput when the bundle has none."""
    facts, summary = find_score(path, normalizer)
    if summary is None:
        raise BadInput(f"{path}: no score by {normalizer or 'the normaliser of its suite'}: orinbench score {path}")
    if not isinstance(summary, ScoreSummary):
        raise BadInput(
            f"{path}: was graded by {summary.made_by}; edits alone are compared here: the leaderboard has the paired"
            " differences of graded runs"
        )
    return Side(facts, summary.made_by, read_score_lines(path, summary))


def compare(first: Side, second: Side, metric: Metric) -> Comparison:
    """Compare two runs of one suite. Raises BadInput for runs of different suites, normalisers or samples."""
    ids = [[line.sample_id for line in side.lines] for side in (first, second)]
    if first.facts.suite.digest != second.facts.suite.digest or ids[0] != ids[1]:
        raise BadInput(f"{first.facts.run_id} and {second.facts.run_id} are not of one suite: they cannot be compared")
    if first.normalizer != second.normalizer:
        raise BadInput(f"one run is scored by {first.normalizer}, the other by {second.normalizer}: give --normalizer")
    counts = [counts_of(side.lines) for side in (first, second)]
    if metric == "wer":
        columns = [(count.word_edits, count.word_units) for count in counts]
    else:
        columns = [(count.character_edits, count.character_units) for count in counts]
    replicates = Replicates([column for pair in columns for column in pair])
    rates = [replicates.rates(*pair) for pair in columns]
    values = [int(edits.sum()) / int(units.sum()) for edits, units in columns]
    return Comparison(
        values[0], values[1], percentile_interval(rates[0] - rates[1]), _worse(first.lines, second.lines, metric)
    )


class GradeComparison(NamedTuple):
    """`difference` is the first run's score of all samples less the second's, with its paired 95 % interval."""

    difference: float
    interval: Interval
    higher_is_better: bool


def compare_grades(first: Grading, second: Grading) -> GradeComparison | None:
    """Compare two graded runs of one suite by what boards rank them by; None where its scorer has no such figure.

    Raises BadInput for runs of different samples.
    """
    if [grade.sample_id for grade in first.grades] != [grade.sample_id for grade in second.grades]:
        raise BadInput("the two runs have not the same graded samples: they cannot be compared")
    metric = next(iter(find_scorer(first.scorer).metrics({})), None)
    if metric is None:
        return None
    stats = [stats_of([grade.stats for grade in side.grades]) for side in (first, second)]
    columns = [metric.columns(side) for side in stats]
    replicates = Replicates([column for side in columns for column in side])
    rates = [metric.rates([replicates.sums(column) for column in side]) for side in columns]
    value = metric.value(stats[0]) - metric.value(stats[1])
    return GradeComparison(value, percentile_interval(rates[0] - rates[1]), metric.higher_is_better)


def _worse(first: Sequence[ScoreLine], second: Sequence[ScoreLine], metric: Metric) -> list[Change]:
    changes = [
        Change(one, two, edits_of(two, metric).edits - edits_of(one, metric).edits)
        for one, two in zip(first, second, strict=True)
    ]
    return sorted((change for change in changes if change.more > 0), key=lambda change: -change.more)


def edits_of(line: ScoreLine, metric: Metric) -> EditCounts:
    """Return the edit counts a metric is made of."""
    return line.words if metric == "wer" else line.characters


def aligned_pieces(line: ScoreLine) -> list[Step]:
    """Return the word alignment of a sample, neighbouring steps of one kind joined into one."""
    steps = align(line.reference.split(), line.prediction.split())
    pieces = []
    for kind, group in groupby(steps, key=lambda step: step.kind):
        members = list(group)
        reference = " ".join(step.reference for step in members if step.reference)
        prediction = " ".join(step.prediction for step in members if step.prediction)
        pieces.append(Step(kind, reference, prediction))
    return pieces
