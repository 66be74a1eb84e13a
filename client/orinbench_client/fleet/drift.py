"""Is one of several boards of one kind slower than the others?

Compared are runs of one model on one suite (both by digest) under one hardware profile and execution contract. Be
w(b, i) the timed window of sample i on board b, the mean over the board's runs. The ratio of a board is

    r(b) = Σᵢ w(b, i) / median over the other boards o of Σᵢ w(o, i),

which for audio is its RTF over the median RTF of the others, as all heard the same. Of an even number of others every
value between the two middle ones is a median: that nearest to the board is taken, so that of three boards one slow one
does not make the other two fast. Its 95 % interval is that of the
percentile bootstrap over samples (orinbench_client.statistics), all boards in one draw, so that long samples are long
for all. A board is `slower` when the whole interval lies above 1 + MARGIN, `faster` when it lies below 1 - MARGIN.
With two boards the verdict does not tell which of them changed.

The interval holds what differs between samples, not what differs between one run and the next: that is what MARGIN is
for, and several runs a board.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orinbench_client.boards.selection import voids
from orinbench_client.bundles.model import SUCCEEDED, IntArray, Labelled, RunFacts
from orinbench_client.bundles.native import read_run
from orinbench_client.bundles.results import find_bundles, open_bundle
from orinbench_client.statistics import FloatArray, Interval, Replicates, percentile_interval

#: Smaller differences are not told: a choice, not a measurement.
MARGIN = 0.02
#: With fewer samples a bootstrap says little.
SAMPLES_MIN = 10
TOO_FEW, SLOWER, FASTER, NO_DIFFERENCE = "too few", "slower", "faster", "no difference seen"


@dataclass(frozen=True)
class Row:
    """One board in one comparison. Seconds and ratios; None where there is no such figure."""

    hardware: Labelled
    suite: Labelled
    model: Labelled
    board: str
    runs: int
    samples: int
    window_p50_s: float
    window_p90_s: float
    rtf: float | None
    ratio: float | None
    interval: Interval | None
    verdict: str
    peak_memory_bytes: int | None
    energy_j_per_sample: float | None


class LeftOut(NamedTuple):
    """A run that is compared with none, and why."""

    run: str
    cause: str


class _Key(NamedTuple):
    suite: str
    model: str
    hardware: str
    contract: str


class Run(NamedTuple):
    """A run and its board, by key and name."""

    facts: RunFacts
    board: Labelled


def load_runs(results: Path, suite: str | None = None) -> list[Run]:
    """Return the runs of a results folder that a board of ours made. Raises BadInput."""
    found = []
    for path in find_bundles(results, suite):
        facts = open_bundle(path).facts
        if facts.origin == "orinbench":
            name = read_run(path).board.removeprefix("boards/")
            found.append(Run(facts, Labelled(name, facts.key_id or name)))
    return found


def compare_boards(runs: Sequence[Run]) -> tuple[list[Row], list[LeftOut]]:
    """Return a row a model, suite and board, in the order of their names, and the runs whose speed does not count."""
    left_out = [LeftOut(run.facts.run_id, cause) for run in runs if (cause := _obstacle(run.facts))]
    groups: dict[_Key, list[Run]] = {}
    for run in runs:
        if not _obstacle(run.facts):
            facts = run.facts
            key = _Key(facts.suite.digest, facts.model.digest, facts.hardware.digest, facts.contract.digest)
            groups.setdefault(key, []).append(run)
    rows = [row for group in groups.values() for row in _rows(group)]
    return sorted(rows, key=lambda row: (row.suite.name, row.model.name, row.hardware.name, row.board)), left_out


def _obstacle(facts: RunFacts) -> str | None:
    """Return why the speed of a run does not count."""
    if facts.state != SUCCEEDED:
        return facts.failure or facts.state
    if facts.causes:
        return facts.causes[0]
    causes = [cause for cause, axes in voids(facts).items() if "speed" in axes]
    if causes:
        return causes[0]
    return None if facts.timing is not None and facts.timing.windows_ns is not None else "has no timed windows"


def _rows(group: Sequence[Run]) -> Iterator[Row]:
    """Yield the rows of one comparison."""
    boards: dict[str, list[Run]] = {}
    for run in group:
        boards.setdefault(run.board.digest, []).append(run)
    windows = {board: _windows(runs) for board, runs in boards.items()}
    ratios = _ratios(windows)
    names = [runs[-1].board.name for runs in boards.values()]
    for board, runs in boards.items():
        name = runs[-1].board.name
        label = name if names.count(name) == 1 else f"{name} ({board.removeprefix('sha256:')[:8]})"
        yield _row(runs, label, windows[board], ratios.get(board))


def _windows(runs: Sequence[Run]) -> IntArray:
    """Return the mean window of each sample, nanoseconds (samples,)."""
    several = [run.facts.timing.windows_ns for run in runs if run.facts.timing is not None]
    mean: IntArray = np.rint(np.mean([each for each in several if each is not None], axis=0)).astype(np.int64)
    return mean


def _ratios(windows: dict[str, IntArray]) -> dict[str, tuple[float, Interval]]:
    """Return each board's ratio with its interval; nothing where there is too little to compare."""
    if len(windows) < 2 or min(map(len, windows.values())) < SAMPLES_MIN:
        return {}
    replicates = Replicates(list(windows.values()))
    found = {}
    for board, own in windows.items():
        others = [each for other, each in windows.items() if other != board]
        measured = _over_median(np.array([float(own.sum())]), [np.array([float(each.sum())]) for each in others])
        drawn = _over_median(replicates.sums(own), [replicates.sums(each) for each in others])
        found[board] = (float(measured[0]), percentile_interval(drawn))
    return found


def _over_median(own: FloatArray, others: Sequence[FloatArray]) -> FloatArray:
    """Return `own` over the median of the others that is nearest to it, each (replicates,)."""
    ordered = np.sort(others, axis=0)
    ratio: FloatArray = own / np.clip(own, ordered[(len(others) - 1) // 2], ordered[len(others) // 2])
    return ratio


def _row(runs: Sequence[Run], label: str, windows: IntArray, compared: tuple[float, Interval] | None) -> Row:
    facts = runs[-1].facts
    p50, p90 = (float(bound) / 1e9 for bound in np.quantile(windows, [0.5, 0.9]))
    audio = [run.facts.timing.total_audio_ns for run in runs if run.facts.timing is not None]
    peaks = [run.facts.memory.peak_bytes for run in runs if run.facts.memory is not None]
    energy = [run.facts.energy_uj for run in runs]
    known = [peak for peak in peaks if peak is not None]
    joules = [float(each.mean()) / 1e6 for each in energy if each is not None]
    ratio, interval = compared or (None, None)
    return Row(
        hardware=facts.hardware,
        suite=facts.suite,
        model=facts.model,
        board=label,
        runs=len(runs),
        samples=len(windows),
        window_p50_s=p50,
        window_p90_s=p90,
        rtf=float(windows.sum()) / audio[0] if audio[0] else None,
        ratio=ratio,
        interval=interval,
        verdict=verdict(interval),
        peak_memory_bytes=round(float(np.median(known))) if known else None,
        energy_j_per_sample=math.fsum(joules) / len(joules) if joules else None,
    )


def verdict(interval: Interval | None) -> str:
    """Return what an interval of a ratio says; see above."""
    if interval is None:
        return TOO_FEW
    if interval.lo > 1 + MARGIN:
        return SLOWER
    return FASTER if interval.hi < 1 - MARGIN else NO_DIFFERENCE
