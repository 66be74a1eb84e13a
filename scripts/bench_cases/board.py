"""The boards of 42 imported runs, read, checked, ranked and rendered in a process of its own."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from orinbench_client.statistics import REPLICATES, SEED

from bench_cases import Result
from bench_cases.rig import in_own_process, own_peak_mib
from bench_cases.synthetic import write_peste

RUNS, SAMPLES, ROUNDS = 42, 871, 5
BUDGET_S, BUDGET_MIB = 3.0, 200


def measure() -> Result:
    """Compare making the boards with the plain bootstrap of the same intervals; making the runs is not in it."""
    from orinbench_client.bundles.peste_import import import_peste

    with tempfile.TemporaryDirectory() as name:
        upstream, results = Path(name) / "peste", Path(name) / "results"
        write_peste(upstream, {f"model-{index:02d}": 0.02 * (index + 1) for index in range(RUNS)}, SAMPLES)
        start = time.perf_counter()
        import_peste(upstream, results)
        import_s = time.perf_counter() - start
        found, plain_s = [], 0.0
        for part in range(ROUNDS):
            found.append(make_boards_apart(results))
            plain_s += _bootstrap_plainly(results, part)
    seconds = median(figures["seconds"] for figures in found)
    peak = max(figures["peak_mib"] for figures in found)
    ok = seconds <= BUDGET_S and peak <= BUDGET_MIB
    details = {"peak_mib": round(peak, 1), "import_s": round(import_s, 2)}
    budget = f"at most {BUDGET_S:g} s and {BUDGET_MIB} MiB"
    return Result("board", seconds, plain_s, plain_s / seconds, "s", budget, ok, details)


def _bootstrap_plainly(results: Path, part: int) -> float:
    """Return the seconds of the rule as it is written: each rate of each run draws its own indices and gathers by them.

    Done for one of ROUNDS parts of the runs, between two rounds of ours.

    Only the intervals of CER and WER: no pairs, no reading, no checks, no rendering.
    """
    from orinbench_client.bundles.results import find_bundles, load_run

    paths = find_bundles(results)[part::ROUNDS]
    runs = [counts for path in paths if (counts := load_run(path).counts) is not None]
    start = time.perf_counter()
    for counts in runs:
        for edits, units in (
            (counts.word_edits, counts.word_units),
            (counts.character_edits, counts.character_units),
        ):
            shape = (REPLICATES, len(edits))
            drawn = np.random.default_rng(SEED).integers(0, len(edits), size=shape, dtype=np.int64)
            np.quantile(edits[drawn].sum(axis=1) / units[drawn].sum(axis=1), [0.025, 0.975])
    return time.perf_counter() - start


def make_boards_apart(results: Path) -> dict[str, float]:
    """Make the boards of `results` in a process of its own; return its `seconds` and `peak_mib`."""
    output, _ = in_own_process("board", str(results)).communicate()
    figures: dict[str, float] = json.loads(output)
    return figures


def _make_boards(results: Path) -> dict[str, float]:
    from orinbench_client.boards.output import make_files
    from orinbench_client.bundles.results import find_bundles, load_run

    start = time.perf_counter()
    make_files([load_run(path) for path in find_bundles(results)], charts=False)
    return {"seconds": time.perf_counter() - start, "peak_mib": own_peak_mib()}


if __name__ == "__main__":
    print(json.dumps(_make_boards(Path(sys.argv[1]))))
