"""How time and memory grow with samples, runs and watchers: three sizes each, and the exponent fitted to them.

Run by itself (`scripts/bench growth`), for it takes minutes; it writes its own table of docs/performance.md.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from orinbench_client.scoring.score import score_samples
from orinbench_client.text import get_normalizer

from bench_cases import Result
from bench_cases.board import make_boards_apart
from bench_cases.page import machine, replace
from bench_cases.rig import daemon, drain, finish, in_own_process, own_peak_mib, rss_mib, streams
from bench_cases.synthetic import make_references, make_samples, write_peste

SAMPLES, RUNS, WATCHERS = (871, 8_710, 87_100), (6, 60, 600), (1, 10, 100)
# What one board of runs holds of each, and what each watcher gets.
RUN_SAMPLES, WATCHED_SAMPLES = 100, 5_000
FLAT_SAMPLES, FLAT_MIB = 100_000, 10.0
# A fit of three noisy points: above this it is no longer linear.
LINEAR = 1.1


class Growth(NamedTuple):
    """One quantity at three sizes."""

    what: str
    sizes: Sequence[int]
    values: Sequence[float]
    unit: str

    @property
    def exponent(self) -> float:
        """The slope of log(value) over log(size), by least squares."""
        slope, _ = np.polyfit(np.log(self.sizes), np.log(self.values), 1)
        return float(slope)

    def row(self) -> str:
        """Return a line of the table."""
        cells = " | ".join(
            f"{size:,}: {value:.3g} {self.unit}" for size, value in zip(self.sizes, self.values, strict=True)
        )
        return f"| {self.what} | {cells} | {self.exponent:.2f} |"


def measure() -> Result:
    """Measure all growths and the flat one; the budget is the steepest exponent."""
    found = [*_scoring(), *_boards(), *_daemon()]
    flat = _flat_mib()
    heading = ["| what | | | | exponent |", "|---|---|---|---|---|"]
    last = f"A run of {FLAT_SAMPLES:,} samples moved the daemon's resident set by {flat:+.1f} MiB."
    replace("growth", [machine(), "", *heading, *(growth.row() for growth in found), "", last])
    steepest = max(growth.exponent for growth in found)
    ok = steepest <= LINEAR and abs(flat) <= FLAT_MIB
    budget = f"nothing grows faster than linearly; a run of {FLAT_SAMPLES:,} samples within {FLAT_MIB:.0f} MiB"
    return Result("growth", steepest, 1.0, steepest, "exponent", budget, ok, {"flat_mib": round(flat, 1)})


def _scoring() -> list[Growth]:
    """Score in a process of its own for each size, so that its peak memory is its own."""
    answers = []
    for size in SAMPLES:
        out, _ = in_own_process("growth", str(size)).communicate()
        answers.append(json.loads(out))
    return [
        Growth("score a run, by samples", SAMPLES, [answer["seconds"] for answer in answers], "s"),
        Growth("memory of scoring it", SAMPLES, [answer["peak_mib"] for answer in answers], "MiB"),
    ]


def _score(size: int) -> dict[str, float]:
    references = make_references(size)
    samples = make_samples(references, 0.3)
    start = time.perf_counter()
    score_samples(samples, references, get_normalizer("fa-v1"))
    return {"seconds": time.perf_counter() - start, "peak_mib": own_peak_mib()}


def _boards() -> list[Growth]:
    from orinbench_client.bundles.peste_import import import_peste

    answers = []
    for size in RUNS:
        with tempfile.TemporaryDirectory() as name:
            upstream, results = Path(name) / "peste", Path(name) / "results"
            write_peste(
                upstream, {f"model-{index:03d}": 0.9 * (index + 1) / size for index in range(size)}, RUN_SAMPLES
            )
            import_peste(upstream, results)
            answers.append(make_boards_apart(results))
    return [
        Growth("make a board, by runs", RUNS, [answer["seconds"] for answer in answers], "s"),
        Growth("memory of making it", RUNS, [answer["peak_mib"] for answer in answers], "MiB"),
    ]


def _daemon() -> list[Growth]:
    with daemon() as (started, wire):
        process = psutil.Process(started.pid)
        runs, memory, fetched = [], [], []
        for size in SAMPLES:
            start = time.perf_counter()
            finish(wire, size)
            runs.append(time.perf_counter() - start)
            memory.append(rss_mib(process))
        name, _ = finish(wire, WATCHED_SAMPLES)
        for count in WATCHERS:
            start = time.perf_counter()
            asyncio.run(_fetch(f"unix:{started.socket}", name, count))
            fetched.append(time.perf_counter() - start)
    return [
        Growth("run of the null engine, by samples", SAMPLES, runs, "s"),
        Growth("the daemon's memory after it", SAMPLES, memory, "MiB"),
        Growth(f"{WATCHED_SAMPLES:,} samples to all watchers, by watchers", WATCHERS, fetched, "s"),
    ]


async def _fetch(target: str, name: str, count: int) -> None:
    await asyncio.gather(*(drain(stream) for stream in streams(target, name, count)))


def _flat_mib() -> float:
    """Return how far a long run moves the resident set of a daemon that has done a short one before."""
    with daemon() as (started, wire):
        process = psutil.Process(started.pid)
        finish(wire, 1_000)
        before = rss_mib(process)
        finish(wire, FLAT_SAMPLES)
        return rss_mib(process) - before


if __name__ == "__main__":
    print(json.dumps(_score(int(sys.argv[1]))))
