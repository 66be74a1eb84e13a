"""The kernel's own files: memory, GPU clock and load, rails, temperatures, throttle counters of a Jetson."""

from __future__ import annotations

from pathlib import Path

from orinbench.v1.telemetry_pb2 import Telemetry

from orinbenchd.board import clocks, nvpmodel, sensors
from orinbenchd.board.identity import memory_bytes
from orinbenchd.board.rootfs import Absent, Root, known
from orinbenchd.telemetry.source import PolledSource


class SysfsSource(PolledSource):
    """Reads below `root`. Which files there are is found out once, at the first reading."""

    name = "sysfs"

    def __init__(self, root: Root, interval_s: float) -> None:
        super().__init__(interval_s)
        self._root = root
        self._found = False
        self._rails: list[sensors.Rail] = []
        self._zones: list[sensors.Zone] = []
        self._counters: dict[str, Path] = {}
        self._gpu: Path | None = None
        self._gpu_load: Path | None = None
        self._modes = nvpmodel.read_modes(root)
        # Not at the first reading: a run that is taken up at the start is counted with it before that.
        self.sensor_window_s = sensors.sensor_window_s(root)

    def sample(self) -> Telemetry:
        """Read once."""
        if not self._found:
            self._find()
        reading = Telemetry()
        self._read_memory(reading)
        self._read_gpu(reading)
        self._read_rails(reading)
        reading.temperatures_c.update(sensors.temperatures_c(self._root, self._zones))
        reading.throttle_events.update(sensors.throttle_events(self._root, self._counters))
        mode = nvpmodel.current_mode(self._root, self._modes)
        if isinstance(mode, Absent):
            reading.absent_reasons["power_mode"] = mode.reason
        else:
            reading.power_mode = mode.name
        return reading

    def _find(self) -> None:
        self._rails = sensors.find_rails(self._root)
        self._zones = sensors.find_zones(self._root)
        self._counters = sensors.find_throttle_counters(self._root)
        self._gpu = clocks.gpu_devfreq(self._root)
        self._gpu_load = clocks.gpu_load_file(self._root)
        self._found = True

    def _read_memory(self, reading: Telemetry) -> None:
        total, available = memory_bytes(self._root, "MemTotal"), memory_bytes(self._root, "MemAvailable")
        if not isinstance(total, Absent) and not isinstance(available, Absent):
            reading.memory_total_bytes, reading.memory_available_bytes = total, available
            reading.memory_used_bytes = total - available
        swap, free = known(memory_bytes(self._root, "SwapTotal")), known(memory_bytes(self._root, "SwapFree"))
        if swap and free is not None:
            reading.swap_total_bytes, reading.swap_used_bytes = swap, swap - free

    def _read_gpu(self, reading: Telemetry) -> None:
        if self._gpu_load is not None:
            load = self._root.read_number(self._gpu_load)
            if not isinstance(load, Absent):
                reading.gpu_load_pct = load / 10
        if self._gpu is None:
            return
        clock = self._root.read_number(self._gpu / "cur_freq")
        if not isinstance(clock, Absent):
            reading.gpu_clock_hz.append(clock)
        low, high = self._root.read_number(self._gpu / "min_freq"), self._root.read_number(self._gpu / "max_freq")
        if not isinstance(low, Absent) and not isinstance(high, Absent):
            reading.gpu_min_clock_hz, reading.gpu_max_clock_hz = low, high

    def _read_rails(self, reading: Telemetry) -> None:
        missing = []
        for rail in self._rails:
            power = sensors.rail_milliwatt(self._root, rail)
            if power is None:
                missing.append(rail.name)
            else:
                reading.rails[rail.name].now_mw = power
        if missing:
            reading.absent_reasons["module_power_w"] = f"unreadable: {', '.join(missing)}"
        elif not self._rails:
            reading.absent_reasons["rails"] = "no INA3221 with labels under /sys/bus/i2c/drivers/ina3221"
