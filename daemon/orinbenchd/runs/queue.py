"""Whose turn it is, and how long that may take."""

from __future__ import annotations

import time
from collections.abc import Iterable

from orinbench.v1 import record_pb2 as pb

from orinbenchd.runs.live import LiveRun


def in_order(runs: Iterable[LiveRun]) -> list[LiveRun]:
    """Return the queued runs: interrupted ones first, then by priority, then by submission."""
    queued = [live for live in runs if live.run.state == pb.RUN_STATE_QUEUED]
    return sorted(queued, key=lambda live: (not live.run.segments, -live.run.plan.options.priority, live.number))


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
