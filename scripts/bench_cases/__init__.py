"""The cases of scripts/bench, by name: one for each row of the budgets. Each prints one JSON line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module

# A new case is a module of this package with a function `measure`, and a line here.
CASES = {
    "score": "score 871 samples: normalise and count edits of words and characters",
    "board": "make the boards of 42 imported runs of 871 samples, charts apart",
    "idle": "device idle between two samples of a run, all records durable",
    "window": "our own time inside the timed window of a sample",
    "backfill": "stream a finished run to a client that has nothing of it",
    "watchers": "a run paced at 20 ms a sample, watched by 50 clients of which ten are frozen",
    "daemon": "the daemon at rest: telemetry at 2 Hz, one watcher",
    "startup": "orinbench --help, and the size of what the thin client installs",
    "telemetry": "the daemon's work for one telemetry reading",
}
# Takes minutes and is no row of the budgets: never part of `all`.
APART = {"growth": "time and memory by samples, runs and watchers, with fitted exponents"}


@dataclass(frozen=True)
class Result:
    """What one case found.

    `ours` and `reference` are medians or sums in `unit`, measured in one run, by turns where the pace of a machine
    matters; `ratio` is whichever of the two quotients the budget speaks of. `details` are further figures, units in
    their names.
    """

    bench: str
    ours: float
    reference: float
    ratio: float
    unit: str
    budget: str
    ok: bool
    details: dict[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """Return it as one line of JSON, numbers to four significant digits."""
        short = {name: _short(getattr(self, name)) for name in ("ours", "reference", "ratio")}
        return json.dumps(asdict(self) | short, ensure_ascii=False)


Measure = Callable[[], Result]


def main(names: Sequence[str]) -> int:
    """Run the named cases, or `all` and write the page. Return 0 if every budget is met, 1 if not, 2 for bad usage."""
    unknown = [name for name in names if name not in {*CASES, *APART, "all"}]
    if unknown or not names:
        print("usage: scripts/bench CASE... | all    (all writes docs/performance.md)")
        print("\n".join(f"  {name:<10}{text}" for name, text in (CASES | APART).items()))
        return 2
    results = [_measured(name) for name in (CASES if "all" in names else names)]
    if "all" in names:
        from bench_cases.page import write_page

        write_page(results)
    return 0 if all(result.ok for result in results) else 1


def _measured(name: str) -> Result:
    measure: Measure = import_module(f"bench_cases.{name}").measure
    result = measure()
    print(result.line(), flush=True)
    return result


def _short(value: float) -> float:
    return float(f"{value:.4g}")
