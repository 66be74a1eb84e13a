"""What telemetry says of a run: energy records and the summary."""

from __future__ import annotations

import pytest
from orinbench.v1.record_pb2 import Axis
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbenchd.telemetry.run import RunTelemetry

NS = 1_000_000_000


def run() -> RunTelemetry:
    return RunTelemetry(max_gap_s=1.5, sensor_window_s=0.43)


def at(seconds: float, watts: float | None = None, **fields: object) -> Telemetry:
    reading = Telemetry(monotonic_ns=round(seconds * NS) + 100_000_000, **fields)  # type: ignore[arg-type]
    if watts is not None:
        reading.module_power_w, reading.power_monotonic_ns = watts, round(seconds * NS)
    return reading


def test_energy_uses_the_moment_the_power_was_read() -> None:
    """A ramp read 0.1 s before each tick gives the energy of the reading's moments, not of the ticks."""
    made = run()
    for step in range(6):
        made.add(at(step * 0.5, step * 0.5))

    (record,) = made.add_sample(3, "s-3", 1, NS, NS, 2.5)

    assert (record.index, record.sample_id, record.segment) == (3, "s-3", 1)
    assert record.energy_j == pytest.approx(1.5)
    assert record.sensor_window_s == 0.43
    assert record.coverage == 1.0


def test_without_power_the_record_has_no_energy() -> None:
    """A board without readable rails gives records without energy and with coverage 0, never 0 J."""
    made = run()
    made.add(at(0))
    made.add_sample(0, "a", 1, 0, NS, 1.0)

    (record,) = made.finish()

    assert not record.HasField("energy_j")
    assert record.coverage == 0


def test_summary_of_a_run() -> None:
    """Peaks, the lowest clock under load only, counters' rise, the dip of memory, joules per audio hour."""
    made = run()
    made.add(
        at(0, 10, temperatures_c={"tj": 50}, throttle_events={"oc1": 7}, memory_available_bytes=1000, gpu_load_pct=3)
    )
    made.add(at(0.5, 10, temperatures_c={"tj": 71}, gpu_load_pct=99, gpu_clock_hz=[900, 800]))
    made.add(at(1.0, 10, temperatures_c={"tj": 60}, gpu_load_pct=10, gpu_clock_hz=[100], throttle_events={"oc1": 9}))
    made.add(at(1.5, 10, memory_available_bytes=400))
    made.add(at(2.0, 10, memory_available_bytes=700))
    made.add_sample(0, "a", 1, 0, NS, 3600.0)

    summary = made.summary()

    assert summary.energy_j == pytest.approx(10.0)
    assert summary.energy_j_per_audio_hour == pytest.approx(10.0)
    assert dict(summary.peak_temperatures_c) == {"tj": 71}
    assert dict(summary.throttle_event_deltas) == {"oc1": 2}
    assert summary.min_gpu_clock_under_load_hz == 800
    assert summary.memory_available_dip_bytes == 600
    assert summary.coverage == 1.0
    assert summary.readings == 5


def test_what_was_never_read_is_not_in_the_summary() -> None:
    """No power, no clock, no memory: no such fields."""
    summary = run().summary()

    for name in ("energy_j", "coverage", "min_gpu_clock_under_load_hz", "memory_available_dip_bytes", "peak_power_w"):
        assert not summary.HasField(name)


def test_counters_of_several_segments_add_up() -> None:
    """A reboot sets the counters back; the rises of both segments count."""
    made = run()
    made.add(at(0, 1, throttle_events={"oc3": 5}))
    made.add(at(1, 1, throttle_events={"oc3": 6}))
    made.begin_segment()
    made.add(at(0, 1, throttle_events={"oc3": 0}))
    made.add(at(1, 1, throttle_events={"oc3": 2}))

    assert dict(made.summary().throttle_event_deltas) == {"oc3": 3}


def test_memory_of_another_boot_is_no_dip() -> None:
    """Less free memory after a reboot is where the new segment begins; the deepest fall within one counts."""
    made = run()
    made.add(at(0, memory_available_bytes=1000))
    made.add(at(1, memory_available_bytes=800))
    made.begin_segment()
    made.add(at(0, memory_available_bytes=500))
    made.add(at(1, memory_available_bytes=400))

    assert made.summary().memory_available_dip_bytes == 200


def test_a_run_fed_from_its_records_again_gives_the_same() -> None:
    """Rebuilding after a restart is feeding the same readings and samples again."""
    first, second = run(), run()
    for made in (first, second):
        for step in range(9):
            made.add(at(step * 0.5, 5 + step))
            if step in (3, 6):
                made.add_sample(step, str(step), 1, round((step * 0.5 - 1) * NS), NS, 1.0)

    assert first.summary() == second.summary()


def test_coverage_under_the_floor_voids_energy_alone() -> None:
    """Half covered, floor 95 %: the violation names both and voids one axis. Full coverage has none."""
    made = run()
    for seconds in (0.0, 0.5, 1.0, 9.0):
        made.add(at(seconds, 10))
    made.add_sample(0, "a", 1, 0, 2 * NS, 1.0)

    violation = made.coverage_violation(0.95)

    assert violation is not None
    assert violation.reason == "TELEMETRY_COVERAGE"
    assert list(violation.voids) == [Axis.AXIS_ENERGY]
    assert "50.0%" in violation.message
    assert made.coverage_violation(0.4) is None
    assert run().coverage_violation(0.95) is None
