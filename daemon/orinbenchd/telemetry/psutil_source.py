"""psutil: load, clocks, memory and temperatures of any Linux machine."""

from __future__ import annotations

import psutil
from orinbench.v1.telemetry_pb2 import CpuReading, Telemetry

from orinbenchd.telemetry.source import PolledSource

_MHZ = 1_000_000


class PsutilSource(PolledSource):
    """Reads the machine the daemon runs on (so never a simulated board)."""

    name = "psutil"

    def sample(self) -> Telemetry:
        """Read once. The first reading has no loads: a load needs two."""
        first = self.read() is None
        loads = psutil.cpu_percent(percpu=True)
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        reading = Telemetry(
            memory_total_bytes=memory.total,
            memory_used_bytes=memory.total - memory.available,
            memory_available_bytes=memory.available,
        )
        if swap.total:
            reading.swap_total_bytes = swap.total
            reading.swap_used_bytes = swap.used
        if not first:
            reading.cpu_load_pct = sum(loads) / len(loads)
            reading.cpus.extend(CpuReading(online=True, load_pct=load) for load in loads)
            _add_clocks(reading)
        _add_temperatures(reading)
        return reading


def _add_clocks(reading: Telemetry) -> None:
    clocks = psutil.cpu_freq(percpu=True) or []
    if len(clocks) == len(reading.cpus):
        for cpu, clock in zip(reading.cpus, clocks, strict=True):
            if clock.current:
                cpu.clock_hz = round(clock.current * _MHZ)


def _add_temperatures(reading: Telemetry) -> None:
    for chip, entries in psutil.sensors_temperatures().items():
        for entry in entries:
            name = f"{chip}/{entry.label}" if entry.label else chip
            reading.temperatures_c[name] = entry.current
