"""How fast a client without anything gets a finished run, against a plain read of the same rows from SQLite."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from orinbench.v1.run_pb2 import WatchRunRequest

from bench_cases import Result
from bench_cases.rig import daemon, finish
from tests.integration.harness import Wire

SAMPLES, ROUNDS = 20_000, 5
BUDGET = 20_000.0


def measure() -> Result:
    """Compare records a second of WatchRun from the beginning with those of one SELECT in this process."""
    with daemon() as (started, wire):
        name, _ = finish(wire, SAMPLES, text="a line of text as a model might say it")
        ours, plain = [], []
        for _ in range(ROUNDS):
            ours.append(_rate(lambda: _stream(wire, name)))
            plain.append(_rate(lambda: _select(started.folder / "data")))
    rate, reference = median(ours), median(plain)
    budget = f"at least {BUDGET:,.0f} records/s"
    return Result("backfill", rate, reference, rate / reference, "records/s", budget, rate >= BUDGET)


def _rate(read: Callable[[], int]) -> float:
    start = time.perf_counter()
    count = read()
    return count / (time.perf_counter() - start)


def _stream(wire: Wire, name: str) -> int:
    return sum(len(page.records) for page in wire.runs.WatchRun(WatchRunRequest(name=name)))


def _select(data: Path) -> int:
    with sqlite3.connect(f"file:{data / 'journal.sqlite'}?mode=ro", uri=True) as journal:
        return len(journal.execute("SELECT seq, kind, body FROM records ORDER BY seq").fetchall())
