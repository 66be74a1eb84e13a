"""Energy arithmetic: exact on known curves, honest about gaps."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orinbenchd.telemetry.energy import EnergyMeter, WindowEnergy

from tests.jetson_sim.player import Curve

NS = 1_000_000_000


def ns(seconds: float) -> int:
    return round(seconds * NS)


def meter(max_gap_s: float = 1.5, sensor_window_s: float | None = 0.43) -> EnergyMeter:
    return EnergyMeter(max_gap_s=max_gap_s, sensor_window_s=sensor_window_s)


def test_constant_power_is_power_times_time() -> None:
    """10 W over 1 s is 10 J, with bounds between two readings, full coverage, and nothing interpolated."""
    made = meter()
    for step in range(10):
        made.add_power(ns(step * 0.5), 10.0)

    (window,) = made.add_window(0, ns(0.7), ns(1.7))

    assert window.energy_j == pytest.approx(10.0)
    assert window.mean_power_w == pytest.approx(10.0)
    assert window.peak_power_w == pytest.approx(10.0)
    assert (window.coverage, window.interpolated) == (1.0, False)


def test_a_ramp_is_integrated_by_the_trapezoid() -> None:
    """Power that rises linearly gives exactly its integral, and its peak at the window's end."""
    made = meter()
    for step in range(11):
        made.add_power(ns(step * 0.5), step * 0.5)

    (window,) = made.add_window(0, ns(1.25), ns(3.25))

    assert window.energy_j == pytest.approx((3.25**2 - 1.25**2) / 2)
    assert window.peak_power_w == pytest.approx(3.25)


def test_a_window_waits_for_the_reading_after_its_end() -> None:
    """Until the power at its end is known a window is open; the reading that closes it gives it back."""
    made = meter()
    made.add_power(ns(0), 5.0)
    assert made.add_window(7, ns(0.1), ns(0.6)) == []
    assert made.add_power(ns(0.5), 5.0) == []

    (window,) = made.add_power(ns(1.0), 5.0)

    assert window.index == 7
    assert window.energy_j == pytest.approx(2.5)


def test_a_window_shorter_than_the_sensors_says_so() -> None:
    """5 ms between two readings 0.5 s apart: interpolated, and marked as such."""
    made = meter()
    made.add_power(ns(0), 4.0)
    made.add_power(ns(0.5), 8.0)

    (window,) = made.add_window(0, ns(0.250), ns(0.255))

    assert window.energy_j == pytest.approx(6.02 * 0.005, rel=1e-6)
    assert window.interpolated is True
    assert window.sensor_window_s == 0.43


def test_a_gap_lowers_the_coverage_and_adds_no_energy() -> None:
    """Readings further apart than three intervals know nothing of what is between them."""
    made = meter()
    for at in (0.0, 0.5, 1.0, 4.0, 4.5, 5.0):
        made.add_power(ns(at), 10.0)

    (window,) = made.add_window(0, ns(0.0), ns(5.0))

    assert window.coverage == pytest.approx(2.0 / 5.0)
    assert window.energy_j == pytest.approx(20.0)
    assert window.mean_power_w == pytest.approx(10.0)
    assert made.totals().longest_gap_s == pytest.approx(3.0)


def test_no_reading_at_all_is_no_energy_rather_than_zero() -> None:
    """A window nothing covers has coverage 0 and no energy; so has the run."""
    made = meter()
    made.add_window(0, ns(1), ns(2))

    (window,) = made.finish()

    assert (window.energy_j, window.mean_power_w, window.coverage, window.interpolated) == (None, None, 0.0, False)
    assert made.totals().energy_j is None
    assert made.totals().coverage == 0.0


def test_no_window_has_no_coverage() -> None:
    """Before the first sample there is nothing to cover: absent, not 0 and not 1."""
    totals = meter().totals()

    assert (totals.energy_j, totals.coverage, totals.duration_s, totals.longest_gap_s) == (None, None, None, None)


def test_run_totals_are_over_the_windows_alone() -> None:
    """What the board used between samples is nobody's: time and energy are those of the windows."""
    made = meter()
    for step in range(21):
        made.add_power(ns(step * 0.5), 10.0)
    made.add_window(0, ns(1), ns(2), audio_seconds=10)
    made.add_window(1, ns(4), ns(6), audio_seconds=20)

    totals = made.totals()

    assert totals.windows == 2
    assert totals.energy_j == pytest.approx(30.0)
    assert totals.duration_s == 3.0
    assert totals.mean_power_w == pytest.approx(10.0)
    assert totals.energy_j_per_audio_hour == pytest.approx(30.0 * 3600 / 30)
    assert totals.readings == 21


def test_energy_per_audio_hour_needs_every_length() -> None:
    """One text sample among the audio, and the figure is absent."""
    made = meter()
    for step in range(9):
        made.add_power(ns(step * 0.5), 10.0)
    made.add_window(0, ns(1), ns(2), audio_seconds=10)
    made.add_window(1, ns(2), ns(3))

    assert made.totals().energy_j_per_audio_hour is None


def test_a_new_segment_may_begin_with_an_earlier_clock() -> None:
    """After a reboot the monotonic clock starts anew: old windows are closed, new ones measured, both counted."""
    made = meter()
    for step in range(5):
        made.add_power(ns(1000 + step * 0.5), 10.0)
    made.add_window(0, ns(1000), ns(1001))
    made.add_window(1, ns(1001.5), ns(1002.5))
    (cut,) = made.begin_segment()
    assert cut.coverage == pytest.approx(0.5)

    for step in range(5):
        made.add_power(ns(step * 0.5), 20.0)
    (window,) = made.add_window(1, ns(0.5), ns(1.5))

    assert window.energy_j == pytest.approx(20.0)
    assert made.totals().energy_j == pytest.approx(10.0 + 5.0 + 20.0)
    assert made.totals().duration_s == pytest.approx(1.0 + 1.0 + 1.0)


def test_repeated_and_late_readings_are_ignored() -> None:
    """The same reading seen twice, or an older one, changes nothing."""
    made = meter()
    for at, watts in ((0.0, 10.0), (0.5, 10.0), (0.5, 99.0), (0.2, 99.0), (1.0, 10.0)):
        made.add_power(ns(at), watts)

    (window,) = made.add_window(0, ns(0.0), ns(1.0))

    assert window.energy_j == pytest.approx(10.0)
    assert made.totals().readings == 3


@pytest.mark.parametrize("period_s", [4.0, 7.3, 30.0])
def test_a_known_curve_at_two_readings_a_second_is_right_within_one_percent(period_s: float) -> None:
    """Sampled at 2 Hz, waves of 4 s and longer are integrated to within 1 % of the exact energy."""
    curve = Curve(mean_w=25.0, amplitude_w=15.0, period_s=period_s, t0_s=0.3)
    made = meter()
    for step in range(121):
        made.add_power(ns(step * 0.5), curve.power_w(step * 0.5))
    (window,) = made.add_window(0, ns(3.21), ns(55.4))

    assert window.energy_j == pytest.approx(curve.energy_j(3.21, 55.4), rel=0.01)


@given(
    powers=st.lists(st.floats(-5, 100), min_size=2, max_size=40),
    cuts=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12),
)
def test_windows_add_up_to_the_whole(powers: list[float], cuts: list[float]) -> None:
    """However a stretch is cut into windows, their energies and covered times add up to those of the stretch."""
    span = (len(powers) - 1) * 0.5
    edges = [0, *sorted(ns(cut * span) for cut in cuts), ns(span)]

    parts = fed(powers)
    pieces = [
        closed for index, (start, end) in enumerate(pairwise(edges)) for closed in parts.add_window(index, start, end)
    ]
    (whole,) = fed(powers).add_window(0, 0, ns(span))

    assert len(pieces) == len(edges) - 1
    assert math.fsum(piece.energy_j or 0.0 for piece in pieces) == pytest.approx(energy(whole), abs=1e-6)
    assert whole.coverage == pytest.approx(1.0)


def fed(powers: list[float]) -> EnergyMeter:
    made = meter()
    for step, watts in enumerate(powers):
        made.add_power(ns(step * 0.5), watts)
    return made


def energy(window: WindowEnergy) -> float:
    assert window.energy_j is not None
    return window.energy_j


def test_memory_stays_bounded_over_a_long_run() -> None:
    """Readings older than the last closed window are forgotten."""
    made = meter()
    for step in range(20_000):
        made.add_power(ns(step * 0.5), 10.0)
        made.add_window(step, ns(step * 0.5 - 0.4), ns(step * 0.5 - 0.1))

    assert len(made._points) < 5
