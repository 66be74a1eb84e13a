"""The telemetry of a run as a chart can show it: what was not read is a gap, and no peak is lost by thinning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from orinbench.v1.run_pb2 import Run
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbench_client.metrics import GIB
from orinbench_client.report.facts import Event, Panel, Point, Timeline
from orinbench_client.report.recorded import Recorded

#: Readings further apart than so many intervals have a gap between them: docs/metrics.md, coverage.
_INTERVALS = 3
#: A series is thinned to the lowest and the highest reading of so many stretches of time.
_STRETCHES = 200
_Values = Callable[[Telemetry], Mapping[str, float]]


def make_timeline(found: Recorded) -> Timeline | None:
    """Return the timeline of a native run; None where there was no telemetry."""
    readings = found.telemetry
    if not readings:
        return None
    times = _elapsed(readings)
    gaps = _gaps(times)
    panels = [Panel(title, _series(readings, times, gaps, values)) for title, values in _PANELS]
    shown = [panel for panel in panels if panel.series]
    return Timeline(shown, _events(found.run, readings, times), len(readings), len(gaps)) if shown else None


def _elapsed(readings: Sequence[Telemetry]) -> list[float]:
    """Return seconds since the first reading: by the board's steady clock, over a reboot by its wall clock."""
    times = [0.0]
    for before, after in pairwise(readings):
        step = (after.monotonic_ns - before.monotonic_ns) / 1e9
        if step < 0:
            step = max(0.0, _wall(after) - _wall(before))
        times.append(times[-1] + step)
    return times


def _wall(reading: Telemetry) -> float:
    """Return the wall clock of a reading in seconds since the epoch; 0 where it bears none."""
    return reading.time.ToNanoseconds() / 1e9


def _gaps(times: Sequence[float]) -> set[int]:
    """Return the places of readings before which there is a gap."""
    steps = [after - before for before, after in pairwise(times)]
    longest = _INTERVALS * median(steps) if steps else 0.0
    return {place for place, step in enumerate(steps, start=1) if step > longest}


def _series(
    readings: Sequence[Telemetry], times: Sequence[float], gaps: set[int], values: _Values
) -> dict[str, list[Point]]:
    series: dict[str, list[Point]] = {}
    last: dict[str, int] = {}
    for place, reading in enumerate(readings):
        for name, value in values(reading).items():
            if not math.isfinite(value):
                continue
            points = series.setdefault(name, [])
            # A reading that lacks this quantity breaks its line as a missing reading does.
            joined = place not in gaps and last.get(name) == place - 1
            piece = points[-1].piece + (not joined) if points else 0
            points.append(Point(round(times[place], 2), round(value, 4), piece))
            last[name] = place
    return {name: _thin(points, times[-1]) for name, points in series.items()}


def _thin(points: Sequence[Point], end_s: float) -> list[Point]:
    """Return the lowest and highest point of each stretch of each piece, in order of time."""
    if len(points) <= 2 * _STRETCHES:
        return list(points)
    stretches: dict[tuple[int, int], list[Point]] = {}
    for point in points:
        stretches.setdefault((point.piece, int(_STRETCHES * point.at_s / (end_s or 1))), []).append(point)
    kept: list[Point] = []
    for members in stretches.values():
        extremes = {min(members, key=lambda point: point.value), max(members, key=lambda point: point.value)}
        kept += sorted(extremes)
    return kept


def _events(run: Run, readings: Sequence[Telemetry], times: Sequence[float]) -> list[Event]:
    """Return the segments that began and the violations that were seen between the first reading and the last."""
    walls = [_wall(reading) for reading in readings]
    marks = [("segment", segment.start_time, f"segment {segment.number}: {segment.reason}") for segment in run.segments]
    marks += [("violation", violation.time, violation.reason) for violation in run.violations]
    events = []
    for kind, time, label in marks:
        seconds = time.ToNanoseconds() / 1e9
        if walls[0] < seconds <= walls[-1]:
            # Beside the reading of the same wall clock: the steady clock is the readings' alone.
            place = next(place for place, wall in enumerate(walls) if wall >= seconds)
            events.append(Event(times[place], kind, label))
    return sorted(events)


def _power(reading: Telemetry) -> Iterator[tuple[str, float]]:
    if reading.HasField("module_power_w"):
        yield "module", reading.module_power_w
    for name, rail in sorted(reading.rails.items()):
        # NC: a channel of the sensor that is not connected.
        if rail.HasField("now_mw") and not name.startswith("NC"):
            yield name, rail.now_mw / 1e3


def _clocks(reading: Telemetry) -> Iterator[tuple[str, float]]:
    if reading.gpu_clock_hz:
        yield "GPU, fastest GPC", max(reading.gpu_clock_hz) / 1e6
    if reading.HasField("emc_clock_hz"):
        yield "memory controller", reading.emc_clock_hz / 1e6
    online = [cpu.clock_hz for cpu in reading.cpus if cpu.online and cpu.HasField("clock_hz")]
    if online:
        yield "CPU, fastest core", max(online) / 1e6


def _memory(reading: Telemetry) -> Iterator[tuple[str, float]]:
    if reading.HasField("memory_used_bytes"):
        yield "board, used", reading.memory_used_bytes / GIB
    if reading.HasField("gpu_memory_used_bytes"):
        yield "GPU, used", reading.gpu_memory_used_bytes / GIB
    if reading.HasField("worker_rss_bytes"):
        yield "worker, resident", reading.worker_rss_bytes / GIB


_PANELS: tuple[tuple[str, _Values], ...] = (
    ("Power, W", lambda reading: dict(_power(reading))),
    ("Temperature, °C", lambda reading: dict(sorted(reading.temperatures_c.items()))),
    ("Clock, MHz", lambda reading: dict(_clocks(reading))),
    ("Memory, GiB", lambda reading: dict(_memory(reading))),
)
