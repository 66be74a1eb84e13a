"""Energy of samples and runs from power readings: pure arithmetic, no clock, no I/O.

Energy is the trapezoid over the power readings, in joules. Between two readings further apart than
`max_gap_s` nothing is known: that stretch adds no energy and lowers the coverage. A figure is the energy of
the covered part only; it is never scaled up.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

_NS = 1_000_000_000


@dataclass(frozen=True)
class WindowEnergy:
    """Energy of one sample's timed window (bounds on CLOCK_MONOTONIC, nanoseconds)."""

    index: int
    start_ns: int
    end_ns: int
    #: Joules over the covered part; None when nothing covers the window.
    energy_j: float | None
    #: Energy over covered time, watts.
    mean_power_w: float | None
    #: Highest power at a reading inside the window or at its bounds (interpolated), watts.
    peak_power_w: float | None
    #: Covered share of the window, 0 to 1.
    coverage: float
    #: Time the sensor averages over, seconds; None if unknown.
    sensor_window_s: float | None
    #: True when the window is shorter than the sensor's, or holds fewer than two readings.
    interpolated: bool


@dataclass(frozen=True)
class RunEnergy:
    """Energy of a run: over the timed windows of its samples, closed so far."""

    windows: int
    #: Length of all windows together, seconds; None without a window.
    duration_s: float | None
    #: Sum over all windows, joules; None when nothing covers any of them.
    energy_j: float | None
    #: Covered share of the windows' time, 0 to 1; None without a window.
    coverage: float | None
    mean_power_w: float | None
    peak_power_w: float | None
    #: Joules per hour of audio; None unless every window names its audio length.
    energy_j_per_audio_hour: float | None
    sensor_window_s: float | None
    readings: int
    longest_gap_s: float | None


@dataclass(frozen=True)
class _Window:
    index: int
    start_ns: int
    end_ns: int


@dataclass
class _Integral:
    """Joules over the covered nanoseconds of some stretch of time."""

    energy_j: float = 0.0
    covered_ns: int = 0
    peak_w: float | None = None
    readings: int = 0

    def add(self, other: _Integral) -> None:
        self.energy_j += other.energy_j
        self.covered_ns += other.covered_ns
        self.readings += other.readings
        if other.peak_w is not None:
            self.peak_w = other.peak_w if self.peak_w is None else max(self.peak_w, other.peak_w)


class EnergyMeter:
    """Takes power readings and sample windows, in time order each, and gives windows back as they close.

    A window closes when a reading at or after its end has come, so that the power at its end is known.
    Windows must not overlap.
    """

    def __init__(self, *, max_gap_s: float, sensor_window_s: float | None) -> None:
        self._max_gap_ns = round(max_gap_s * _NS)
        self._sensor_window_s = sensor_window_s
        self._points: deque[tuple[int, float]] = deque()
        self._pending: deque[_Window] = deque()
        self._windows = 0
        self._windows_ns = 0
        self._in_windows = _Integral()
        self._audio_s: float | None = 0.0
        self._readings = 0
        self._longest_gap_ns: int | None = None

    def add_power(self, monotonic_ns: int, watts: float) -> list[WindowEnergy]:
        """Take one reading; return the windows it closes. A reading not newer than the last is ignored."""
        if self._points:
            gap = monotonic_ns - self._points[-1][0]
            if gap <= 0:
                return []
            self._longest_gap_ns = max(gap, self._longest_gap_ns or 0)
        self._points.append((monotonic_ns, watts))
        self._readings += 1
        return self._close(monotonic_ns)

    def add_window(
        self, index: int, start_ns: int, end_ns: int, audio_seconds: float | None = None
    ) -> list[WindowEnergy]:
        """Take one sample's window; return the windows that are closed by the readings already here."""
        self._pending.append(_Window(index, start_ns, end_ns))
        self._audio_s = None if self._audio_s is None or audio_seconds is None else self._audio_s + audio_seconds
        return self._close(self._points[-1][0]) if self._points else []

    def finish(self) -> list[WindowEnergy]:
        """Close every window that is left with what is known."""
        return self._close(self._pending[-1].end_ns) if self._pending else []

    def begin_segment(self) -> list[WindowEnergy]:
        """Close what is left and forget the readings: the clock may have started anew (reboot)."""
        closed = self.finish()
        self._points.clear()
        return closed

    def totals(self) -> RunEnergy:
        """Return the sums over the windows closed so far."""
        inside = self._in_windows
        energy = inside.energy_j if inside.covered_ns else None
        return RunEnergy(
            windows=self._windows,
            duration_s=self._windows_ns / _NS if self._windows_ns else None,
            energy_j=energy,
            coverage=inside.covered_ns / self._windows_ns if self._windows_ns else None,
            mean_power_w=_mean(inside),
            peak_power_w=inside.peak_w,
            energy_j_per_audio_hour=energy * 3600 / self._audio_s if energy is not None and self._audio_s else None,
            sensor_window_s=self._sensor_window_s,
            readings=self._readings,
            longest_gap_s=self._longest_gap_ns / _NS if self._longest_gap_ns is not None else None,
        )

    def _close(self, until_ns: int) -> list[WindowEnergy]:
        closed = []
        while self._pending and self._pending[0].end_ns <= until_ns:
            closed.append(self._measure(self._pending.popleft()))
        if closed:
            self._forget(closed[-1].end_ns)
        return closed

    def _measure(self, window: _Window) -> WindowEnergy:
        part = self._integrate(window.start_ns, window.end_ns)
        self._in_windows.add(part)
        self._windows += 1
        length_ns = window.end_ns - window.start_ns
        self._windows_ns += length_ns
        short = self._sensor_window_s is not None and length_ns < self._sensor_window_s * _NS
        return WindowEnergy(
            index=window.index,
            start_ns=window.start_ns,
            end_ns=window.end_ns,
            energy_j=part.energy_j if part.covered_ns else None,
            mean_power_w=_mean(part),
            peak_power_w=part.peak_w,
            coverage=part.covered_ns / length_ns if length_ns else 0.0,
            sensor_window_s=self._sensor_window_s,
            interpolated=bool(part.covered_ns) and (short or part.readings < 2),
        )

    def _integrate(self, start_ns: int, end_ns: int) -> _Integral:
        """Trapezoid over [start, end], power at the bounds by linear interpolation."""
        total = _Integral(readings=sum(start_ns <= at <= end_ns for at, _ in self._points))
        for before, after in pairwise(self._points):
            left, right = max(start_ns, before[0]), min(end_ns, after[0])
            if left < right and after[0] - before[0] <= self._max_gap_ns:
                low, high = _between(before, after, left), _between(before, after, right)
                total.add(_Integral((low + high) / 2 * (right - left) / _NS, right - left, max(low, high)))
        return total

    def _forget(self, before_ns: int) -> None:
        """Drop the readings that no later window can need; the last one before `before_ns` stays."""
        while len(self._points) > 1 and self._points[1][0] <= before_ns:
            self._points.popleft()


def _between(before: tuple[int, float], after: tuple[int, float], at_ns: int) -> float:
    share = (at_ns - before[0]) / (after[0] - before[0])
    return before[1] + (after[1] - before[1]) * share


def _mean(part: _Integral) -> float | None:
    return part.energy_j / (part.covered_ns / _NS) if part.covered_ns else None
