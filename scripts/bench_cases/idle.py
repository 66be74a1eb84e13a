"""How long the device waits between two samples while every result is made durable, against JSON lines and fsync."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from bench_cases import Result
from bench_cases.rig import daemon, finish, gaps_s

ROUNDS, SAMPLES, PAUSE_MS = 5, 400, 2.0
BUDGET_S = 0.0005


def measure() -> Result:
    """Compare the median gap of real runs with that of a loop that writes and syncs a line a sample, by turns."""
    gaps, plainly = [], []
    with daemon() as (_, wire):
        for _ in range(ROUNDS):
            _, samples = finish(wire, SAMPLES, delay_ms=PAUSE_MS, text="a line of text as a model might say it")
            gaps += gaps_s(samples)
            plainly += _plain_gaps()
    ours, plain = median(gaps), median(plainly)
    details = {"p99_ms": round(quantiles(gaps, n=100)[98] * 1e3, 3), "samples": ROUNDS * SAMPLES}
    budget = f"at most {BUDGET_S * 1e3} ms"
    return Result("idle", ours * 1e3, plain * 1e3, ours / plain, "ms", budget, ours <= BUDGET_S, details)


def _plain_gaps() -> list[float]:
    gaps = []
    with tempfile.TemporaryDirectory() as name, (Path(name) / "samples.jsonl").open("w") as file:
        end = 0.0
        for index in range(SAMPLES):
            start = time.monotonic()
            if index:
                gaps.append(start - end)
            time.sleep(PAUSE_MS / 1000)
            end = time.monotonic()
            line = {"index": index, "text": "a line of text as a model might say it", "window_s": end - start}
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
    return gaps
