"""What telemetry says of one run: the energy of each sample, and the summary."""

from __future__ import annotations

from orinbench.v1.record_pb2 import EnergyRecord, Violation
from orinbench.v1.telemetry_pb2 import Telemetry, TelemetrySummary

from orinbenchd.board.monitor import LOAD_PCT
from orinbenchd.board.violations import violation
from orinbenchd.telemetry.energy import EnergyMeter, WindowEnergy


class RunTelemetry:
    """Takes telemetry and samples of one run as they come; gives energy records back as windows close.

    It holds no clock and does no I/O, so a run that goes on after a restart is rebuilt by feeding it the
    journal's records again, `begin_segment` between segments.
    """

    def __init__(self, *, max_gap_s: float, sensor_window_s: float | None) -> None:
        self._meter = EnergyMeter(max_gap_s=max_gap_s, sensor_window_s=sensor_window_s)
        self._samples: dict[int, tuple[str, int]] = {}
        self._peaks: dict[str, float] = {}
        self._throttle_first: dict[str, int] = {}
        self._throttle_rise: dict[str, int] = {}
        self._throttle_past: dict[str, int] = {}
        self._min_clock: int | None = None
        self._memory_first: int | None = None
        self._memory_dip: int | None = None

    def add(self, reading: Telemetry) -> list[EnergyRecord]:
        """Take one reading; return the energy of the samples whose windows it closes."""
        for name, degrees in reading.temperatures_c.items():
            self._peaks[name] = max(degrees, self._peaks.get(name, degrees))
        for name, count in reading.throttle_events.items():
            first = self._throttle_first.setdefault(name, count)
            self._throttle_rise[name] = count - first
        if reading.gpu_clock_hz and reading.gpu_load_pct >= LOAD_PCT:
            lowest = min(reading.gpu_clock_hz)
            self._min_clock = lowest if self._min_clock is None else min(lowest, self._min_clock)
        if reading.HasField("memory_available_bytes"):
            self._memory(reading.memory_available_bytes)
        if not reading.HasField("module_power_w"):
            return []
        return self._records(self._meter.add_power(reading.power_monotonic_ns, reading.module_power_w))

    def add_sample(
        self,
        index: int,
        sample_id: str,
        segment: int,
        start_ns: int,
        window_ns: int,
        audio_seconds: float | None,
    ) -> list[EnergyRecord]:
        """Take one sample's window; return what is closed by now."""
        self._samples[index] = (sample_id, segment)
        return self._records(self._meter.add_window(index, start_ns, start_ns + window_ns, audio_seconds))

    def begin_segment(self) -> list[EnergyRecord]:
        """Close what the old segment left open; counters and clock may have started anew."""
        for name, rise in self._throttle_rise.items():
            self._throttle_past[name] = self._throttle_past.get(name, 0) + rise
        self._throttle_first.clear()
        self._throttle_rise.clear()
        self._memory_first = None
        return self._records(self._meter.begin_segment())

    def finish(self) -> list[EnergyRecord]:
        """Close every window that is left, with the coverage it has."""
        return self._records(self._meter.finish())

    def summary(self) -> TelemetrySummary:
        """Return the sums so far. What was never read is not set."""
        totals = self._meter.totals()
        made = TelemetrySummary(peak_temperatures_c=self._peaks, readings=totals.readings)
        values = {
            "duration_s": totals.duration_s,
            "coverage": totals.coverage,
            "energy_j": totals.energy_j,
            "energy_j_per_audio_hour": totals.energy_j_per_audio_hour,
            "mean_power_w": totals.mean_power_w,
            "peak_power_w": totals.peak_power_w,
            "min_gpu_clock_under_load_hz": self._min_clock,
            "memory_available_dip_bytes": self._memory_dip,
            "sensor_window_s": totals.sensor_window_s,
            "longest_gap_s": totals.longest_gap_s,
        }
        for name, value in values.items():
            if value is not None:
                setattr(made, name, value)
        for name in self._throttle_past.keys() | self._throttle_rise.keys():
            made.throttle_event_deltas[name] = self._throttle_past.get(name, 0) + self._throttle_rise.get(name, 0)
        return made

    def coverage_violation(self, floor: float) -> Violation | None:
        """Return the violation of a run whose energy is covered less than `floor` (0 to 1), or None."""
        totals = self._meter.totals()
        covered = totals.coverage or 0.0
        if not totals.windows or covered >= floor:
            return None
        return violation(
            "TELEMETRY_COVERAGE",
            f"power readings cover {covered:.1%} of the windows; the floor is {floor:.1%}",
        )

    def _records(self, closed: list[WindowEnergy]) -> list[EnergyRecord]:
        return [self._record(window) for window in closed]

    def _record(self, window: WindowEnergy) -> EnergyRecord:
        sample_id, segment = self._samples.pop(window.index)
        made = EnergyRecord(
            index=window.index,
            sample_id=sample_id,
            segment=segment,
            coverage=window.coverage,
            interpolated=window.interpolated,
        )
        for name in ("energy_j", "mean_power_w", "peak_power_w", "sensor_window_s"):
            value = getattr(window, name)
            if value is not None:
                setattr(made, name, value)
        return made

    def _memory(self, available: int) -> None:
        if self._memory_first is None:
            self._memory_first = available
        self._memory_dip = max(self._memory_first - available, self._memory_dip or 0)
