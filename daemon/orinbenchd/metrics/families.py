"""The metrics by name. Base units; what is not known is no series, never a 0; no label that clients choose."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Iterator

from orinbench.v1 import record_pb2 as pb
from orinbench.v1.telemetry_pb2 import SOURCE_STATE_OK, Telemetry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from orinbenchd.metrics.snapshot import RunNow, Snapshot

#: States in which a run may have the board.
ACTIVE = tuple(
    pb.RunState.Name(state).removeprefix("RUN_STATE_").lower()
    for state in (
        pb.RUN_STATE_PREPARING,
        pb.RUN_STATE_RUNNING,
        pb.RUN_STATE_PAUSED,
        pb.RUN_STATE_FINISHING,
        pb.RUN_STATE_CANCELLING,
    )
)
ENDED = ("succeeded", "failed", "cancelled")
_READINGS = (
    ("module_power_w", "power_watts", "Power of the rails that the hardware profile adds up.", 1.0),
    ("memory_total_bytes", "memory_size_bytes", "Memory of the board.", 1.0),
    ("memory_used_bytes", "memory_used_bytes", "Memory in use.", 1.0),
    ("memory_available_bytes", "memory_available_bytes", "Memory that could be had without swapping.", 1.0),
    ("swap_used_bytes", "swap_used_bytes", "Swap in use.", 1.0),
    ("gpu_memory_used_bytes", "gpu_memory_used_bytes", "Memory of a discrete GPU in use.", 1.0),
    ("gpu_min_clock_hz", "gpu_clock_min_hertz", "Lowest clock the governor may give the GPU.", 1.0),
    ("gpu_max_clock_hz", "gpu_clock_max_hertz", "Highest clock the governor may give the GPU.", 1.0),
    ("emc_clock_hz", "emc_clock_hertz", "Clock of the memory controller.", 1.0),
    ("cpu_load_pct", "cpu_load_ratio", "Load of all online CPUs together.", 0.01),
    ("gpu_load_pct", "gpu_load_ratio", "Load of the GPU at its present clock.", 0.01),
    ("emc_load_pct", "emc_load_ratio", "Load of the memory controller.", 0.01),
    ("fan_pct", "fan_duty_ratio", "Duty of the fan.", 0.01),
    ("worker_rss_bytes", "worker_resident_memory_bytes", "Resident memory of the active run's worker.", 1.0),
)


class Families(Collector):
    """Makes the metrics of the latest snapshot. `facts` are the labels of the board, `daemon` those of the build."""

    def __init__(self, latest: Callable[[], Snapshot], facts: dict[str, str], daemon: dict[str, str]) -> None:
        self._latest = latest
        self._facts = facts
        self._daemon = {**daemon, "python": platform.python_version()}

    def collect(self) -> Iterator[Metric]:
        """Yield the families that have a series."""
        snapshot = self._latest()
        yield InfoMetricFamily("orinbench_build", "The daemon's version.", self._daemon)
        families = [*self._board(snapshot), *_queue(snapshot), *_daemon(snapshot)]
        families += _run(snapshot.run) if snapshot.run is not None else []
        yield from (family for family in families if family.samples)

    def _board(self, snapshot: Snapshot) -> Iterator[Metric]:
        reading = snapshot.reading or Telemetry()
        mode = {"power_mode": reading.power_mode} if reading.HasField("power_mode") else {}
        yield InfoMetricFamily("orinbench_board", "The board and what it is measured under.", {**self._facts, **mode})
        yield _gauge("board_wedged", "1 when the board takes no runs until an operator acts.", snapshot.wedged)
        for field, name, text, scale in _READINGS:
            value = getattr(reading, field) * scale if reading.HasField(field) else None
            yield _gauge(f"board_{name}", text, value)
        yield from _by_name(reading)
        yield from _sources(reading)


def _by_name(reading: Telemetry) -> Iterator[Metric]:
    rails = {name: rail.now_mw / 1000 for name, rail in reading.rails.items() if rail.HasField("now_mw")}
    yield _gauges("board_rail_power_watts", "Power of a rail.", "rail", rails.items())
    temperatures = reading.temperatures_c.items()
    yield _gauges("board_temperature_celsius", "Temperature by sensor.", "sensor", temperatures)
    clocks = ((str(number), hertz) for number, hertz in enumerate(reading.gpu_clock_hz))
    yield _gauges("board_gpu_clock_hertz", "Clock of a graphics cluster.", "gpc", clocks)
    online = [(str(number), cpu) for number, cpu in enumerate(reading.cpus) if cpu.online]
    of_cpus = ((name, cpu.clock_hz) for name, cpu in online if cpu.HasField("clock_hz"))
    yield _gauges("board_cpu_clock_hertz", "Clock of an online CPU.", "cpu", of_cpus)
    throttled = CounterMetricFamily(
        "orinbench_board_throttle_events", "Over-current and throttle events since boot.", labels=["counter"]
    )
    for name, count in reading.throttle_events.items():
        throttled.add_metric([name], count)
    yield throttled


def _sources(reading: Telemetry) -> Iterator[Metric]:
    fresh = ((source.name, float(source.state == SOURCE_STATE_OK)) for source in reading.sources)
    yield _gauges("telemetry_source_up", "1 when readings of a source are fresh.", "source", fresh)
    ages = ((source.name, source.age_s) for source in reading.sources if source.HasField("age_s"))
    yield _gauges("telemetry_source_age_seconds", "Age of a source's last reading.", "source", ages)
    restarts = CounterMetricFamily("orinbench_telemetry_source_restarts", "Restarts of a source.", labels=["source"])
    for source in reading.sources:
        restarts.add_metric([source.name], source.restarts)
    yield restarts


def _queue(snapshot: Snapshot) -> Iterator[Metric]:
    yield _gauge("queue_length", "Runs that wait for the board.", snapshot.queue_length)
    text = "Seconds until a run submitted now would begin."
    yield _gauge("queue_expected_wait_seconds", text, snapshot.expected_wait_s)
    ended = CounterMetricFamily("orinbench_runs_ended", "Runs that ended since the daemon's start.", labels=["state"])
    for state in ENDED:
        ended.add_metric([state], snapshot.ended.get(state, 0))
    yield ended


def _run(run: RunNow) -> Iterator[Metric]:
    states = ((state, float(state == run.state)) for state in ACTIVE)
    yield _gauges("run_state", "1 for the state of the active run.", "state", states)
    for name, text, value in (
        ("planned_samples", "Samples of the active run.", run.planned),
        ("accepted_samples", "Samples of the active run with a durable result.", run.accepted),
        ("segments", "Segments of the active run; more than one is an interrupted run.", run.segments),
        ("violations", "Violations of the active run.", run.violations),
        ("real_time_factor_ratio", "Timed windows / audio of the active run so far.", run.rtf),
        ("peak_reserved_bytes", "Peak that the run's allocator held from the device.", run.reserved_bytes),
        ("peak_resident_memory_bytes", "Peak of the worker's resident memory.", run.rss_bytes),
    ):
        yield _gauge(f"run_{name}", text, value)


def _daemon(snapshot: Snapshot) -> Iterator[Metric]:
    yield _gauge("daemon_watchers", "Open streams of runs and readings.", snapshot.watchers)
    yield _gauge("daemon_disk_free_bytes", "Free room where journal and artifacts lie.", snapshot.disk_free_bytes)
    text = "Calls that failed by a fault of the daemon; its log has each."
    yield CounterMetricFamily("orinbench_daemon_incidents", text, value=snapshot.incidents)
    text = "Records of runs made durable."
    yield CounterMetricFamily("orinbench_journal_records", text, value=snapshot.records)
    commits = HistogramMetricFamily(
        "orinbench_journal_commit_duration_seconds", "How long a commit of the journal takes."
    )
    buckets = [("+Inf" if math.isinf(bound) else str(bound), count) for bound, count in snapshot.commits.buckets]
    commits.add_metric([], buckets, snapshot.commits.total_s)
    yield commits


def _gauge(name: str, text: str, value: float | None) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"orinbench_{name}", text)
    if value is not None:
        family.add_metric([], float(value))
    return family


def _gauges(name: str, text: str, label: str, values: Iterable[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"orinbench_{name}", text, labels=[label])
    for key, value in values:
        family.add_metric([key], value)
    return family
