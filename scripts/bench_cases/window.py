"""What we add inside a sample's timed window: a run of an engine that does nothing, against bare calls of it."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from orinbench_engines.adapters.none import NoneAdapter
from orinbench_engines.contract import Model, Options, Sample
from orinbench_engines.engines.null import NullEngine, NullOptions
from orinbench_profiles import ModelDeclaration

from bench_cases import Result
from bench_cases.rig import daemon, finish, in_own_process

ROUNDS, SAMPLES = 7, 2000
BUDGET_US = 30.0


def measure() -> Result:
    """Compare the median window of a real run with the median of bare calls; the difference is ours.

    By turns, each round in a process of its own: the same loop is up to twice as fast in one process as in another.
    """
    windows, bares = [], []
    with daemon() as (_, wire):
        for _ in range(ROUNDS):
            _, samples = finish(wire, SAMPLES)
            windows.append(median(sample.window_ns for sample in samples) / 1e3)
            output, _ = in_own_process("window").communicate()
            bares.append(float(output))
    ours, bare = median(windows), median(bares)
    added = ours - bare
    budget = f"at most {BUDGET_US:.0f} µs more than a bare call"
    return Result("window", ours, bare, ours / bare, "µs", budget, added <= BUDGET_US, {"added_us": round(added, 2)})


def _bare_us() -> float:
    declaration = ModelDeclaration(id="n", title="n", license="n", engine="null", adapter="none", dtype="none")
    model = Model(declaration, {}, "cpu", Path())
    session, _ = NullEngine(NullOptions()).load(model)
    adapter = NoneAdapter(Options())
    adapter.open(model, session)
    sample = Sample(0, "s-0", b"nothing", "text/plain")
    windows = []
    for _ in range(SAMPLES):
        start = time.monotonic_ns()
        adapter.infer(sample)
        windows.append(time.monotonic_ns() - start)
    return median(windows) / 1e3


if __name__ == "__main__":
    print(_bare_us())
