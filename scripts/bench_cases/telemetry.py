"""What one telemetry reading costs the daemon, against bare calls of what it reads with."""

from __future__ import annotations

import time

import psutil
from orinbenchd.telemetry.psutil_source import PsutilSource

from bench_cases import Result
from bench_cases.rig import cpu_s, daemon

FAST_S, SLOW_S, WATCH_S = 0.05, 60.0, 10.0
# One per cent of a core at two readings a second.
BUDGET_MS = 5.0


def measure() -> Result:
    """Compare processor time a reading, the daemon's rest taken off, with that of reading alone."""
    ours = (_busy_s(FAST_S) - _busy_s(SLOW_S)) / (WATCH_S / FAST_S) * 1e3
    bare = _reading_s() * 1e3
    budget = f"at most {BUDGET_MS:g} ms of a core a reading, which is 1 % at 2 Hz"
    return Result("telemetry", ours, bare, ours / bare, "ms", budget, ours <= BUDGET_MS)


def _busy_s(interval_s: float) -> float:
    """Return the processor time a daemon at rest uses while it reads every `interval_s`."""
    with daemon(telemetry_interval_s=interval_s) as (started, _):
        process = psutil.Process(started.pid)
        time.sleep(2)
        before = cpu_s(process)
        time.sleep(WATCH_S)
        return cpu_s(process) - before


def _reading_s() -> float:
    """Return the processor time of one reading that nobody hears of, at that pace; a tight loop takes a third."""
    source, count = PsutilSource(SLOW_S), round(WATCH_S / FAST_S)
    start = time.process_time()
    for _ in range(count):
        source.sample()
        time.sleep(FAST_S)
    return (time.process_time() - start) / count
