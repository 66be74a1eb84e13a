"""Scored runs as boards take them, made up from a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from orinbench_client.bundles.model import (
    Axis,
    Counts,
    Labelled,
    Memory,
    ModelFacts,
    RunFacts,
    ScoredRun,
    Timing,
    Violation,
)

SAMPLES = 20
GIB = 2**30


def violated(reason: str, axes: Iterable[Axis]) -> Violation:
    """A violation that voids `axes`."""
    return Violation(reason, f"seen: {reason}", frozenset(axes))


def make_run(
    model: str,
    *,
    run: str | None = None,
    edits: int = 1,
    word_edits: int = 1,
    state: str = "succeeded",
    failure: str | None = None,
    causes: tuple[str, ...] = (),
    violations: Sequence[Violation] = (),
    peak: float | None = 2,
    method: str = "torch-reserved",
    timed: bool = True,
    audio: bool = True,
    window_ms: int = 100,
    energy: float | None = 1.5,
    scored: bool = True,
    end_ns: int = 1,
    suite: str = "5",
    hardware: str = "7",
    contract: str = "8",
    prefix: str = "test",
) -> ScoredRun:
    """A run of SAMPLES samples: `edits` more character edits than its neighbour on each, peaks in GiB."""
    counts = np.zeros((SAMPLES, 4), dtype=np.int64)
    counts[:, 0], counts[:, 3] = edits + np.arange(SAMPLES) % 4, 40
    words = counts.copy()
    words[:, 0], words[:, 3] = word_edits, 10
    windows = np.full(SAMPLES, window_ms * 1_000_000, dtype=np.int64) + np.arange(SAMPLES)
    lengths = np.full(SAMPLES, 10_000_000_000, dtype=np.int64) if audio else None
    audio_ns = None if lengths is None else int(lengths.sum())
    facts = RunFacts(
        run_id=run or f"run-{model}",
        origin="orinbench",
        suite=Labelled("a-suite", "sha256:" + suite * 64),
        model=Labelled(model, "sha256:" + "6" * 64),
        hardware=Labelled("a-board", "sha256:" + hardware * 64),
        contract=Labelled("rules", "sha256:" + contract * 64),
        state=state,
        failure=failure,
        causes=causes,
        violations=tuple(violations),
        memory=None if peak is None else Memory(method, round(peak * GIB), round(peak * GIB)),
        timing=Timing(int(windows.sum()), audio_ns, windows, lengths) if timed else None,
        energy_uj=None if energy is None else np.full(SAMPLES, round(energy * 1e6), dtype=np.int64),
        facts=ModelFacts(parameter_count=25),
        end_ns=end_ns,
    )
    ids = tuple(f"{prefix}-{index}" for index in range(SAMPLES))
    return ScoredRun(facts, "fa-v1", Counts(ids, words, counts) if scored else None)
