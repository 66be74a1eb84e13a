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

SAMPLES, PAUSE_MS = 1000, 2.0
BUDGET_S = 0.0005


def measure() -> Result:
    """Compare the median gap of a real run with that of a loop that writes, flushes and syncs a line a sample."""
    with daemon() as (_, wire):
        _, samples = finish(wire, SAMPLES, delay_ms=PAUSE_MS, text="a line of text as a model might say it")
    gaps = gaps_s(samples)
    ours, plain = median(gaps), median(_plain_gaps())
    details = {"p99_ms": round(quantiles(gaps, n=100)[98] * 1e3, 3), "samples": SAMPLES}
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
