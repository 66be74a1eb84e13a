"""The bootstrap: equal to its plain definition, bit for bit, in bounded memory."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench_client.statistics import REPLICATES, SEED, Interval, Replicates, draw_indices, percentile_interval

PATH = ":".join(sys.path)
# SHA-256 of the indices for 7 samples, little-endian int64: what every numpy must draw.
DRAW_OF_7 = "13858b739d1e9c23dd13c71bca91e6b95cd54573d11230133ac3be916e35833b"
# VmHWM, not ru_maxrss: that one begins with the peak of the process that started this one.
MEMORY = """
import re
from pathlib import Path
import numpy as np
from orinbench_client.statistics import Replicates
rng = np.random.default_rng(1)
# Seven columns a run: edits and units of words and characters, windows, audio, energy.
Replicates([rng.integers(0, 10**9, 871) for _ in range(42 * 7)])
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def plain_rates(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The definition: one draw of all indices, columns gathered by them, integer sums, one division."""
    samples = len(numerator)
    indices = np.random.default_rng(SEED).integers(0, samples, size=(REPLICATES, samples), dtype=np.int64)
    rates: np.ndarray = numerator[indices].sum(axis=1) / denominator[indices].sum(axis=1)
    return rates


@pytest.mark.parametrize("samples", [1, 2, 7, 64, 871])
def test_draw_in_pieces_is_the_whole_draw(samples: int) -> None:
    """The indices drawn some replicates at a time are those of one call, odd counts of samples included."""
    whole = np.random.default_rng(SEED).integers(0, samples, size=(REPLICATES, samples), dtype=np.int64)

    assert np.array_equal(whole, np.concatenate(list(draw_indices(samples))))


def test_draw_is_the_same_with_every_numpy() -> None:
    """The stream of indices is a fixed one: a numpy that draws others would change published intervals."""
    drawn = np.concatenate(list(draw_indices(7))).astype("<i8").tobytes()

    assert hashlib.sha256(drawn).hexdigest() == DRAW_OF_7


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(1, 10**12)), min_size=1, max_size=30))
def test_rates_are_bit_equal_to_the_definition(columns: list[tuple[int, int]]) -> None:
    """Counting the draws and multiplying gives the gathered sums exactly, also for sums near 10^14."""
    numerator, denominator = np.array(columns, dtype=np.int64).T.copy()
    rates = Replicates([numerator, denominator]).rates(numerator, denominator)

    assert np.array_equal(plain_rates(numerator, denominator), rates)


def test_many_columns_share_one_draw() -> None:
    """Columns computed together have the values they have alone, equal columns among them."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(1, 50, 40) for _ in range(6)] * 2
    together = Replicates(columns)

    for one, other in zip(columns, columns[1:] + columns[:1], strict=True):
        assert np.array_equal(plain_rates(one, other), together.rates(one, other))


def test_percentile_interval() -> None:
    """Bounds are the 2.5 and 97.5 percent points, interpolated linearly."""
    assert percentile_interval(np.arange(10_001, dtype=np.float64)) == pytest.approx((250.0, 9750.0))


@pytest.mark.parametrize(("lo", "hi", "expected"), [(-1, 1, False), (0, 1, False), (-2, -1, True), (1, 2, True)])
def test_resolved_means_zero_outside(lo: float, hi: float, expected: bool) -> None:
    """A difference is resolved only when its interval has zero outside, not on its bound."""
    assert Interval(lo, hi).excludes_zero is expected


def test_memory_is_bounded() -> None:
    """A process that holds 10,000 replicates of 42 runs of 871 samples stays below 200 MiB, libraries included."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert float(done.stdout) < 200
