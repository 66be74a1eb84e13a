"""Writes telemetry and energy of one run into its journal while it is active."""

from __future__ import annotations

from orinbench.v1 import record_pb2 as pb
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_profiles import HardwareProfile

from orinbenchd.runs import records
from orinbenchd.runs.live import LiveRun
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.telemetry.run import RunTelemetry

_NS = 1_000_000_000


class Recorder:
    """Listens to the telemetry hub for one run. Energy is recorded only where the profile says how to add it up."""

    def __init__(self, live: LiveRun, hub: TelemetryHub, profile: HardwareProfile) -> None:
        self._live = live
        self._hub = hub
        self._profile = profile
        window_s = hub.sensor_window_s or profile.power_sensor_window_s
        self._telemetry = RunTelemetry(max_gap_s=hub.max_gap_s, sensor_window_s=window_s)
        self._known_energy: set[int] = set()
        # Closed by what an earlier daemon wrote, which then died before it wrote these.
        self._unwritten: dict[int, pb.EnergyRecord] = {}
        # Readings that came while the disk was full.
        self._left_out = 0

    def replay(self, body: pb.RecordBody) -> None:
        """Take a record of an earlier segment, so that sums and peaks go over the whole run."""
        kind = body.WhichOneof("body")
        if kind == "energy":
            self._known_energy.add(body.energy.index)
            self._unwritten.pop(body.energy.index, None)
        elif kind == "telemetry":
            self._keep(self._telemetry.add(body.telemetry.telemetry))
        elif kind == "sample":
            self._keep(self._add_sample(body.sample))
        elif kind == "state" and body.state.state == pb.RUN_STATE_PREPARING and body.state.segment.number > 1:
            self._keep(self._telemetry.begin_segment())

    def open(self) -> None:
        """Begin to record a segment."""
        self._write(list(self._unwritten.values()))
        self._unwritten.clear()
        if len(self._live.run.segments) > 1:
            self._write(self._telemetry.begin_segment())
        self._hub.add_listener(self._on_reading)

    def sample(self, sample: pb.SampleRecord) -> None:
        """Take an accepted sample."""
        self._write(self._add_sample(sample))

    async def settle(self) -> None:
        """Wait for the reading that closes the last window, at most two ticks; then close what is left."""
        if self._profile.module_power_rails:
            for _ in range(2):
                await self._hub.tick()
        self._write(self._telemetry.finish())

    def close(self) -> None:
        """Stop recording; put the summary into the run."""
        self._hub.remove_listener(self._on_reading)
        self._tell_left_out()
        self._live.run.telemetry.CopyFrom(self._telemetry.summary())

    def check_coverage(self) -> None:
        """Record a violation when power was read for too little of the run."""
        if not self._profile.module_power_rails:
            return
        found = self._telemetry.coverage_violation(self._profile.energy_coverage_floor)
        if found is not None:
            self._live.violate(found)

    def _on_reading(self, reading: Telemetry) -> None:
        if self._live.disk_full:
            # Nobody knows for how long: it would fill memory. A gap in the record is one in the energy too.
            self._left_out += 1
            return
        self._tell_left_out()
        record = pb.TelemetryRecord(telemetry=reading)
        self._live.log.append(pb.RECORD_KIND_TELEMETRY, records.telemetry_body(record))
        self._write(self._telemetry.add(reading))

    def _tell_left_out(self) -> None:
        if self._left_out:
            text = f"{self._left_out} readings of the board were left out: the disk was full"
            self._live.say(pb.LOG_LEVEL_WARNING, "daemon", text)
            self._left_out = 0

    def _add_sample(self, sample: pb.SampleRecord) -> list[pb.EnergyRecord]:
        if not self._profile.module_power_rails:
            return []
        audio_s = sample.audio_seconds if sample.HasField("audio_seconds") else None
        return self._telemetry.add_sample(
            sample.index,
            sample.sample_id,
            sample.segment,
            sample.start_monotonic_ns,
            sample.window_ns,
            audio_s,
        )

    def _keep(self, closed: list[pb.EnergyRecord]) -> None:
        self._unwritten.update((energy.index, energy) for energy in closed)

    def _write(self, closed: list[pb.EnergyRecord]) -> None:
        for energy in closed:
            if energy.index not in self._known_energy:
                self._known_energy.add(energy.index)
                self._live.log.append(pb.RECORD_KIND_ENERGY, records.energy_body(energy))
