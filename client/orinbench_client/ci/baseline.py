"""The run that a new one must not be clearly worse than."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orinbench_client.boards.selection import group_runs
from orinbench_client.bundles.model import Labelled, RunFacts, ScoredRun
from orinbench_client.bundles.results import load_run
from orinbench_client.bundles.trust import TrustList, trust_file
from orinbench_client.errors import BadInput
from orinbench_client.scoring.compare import compare, compare_grades, load_side
from orinbench_client.statistics import Interval


@dataclass(frozen=True)
class Finished:
    """A run that has ended, and where its bundle lies."""

    path: Path
    run: ScoredRun


@dataclass(frozen=True)
class Difference:
    """A run's figure less the baseline's, with its paired 95 % interval."""

    metric: str
    value: float
    interval: Interval
    higher_is_better: bool = False

    @property
    def worse(self) -> bool:
        """Whether the whole interval lies on the worse side of 0."""
        return self.interval.hi < 0 if self.higher_is_better else self.interval.lo > 0

    def __str__(self) -> str:
        return f"{self.metric} {self.value:+.4f}, 95 % {self.interval.lo:+.4f} to {self.interval.hi:+.4f}"


def load_finished(path: Path) -> Finished:
    """Load a bundle with the score of its suite, judged by the user's own list of trusted boards. Raises BadInput."""
    return Finished(path, TrustList(trust_file()).judge(load_run(path), demanded=False))


def load_baselines(paths: Sequence[Path]) -> list[Finished]:
    """Load baselines. Raises BadInput for one whose accuracy does not count."""
    baselines = [load_finished(path) for path in paths]
    for baseline in baselines:
        (group,) = group_runs([baseline.run])
        if not group.runs:
            causes = dict.fromkeys(entry.cause for entry in group.unranked)
            raise BadInput(f"{baseline.path}: is no baseline: {'; '.join(causes)}")
    return baselines


def baseline_of(baselines: Sequence[Finished], suite: Labelled, model: str) -> Finished:
    """Return the baseline of a run: the only one of its suite, or the only one of its suite and model.

    Of several variants of a suite the run's own is meant. Raises BadInput when it is not clear which one that is.
    """
    of_name = [baseline for baseline in baselines if baseline.run.facts.suite.name == suite.name]
    of_suite = [baseline for baseline in of_name if baseline.run.facts.suite == suite] or of_name
    of_model = [baseline for baseline in of_suite if baseline.run.facts.model.name == model]
    for found in (of_model, of_suite):
        if len(found) == 1:
            return found[0]
    if not of_suite:
        there = ", ".join(f"{baseline.path} of {baseline.run.facts.suite.name}" for baseline in baselines) or "none"
        raise BadInput(
            f"a regression of suite {suite.name} needs a baseline of that suite: --baseline BUNDLE (given: {there})"
        )
    raise BadInput(
        f"{len(of_suite)} baselines are of suite {suite.name}, and it is not clear which is for model {model}"
    )


def require_suite(baseline: Finished, suite: Labelled) -> None:
    """Raise BadInput unless the baseline is of this suite, by digest."""
    _require_same(baseline, "suite", baseline.run.facts.suite, suite)


def require_place(baseline: Finished, hardware: Labelled, contract: Labelled) -> None:
    """Raise BadInput, naming what differs, unless the baseline is of one hardware profile and contract."""
    _require_same(baseline, "hardware profile", baseline.run.facts.hardware, hardware)
    _require_same(baseline, "execution contract", baseline.run.facts.contract, contract)


def _require_same(baseline: Finished, what: str, own: Labelled, other: Labelled) -> None:
    if own.digest != other.digest:
        raise BadInput(
            f"{baseline.path}: is no baseline here: it is of another {what}: {own.name} {own.digest}, "
            f"not {other.name} {other.digest}"
        )


def difference(baseline: Finished, finished: Finished, metric: str | None) -> Difference | None:
    """Return the paired difference; None where the suite has no such figure of all its samples.

    Raises BadInput for runs that are not of one suite, normaliser or scorer, profile and contract.
    """
    facts: RunFacts = finished.run.facts
    require_suite(baseline, facts.suite)
    require_place(baseline, facts.hardware, facts.contract)
    one, other = baseline.run, finished.run
    if one.scored_by != other.scored_by:
        raise BadInput(f"{baseline.path}: is no baseline here: it is scored by {one.scored_by}, not {other.scored_by}")
    if one.grading is not None and other.grading is not None:
        found = compare_grades(other.grading, one.grading) if metric in (None, "score") else None
        return None if found is None else Difference("score", found.difference, found.interval, found.higher_is_better)
    rate = metric or "cer"
    if rate == "score":
        return None
    compared = compare(load_side(finished.path), load_side(baseline.path), "wer" if rate == "wer" else "cer")
    return Difference(rate, compared.difference, compared.interval)
