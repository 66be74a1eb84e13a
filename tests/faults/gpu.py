"""A discrete GPU for a daemon on a machine without one: a library of NVML's names that does as a folder's files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orinbench_profiles

_LIBRARY = """
import json, pathlib, types

class NVMLError(Exception): pass
class NVMLError_GpuIsLost(NVMLError): pass
NVML_CLOCK_SM = 1
_STATE = pathlib.Path(__file__).with_name("gpu.json")

def _state():
    state = json.loads(_STATE.read_text())
    if state.get("lost"):
        raise NVMLError_GpuIsLost("GPU is lost")
    return state

def nvmlInit(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return _state() and index
def nvmlDeviceGetName(handle): return "Played GPU"
def nvmlDeviceGetComputeRunningProcesses(handle):
    state = _state()
    if state.get("broken"):
        raise RuntimeError("the driver answers nonsense")
    return [types.SimpleNamespace(pid=pid, usedGpuMemory=1 << 20) for pid in state["pids"]]
def nvmlDeviceGetGraphicsRunningProcesses(handle): return []
def nvmlDeviceGetTemperature(handle, sensor): return _state() and 50
def nvmlDeviceGetPowerUsage(handle): return _state() and 100_000
def nvmlDeviceGetMemoryInfo(handle): return types.SimpleNamespace(total=1 << 30, used=1 << 20)
def nvmlDeviceGetClockInfo(handle, clock): return 1000
def nvmlDeviceGetMaxClockInfo(handle, clock): return 2000
def nvmlDeviceGetUtilizationRates(handle): return types.SimpleNamespace(gpu=50)
"""


class PlayedGpu:
    """`profile` and `environment` are for the daemon; `becomes` says what NVML answers from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "nvml"
        self._folder.mkdir()
        (self._folder / "pynvml.py").write_text(_LIBRARY)
        real = Path(orinbench_profiles.__file__).parent / "hardware" / "cuda-dev.toml"
        text = real.read_text().replace('device = "cuda"', 'device = "cpu"')
        text = text.replace("competitor_poll_s = 2.0", "competitor_poll_s = 0.2")
        self.profile = str(self._folder / "played.toml")
        Path(self.profile).write_text(text)
        self.environment = {"PYTHONPATH": str(self._folder)}
        self.becomes()

    def becomes(self, **state: Any) -> None:
        """`pids`: who is on it; `lost`: it has fallen off the bus; `broken`: the library fails as none should."""
        new = self._folder / "new"
        new.write_text(json.dumps({"pids": [], **state}))
        new.replace(self._folder / "gpu.json")
