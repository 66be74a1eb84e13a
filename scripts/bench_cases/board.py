"""The boards of 42 imported runs, read, checked, ranked and rendered in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_cases import Figure
from bench_cases.synthetic import write_peste

RUNS, SAMPLES = 42, 871
BUDGET_S, BUDGET_MIB = 3.0, 200


def measure() -> list[Figure]:
    """Return the seconds and the peak memory of making the boards; making and importing the runs is not in it."""
    from orinbench_client.bundles.peste_import import import_peste

    with tempfile.TemporaryDirectory() as name:
        upstream, results = Path(name) / "peste", Path(name) / "results"
        write_peste(upstream, {f"model-{index:02d}": 0.02 * (index + 1) for index in range(RUNS)}, SAMPLES)
        start = time.perf_counter()
        import_peste(upstream, results)
        import_s = time.perf_counter() - start
        found = _in_its_own_process(results)
    seconds, peak = found["seconds"], found["max_rss_kib"] / 1024
    return [
        Figure(f"{RUNS} runs of {SAMPLES} samples", f"{seconds:.2f} s", f"at most {BUDGET_S:g} s", seconds <= BUDGET_S),
        Figure("peak memory of that process", f"{peak:.0f} MiB", f"at most {BUDGET_MIB} MiB", peak <= BUDGET_MIB),
        Figure("import with all checks, before", f"{import_s:.2f} s"),
    ]


def _in_its_own_process(results: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "bench_cases.board", str(results)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def _make_boards(results: Path) -> dict[str, float]:
    from orinbench_client.boards.output import make_files
    from orinbench_client.bundles.results import find_bundles, load_run

    start = time.perf_counter()
    make_files([load_run(path) for path in find_bundles(results)], charts=False)
    seconds = time.perf_counter() - start
    # Not ru_maxrss: that one begins with the peak of the process that started this one.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return {"seconds": seconds, "max_rss_kib": float(peak[1]) if peak else float("nan")}


if __name__ == "__main__":
    print(json.dumps(_make_boards(Path(sys.argv[1]))))
