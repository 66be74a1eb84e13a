"""Which runs share a board, and which of them are ranked in it. Whoever is not is listed with the cause.

A board holds runs of one suite digest, one hardware profile and one execution contract, under one normaliser or scorer;
runs that say of themselves that their profile is one for development never share it with others.
The variants of a suite, each with its own digest, share a board, in which they are ranked apart. One run a model and
variant is ranked: of imported runs the only one at the model's current digest, of native ones the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orinbench_client.bundles.model import AXES, SUCCEEDED, Axis, Labelled, RunFacts, ScoredRun

#: What keeps a run from official boards only: on a development profile it is the ordinary case.
OFFICIAL_ONLY = frozenset(
    {
        "PROFILE_MISMATCH",
        "DEVELOPMENT_PROFILE",
        "SIMULATED",
        "SOURCE_REVISION_UNKNOWN",
        "ISOLATION_LOW",
    }
)
DEVELOPMENT = "DEVELOPMENT_PROFILE"


@dataclass(frozen=True)
class Unranked:
    """A run that is not ranked by `axes`, and why."""

    run: RunFacts
    axes: tuple[Axis, ...]
    cause: str


@dataclass(frozen=True)
class Group:
    """The content of one board: `runs` are ranked by accuracy, and by each axis not named in `unranked`."""

    suite: Labelled
    hardware: Labelled
    contract: Labelled
    scored_by: str
    graded: bool
    development: bool
    runs: tuple[ScoredRun, ...]
    unranked: tuple[Unranked, ...]

    def ranked_by(self, axis: Axis) -> list[ScoredRun]:
        """Return the runs whose readings on `axis` count."""
        voided = {entry.run.run_id for entry in self.unranked if axis in entry.axes}
        return [run for run in self.runs if run.facts.run_id not in voided]


class _Key(NamedTuple):
    suite: str
    hardware: str
    contract: str


class _Board(NamedTuple):
    """What the runs of one board have in common. What one run says of its profile decides over no other run."""

    key: _Key
    scored_by: str
    development: bool


def group_runs(runs: Sequence[ScoredRun]) -> list[Group]:
    """Return the boards that `runs` make, in a fixed order. Each run is ranked in one, or listed with the cause.

    A run that cannot be ranked is listed in the boards of its suite, hardware and contract, or else in all of its
    suite; only where its suite has none does it make a board of its own.
    """
    unsound = [run for run in runs if _obstacles(run)]
    members = _by_key(run for run in runs if not _obstacles(run))
    groups = {
        key: _group(group, [run for run in unsound if key in _homes(run, members)]) for key, group in members.items()
    }
    homeless = _by_key(run for run in unsound if not _homes(run, members))
    groups |= {key: _group(group, []) for key, group in homeless.items()}
    return [groups[key] for key in sorted(groups)]


def _by_key(runs: Iterable[ScoredRun]) -> dict[_Board, list[ScoredRun]]:
    members: dict[_Board, list[ScoredRun]] = {}
    for run in runs:
        members.setdefault(_Board(_key(run), run.scored_by, _of_development(run.facts)), []).append(run)
    return members


def _of_development(facts: RunFacts) -> bool:
    return any(violation.reason == DEVELOPMENT for violation in facts.violations)


def _key(run: ScoredRun) -> _Key:
    suite = run.facts.suite.digest if run.grading is None else run.grading.family
    return _Key(suite, run.facts.hardware.digest, run.facts.contract.digest)


def _homes(run: ScoredRun, members: Mapping[_Board, Sequence[ScoredRun]]) -> list[_Board]:
    own = [board for board in members if board.key == _key(run)]
    return own or [board for board, group in members.items() if group[0].facts.suite.name == run.facts.suite.name]


def _obstacles(run: ScoredRun) -> list[str]:
    """Return the causes for which a run is ranked nowhere."""
    facts = run.facts
    if facts.state != SUCCEEDED:
        return [facts.failure or facts.state]
    if facts.causes:
        return list(facts.causes)
    if run.counts is None and run.grading is None:
        return ["no score of this kind by this version: orinbench score"]
    return []


def _group(runs: Sequence[ScoredRun], stray: Sequence[ScoredRun]) -> Group:
    unranked = [Unranked(run.facts, AXES, "; ".join(_obstacles(run))) for run in (*stray, *runs) if _obstacles(run)]
    chosen: list[ScoredRun] = []
    for run in runs:
        voided = voids(run.facts)
        unranked += [Unranked(run.facts, axes, cause) for cause, axes in voided.items()]
        if not _obstacles(run) and not any("accuracy" in axes for axes in voided.values()):
            chosen.append(run)
    chosen, surplus = _one_a_model(chosen)
    first = runs[0].facts
    return Group(
        Labelled(first.suite.name, _key(runs[0]).suite),
        first.hardware,
        first.contract,
        runs[0].scored_by,
        any(run.grading is not None for run in runs),
        _of_development(first),
        tuple(sorted(chosen, key=lambda run: (run.facts.model.name, run.facts.run_id))),
        tuple(sorted([*unranked, *surplus], key=lambda entry: (entry.run.model.name, entry.run.run_id, entry.cause))),
    )


def voids(facts: RunFacts) -> dict[str, tuple[Axis, ...]]:
    """Return what single causes void, by cause. What keeps a run from official boards alone is no cause in others."""
    development = _of_development(facts)
    causes: dict[str, set[Axis]] = {}
    for violation in facts.violations:
        if violation.voids and not (development and violation.reason in OFFICIAL_ONLY):
            causes.setdefault(violation.message or violation.reason, set()).update(violation.voids)
    for axis, cause in facts.unread.items():
        causes.setdefault(cause, set()).add(axis)
    return {cause: tuple(axis for axis in AXES if axis in axes) for cause, axes in causes.items()}


def _one_a_model(runs: Iterable[ScoredRun]) -> tuple[list[ScoredRun], list[Unranked]]:
    chosen: list[ScoredRun] = []
    surplus: list[Unranked] = []
    by_model: dict[tuple[str, str, str], list[ScoredRun]] = {}
    for run in runs:
        # An import may bring another version of a model than a second import: each is current in its own.
        version = "" if run.facts.origin == "orinbench" else run.facts.model.digest
        by_model.setdefault((run.facts.model.name, version, run.facts.suite.digest), []).append(run)
    for group in by_model.values():
        last = max(group, key=lambda run: (run.facts.end_ns, run.facts.run_id))
        if len(group) == 1 or last.facts.origin == "orinbench":
            chosen.append(last)
            cause = f"superseded by {last.facts.run_id}, a later run of the model"
            surplus += [Unranked(run.facts, AXES, cause) for run in group if run is not last]
        else:
            names = ", ".join(sorted(run.facts.run_id for run in group))
            cause = f"{len(group)} successful runs of one model, only one may be: {names}: remove the others"
            surplus += [Unranked(run.facts, AXES, cause) for run in group]
    return chosen, surplus
