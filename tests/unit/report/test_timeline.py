"""Telemetry on its way into a chart: gaps stay gaps, extremes stay, nothing is invented."""

from __future__ import annotations

import math
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orinbench_client.bundles.files import write_manifest
from orinbench_client.bundles.native import read_native
from orinbench_client.report.facts import Point, Timeline
from orinbench_client.report.recorded import Recorded, recorded
from orinbench_client.report.telemetry import make_timeline
from orinbench_client.report.timelines import draw_timeline

from tests.unit.report.bundles import MeasuredRun, write_run

LONG = [20 + 5 * math.sin(tick / 40) for tick in range(3000)]


def recorded_of(bundle: Path) -> Recorded:
    """Return a run as its records tell it."""
    return recorded(*read_native(bundle))


def timeline_of(results: Path, run: MeasuredRun) -> Timeline:
    """Write a run and return its timeline."""
    return timeline_of_bundle(write_run(results, run))


def timeline_of_bundle(path: Path) -> Timeline:
    """Return the timeline of a run that is there."""
    timeline = make_timeline(recorded_of(path))
    assert timeline is not None
    return timeline


def power_of(timeline: Timeline) -> list[Point]:
    """Return the module's power."""
    return list(timeline.panels[0].series["module"])


def test_a_gap_breaks_every_line(tmp_path: Path) -> None:
    """Where no reading came for 2 s a line ends and another begins; nothing lies between, least of all a 0."""
    points = power_of(timeline_of(tmp_path, MeasuredRun(power_w=[20, 21, None, None, None, None, 22, 23])))

    assert [(point.at_s, point.value, point.piece) for point in points] == [
        (0.0, 20.0, 0),
        (0.5, 21.0, 0),
        (3.0, 22.0, 1),
        (3.5, 23.0, 1),
    ]


def test_a_long_run_is_thinned_and_keeps_its_peak(tmp_path: Path) -> None:
    """Of 3000 readings a few hundred are drawn, the one highest and the one lowest among them."""
    watts = [*LONG]
    watts[1234], watts[2345] = 61.5, 1.25
    timeline = timeline_of(tmp_path, MeasuredRun(power_w=watts))
    values = [point.value for point in power_of(timeline)]

    assert timeline.readings == 3000
    assert len(values) <= 402
    assert (max(values), min(values)) == (61.5, 1.25)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.floats(0, 60), min_size=2, max_size=40).filter(lambda ticks: ticks[0] is not None))
def test_points_are_readings(ticks: list[float | None]) -> None:
    """Every point is a reading at its own time; two of one piece are never further apart than three intervals."""
    with tempfile.TemporaryDirectory() as name:
        points = power_of(timeline_of(Path(name), MeasuredRun(power_w=ticks)))
    read = {tick / 2: round(watts, 4) for tick, watts in enumerate(ticks) if watts is not None}
    steps = sorted(later - earlier for earlier, later in pairwise(read))

    assert {point.at_s: point.value for point in points} == read
    for one, other in pairwise(points):
        if one.piece == other.piece:
            assert other.at_s - one.at_s <= 3 * steps[len(steps) // 2]


def test_events_stand_where_they_happened(tmp_path: Path) -> None:
    """A violation seen between two readings is marked at the second; one from before the first is on no chart."""
    run = MeasuredRun(power_w=[20.0] * 8, violations=[("THROTTLED", ()), ("SIMULATED", ())])
    found = recorded_of(write_run(tmp_path, run))
    found.run.violations[0].time.FromMilliseconds(1_001_700)
    found.run.violations[1].time.FromMilliseconds(999_000)
    timeline = make_timeline(found)

    assert timeline is not None
    assert [(event.at_s, event.label) for event in timeline.events] == [(2.0, "THROTTLED")]


def test_the_chart_has_a_line_for_each_piece(tmp_path: Path) -> None:
    """The SVG of a timeline with a gap draws the power in two lines, and names series and panel."""
    whole, broken = (
        draw_timeline("x", "a run", timeline_of(tmp_path / name, MeasuredRun(power_w=ticks))).svg
        for name, ticks in (("whole", [20.0] * 8), ("broken", [20.0, 21.0, *[None] * 4, 22.0, 23.0]))
    )

    assert 'aria-roledescription="line mark"' in whole
    assert broken.count('aria-roledescription="line mark"') == 2 * whole.count('aria-roledescription="line mark"')
    assert all(word in broken for word in ("Power, W", "VDD_IN", "Temperature, °C", "tj-thermal"))


def test_a_bundle_without_telemetry_has_no_timeline(tmp_path: Path) -> None:
    """Without a reading there is no chart, and no empty one."""
    found = recorded_of(write_run(tmp_path, MeasuredRun()))

    assert not found.telemetry
    assert make_timeline(found) is None


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_reading_that_is_no_number_is_a_gap(tmp_path: Path, broken: float) -> None:
    """A sensor that answers NaN breaks the line as one that did not answer; the page is made all the same."""
    points = power_of(timeline_of(tmp_path, MeasuredRun(power_w=[20.0, broken, 21.0])))

    assert [(point.at_s, point.value, point.piece) for point in points] == [(0.0, 20.0, 0), (1.0, 21.0, 1)]


def test_the_chart_is_of_the_records(tmp_path: Path) -> None:
    """The readable file of readings beside the records, which nobody signed, changes no point of the chart."""
    path = write_run(tmp_path, MeasuredRun(power_w=[20.0, 21.0]))
    (path / "telemetry.jsonl").write_text('{"monotonic_ns":"1","module_power_w":1.0}\n')
    (path / "manifest.json").unlink()
    write_manifest(path)

    assert [point.value for point in power_of(timeline_of_bundle(path))] == [20.0, 21.0]
