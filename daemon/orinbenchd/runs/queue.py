"""Whose turn it is, and how long that may take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orinbench.v1 import record_pb2 as pb

from orinbenchd.runs.live import LiveRun

# Higher goes first; above 0 is for admins.
LOWEST, HIGHEST = -10, 10
# So often a waiting priority is passed over before it counts as one higher.
PATIENCE = 4


class Waiting(NamedTuple):
    """A queued run as far as its turn depends on it. `number` is the order of submission."""

    number: int
    submitter: str
    priority: int = 0
    interrupted: bool = False


@dataclass(frozen=True)
class Turns:
    """What came before: how often each priority was passed over, and whose turns there were, the latest last."""

    passed: dict[int, int] = field(default_factory=dict)
    served: tuple[str, ...] = ()

    def after(self, chosen: Waiting, waiting: Iterable[Waiting]) -> Turns:
        """Return what is so once `chosen` of `waiting` has begun. An interrupted run only goes on with its turn."""
        if chosen.interrupted:
            return self
        there = {run.priority for run in waiting if not run.interrupted}
        passed = {priority: self.passed.get(priority, 0) + 1 for priority in there - {chosen.priority}}
        return Turns(passed, (*(name for name in self.served if name != chosen.submitter), chosen.submitter))


def in_order(waiting: Sequence[Waiting], turns: Turns) -> list[Waiting]:
    """Return the runs as they will begin if no other comes.

    Interrupted ones first. Then by priority, where one counts as one higher each time it was passed over PATIENCE
    times in a row, so that none starves; in a priority the submitter first who was served the longest ago; of one
    submitter in order of submission.
    """
    ordered = sorted(run for run in waiting if run.interrupted)
    lines: dict[int, dict[str, deque[Waiting]]] = {}
    for run in sorted(run for run in waiting if not run.interrupted):
        lines.setdefault(run.priority, {}).setdefault(run.submitter, deque()).append(run)
    passed = dict(turns.passed)
    served = {name: place for place, name in enumerate(turns.served)}
    while lines:
        priority = max(lines, key=lambda level: (level + passed.get(level, 0) // PATIENCE, level))
        line = lines[priority]
        name = min(line, key=lambda name: (served.get(name, -1), line[name][0].number))
        ordered.append(line[name].popleft())
        served[name] = len(turns.served) + len(ordered)
        passed = {level: passed.get(level, 0) + 1 for level in lines if level != priority}
        if not line[name]:
            del line[name]
        if not line:
            del lines[priority]
    return ordered


class Queue:
    """The queued runs in order, and the turns so far. Turns are counted from the daemon's start."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._known: tuple[list[Waiting], Turns] | None = None
        self._order: list[int] = []

    def order(self, runs: Iterable[LiveRun]) -> list[LiveRun]:
        """Return those of `runs` that are queued, the next one first."""
        queued = {live.number: live for live in runs if live.run.state == pb.RUN_STATE_QUEUED}
        waiting = [_waiting(live) for live in queued.values()]
        # Asked for far more often than it changes, such as for every run of a list.
        if self._known != (waiting, self._turns):
            self._known = (waiting, self._turns)
            self._order = [run.number for run in in_order(waiting, self._turns)]
        return [queued[number] for number in self._order]

    def begin(self, live: LiveRun, runs: Iterable[LiveRun]) -> None:
        """Note that a queued run has its turn."""
        waiting = [_waiting(other) for other in runs if other.run.state == pb.RUN_STATE_QUEUED]
        self._turns = self._turns.after(_waiting(live), waiting)


def _waiting(live: LiveRun) -> Waiting:
    run = live.run
    # A journal of an earlier version may hold any number.
    priority = min(max(run.plan.options.priority, LOWEST), HIGHEST)
    return Waiting(live.number, run.submitter, priority, bool(run.segments))


class Pace:
    """Seconds a sample takes in all, by model, from the runs that ended on this board since the start."""

    def __init__(self) -> None:
        self._by_model: dict[str, float] = {}

    def note(self, live: LiveRun) -> None:
        """Take a run that succeeded in one segment."""
        run = live.run
        if run.state == pb.RUN_STATE_SUCCEEDED and len(run.segments) == 1:
            self._by_model[run.plan.model_digest] = (time.monotonic() - live.began_s) / run.planned_samples

    def expected_wait_s(self, active: LiveRun | None, ahead: list[LiveRun]) -> float | None:
        """Return the seconds until the active run and those ahead are done; None when one of them is not known."""
        total = 0.0
        if active is not None:
            left = self._left_s(active)
            if left is None:
                return None
            total += left
        for live in ahead:
            pace = self._by_model.get(live.run.plan.model_digest)
            if pace is None:
                return None
            total += pace * (live.run.planned_samples - live.run.accepted_samples)
        return total

    def _left_s(self, live: LiveRun) -> float | None:
        run = live.run
        left = run.planned_samples - run.accepted_samples
        done = run.accepted_samples - run.segments[-1].first_index if run.segments else 0
        pace = self._by_model.get(run.plan.model_digest)
        if pace is None and done > 0:
            pace = (time.monotonic() - live.began_s) / done
        return None if pace is None else pace * left
