"""What is told at one moment: taken on the event loop, read by other threads, never changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from orinbench.v1 import record_pb2 as pb
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbenchd.artifacts.store import free_bytes
from orinbenchd.board.board import Board
from orinbenchd.config import Config
from orinbenchd.doors.seats import Seats
from orinbenchd.journal.writer import CommitTimes, Writer
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.manager import RunManager
from orinbenchd.services.interceptor import Interceptor


@dataclass(frozen=True)
class RunNow:
    """The active run. What is not known is None."""

    state: str
    planned: int
    accepted: int
    segments: int
    violations: int
    rtf: float | None
    reserved_bytes: int | None
    rss_bytes: int | None


@dataclass(frozen=True)
class Commits:
    """Commits of the journal so far: how many took at most each bound in seconds, and how long all of them took."""

    buckets: Sequence[tuple[float, int]]
    total_s: float


@dataclass(frozen=True)
class Snapshot:
    """All of it. `reading` is None before the first one; `ended` counts by state, since the daemon's start."""

    reading: Telemetry | None
    run: RunNow | None
    queue_length: int
    expected_wait_s: float | None
    ended: Mapping[str, int]
    wedged: bool
    watchers: int
    incidents: int
    records: int
    commits: Commits
    disk_free_bytes: int


@dataclass(frozen=True)
class Observed:
    """The parts of the daemon that are looked at."""

    config: Config
    board: Board
    manager: RunManager
    writer: Writer
    seats: Seats
    interceptor: Interceptor

    def look(self, reading: Telemetry | None) -> Snapshot:
        """Take a snapshot. On the event loop, and short."""
        manager = self.manager
        return Snapshot(
            reading,
            _run_now(manager.active) if manager.active is not None else None,
            len(manager.queued),
            manager.expected_wait_s(),
            dict(manager.ended),
            bool(manager.wedged),
            self.seats.watching,
            self.interceptor.incidents,
            self.writer.records,
            _commits(self.writer.times),
            free_bytes(self.config.data_dir),
        )


def _run_now(live: LiveRun) -> RunNow:
    run = live.run
    reserved, rss = (
        getattr(run.memory, name) if run.memory.HasField(name) else None
        for name in ("peak_reserved_bytes", "peak_rss_bytes")
    )
    state = pb.RunState.Name(run.state).removeprefix("RUN_STATE_").lower()
    accepted = run.accepted_samples
    return RunNow(state, run.planned_samples, accepted, len(run.segments), len(run.violations), live.rtf, reserved, rss)


def _commits(times: CommitTimes) -> Commits:
    # Copied first: the writer goes on counting.
    counts, total_s = list(times.counts), times.total_s
    return Commits(list(zip([*times.bounds, math.inf], accumulate(counts), strict=True)), total_s)
