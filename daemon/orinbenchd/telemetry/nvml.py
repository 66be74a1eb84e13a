"""NVML: a discrete NVIDIA GPU, for development. The library is only loaded when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from orinbench.v1.board_pb2 import GpuClient
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbenchd.board.rootfs import Absent, Fact
from orinbenchd.telemetry.source import PolledSource, SourceAbsentError

#: The name under which the power of the GPU's board appears among the rails.
RAIL = "GPU_BOARD"

_MHZ = 1_000_000


class GpuLost(Absent):
    """The GPU does not answer any more. Only a restart of the board brings it back."""


def _open() -> Fact[Any]:
    """Return the pynvml module with NVML initialised, or why not. To initialise it again costs nothing."""
    try:
        import pynvml
    except ImportError:
        return Absent("nvidia-ml-py is not installed (it comes with the extra `daemon`)")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Absent(f"NVML does not start: {error}")
    return pynvml


def gpu_names() -> Fact[list[str]]:
    """Return the names of the GPUs NVML knows."""
    lib = _open()
    if isinstance(lib, Absent):
        return lib
    try:
        handles = [lib.nvmlDeviceGetHandleByIndex(index) for index in range(lib.nvmlDeviceGetCount())]
        return [lib.nvmlDeviceGetName(handle) for handle in handles] or Absent("NVML knows no GPU")
    except lib.NVMLError as error:
        return Absent(f"NVML does not name the GPUs: {error}")


def clients() -> Fact[list[GpuClient]]:
    """Return the processes on the first GPU, as far as NVML shows them; GpuLost when it is lost."""
    lib = _open()
    if isinstance(lib, Absent):
        return lib
    try:
        handle = lib.nvmlDeviceGetHandleByIndex(0)
        rows = lib.nvmlDeviceGetComputeRunningProcesses(handle) + lib.nvmlDeviceGetGraphicsRunningProcesses(handle)
    except lib.NVMLError_GpuIsLost as error:
        return GpuLost(f"NVML does not reach the GPU: {error}")
    except lib.NVMLError as error:
        return Absent(f"NVML does not list processes: {error}")
    return [
        GpuClient(pid=row.pid, name=_process_name(row.pid), source="nvml", memory_bytes=row.usedGpuMemory)
        for row in rows
    ]


def _process_name(pid: int) -> str:
    try:
        # The kernel cuts a long name after 15 bytes, in the middle of a character too.
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "?"  # it ended, or lives in another PID namespace


class NvmlSource(PolledSource):
    """Reads the first discrete GPU. A quantity the driver does not give is left out."""

    name = "nvml"

    def __init__(self, interval_s: float) -> None:
        super().__init__(interval_s)
        self._lib: Any = None
        self._handle: Any = None

    def sample(self) -> Telemetry:
        """Read once."""
        if self._lib is None:
            lib = _open()
            if isinstance(lib, Absent):
                raise SourceAbsentError(lib.reason)
            self._lib, self._handle = lib, lib.nvmlDeviceGetHandleByIndex(0)
        lib, handle = self._lib, self._handle
        reading = Telemetry()
        self._put(lambda: reading.temperatures_c.update({"gpu": float(lib.nvmlDeviceGetTemperature(handle, 0))}))
        self._put(lambda: self._power(reading))
        self._put(lambda: self._memory(reading))
        self._put(lambda: self._clocks(reading))
        self._put(lambda: setattr(reading, "gpu_load_pct", lib.nvmlDeviceGetUtilizationRates(handle).gpu))
        return reading

    def _put(self, read: Callable[[], None]) -> None:
        try:
            read()
        except self._lib.NVMLError_GpuIsLost:
            raise  # not this quantity: there is no GPU any more, and an empty reading would pass for a good one
        except self._lib.NVMLError:
            return  # this GPU or driver does not give it: it stays absent

    def _power(self, reading: Telemetry) -> None:
        reading.rails[RAIL].now_mw = self._lib.nvmlDeviceGetPowerUsage(self._handle)

    def _memory(self, reading: Telemetry) -> None:
        memory = self._lib.nvmlDeviceGetMemoryInfo(self._handle)
        reading.gpu_memory_total_bytes, reading.gpu_memory_used_bytes = memory.total, memory.used

    def _clocks(self, reading: Telemetry) -> None:
        lib, handle = self._lib, self._handle
        reading.gpu_clock_hz.append(lib.nvmlDeviceGetClockInfo(handle, lib.NVML_CLOCK_SM) * _MHZ)
        reading.gpu_max_clock_hz = lib.nvmlDeviceGetMaxClockInfo(handle, lib.NVML_CLOCK_SM) * _MHZ
