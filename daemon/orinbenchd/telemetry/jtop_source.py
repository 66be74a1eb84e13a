"""jtop (jetson-stats, AGPL-3.0) as an optional source: in its own process, under its own interpreter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from orinbench.v1.telemetry_pb2 import Telemetry

from orinbenchd.telemetry.jtop_child import NOT_INSTALLED
from orinbenchd.telemetry.source import SourceAbsentError
from orinbenchd.telemetry.stream import EndedError, LineSource, child_lines

_CHILD = Path(__file__).with_name("jtop_child.py")
_KIB = 1024
_KHZ = 1000
_OFFLINE_C = -256


class JtopSource(LineSource):
    """`python` is an interpreter that has jetson-stats."""

    name = "jtop"

    def __init__(self, python: Path, interval_s: float) -> None:
        super().__init__(interval_s)
        self._python = python

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the child's lines."""
        try:
            child = await asyncio.create_subprocess_exec(
                str(self._python),
                str(_CHILD),
                str(self.interval_s),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise SourceAbsentError(f"{self._python} cannot be started: {error.strerror}") from None
        async for line in child_lines(child):
            yield line
        if child.returncode == NOT_INSTALLED:
            raise SourceAbsentError(f"{self._python} has no jetson-stats")

    def parse(self, line: bytes) -> Telemetry:
        """Read one line of the child."""
        try:
            value = json.loads(line)
            if "error" in value:
                raise EndedError(value["error"])
            return to_telemetry(value)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise EndedError(f"jtop gave what we do not understand: {error}") from None


def to_telemetry(value: dict[str, Any]) -> Telemetry:
    """Convert jtop's units (kB, kHz, mW) to ours; what jtop lacks stays absent."""
    reading = Telemetry()
    for key, total, used in (
        ("ram", "memory_total_bytes", "memory_used_bytes"),
        ("swap", "swap_total_bytes", "swap_used_bytes"),
    ):
        memory = value[key]
        if memory.get("tot") and "used" in memory:
            setattr(reading, total, int(memory["tot"]) * _KIB)
            setattr(reading, used, int(memory["used"]) * _KIB)
    # jtop shows 0 % of the memory controller on AGX Orin whatever happens, so its load is not taken.
    if value["emc"].get("cur"):
        reading.emc_clock_hz = int(value["emc"]["cur"]) * _KHZ
    for name, rail in value["rails"].items():
        reading.rails[name].now_mw = rail["power"]
        if "avg" in rail:
            reading.rails[name].average_mw = rail["avg"]
    for name, sensor in value["temperatures"].items():
        if sensor.get("online", True) and sensor["temp"] > _OFFLINE_C:
            reading.temperatures_c[name] = sensor["temp"]
    _add_gpu(reading, value)
    if value.get("power_mode"):
        reading.power_mode = value["power_mode"]
    return reading


def _add_gpu(reading: Telemetry, value: dict[str, Any]) -> None:
    if value.get("gpu_load") is not None:
        reading.gpu_load_pct = float(value["gpu_load"])
    freq = value["gpu_freq"]
    reading.gpu_clock_hz.extend(int(khz) * _KHZ for khz in freq.get("GPC") or [freq[n] for n in ("cur",) if n in freq])
    if "min" in freq and "max" in freq:
        reading.gpu_min_clock_hz, reading.gpu_max_clock_hz = int(freq["min"]) * _KHZ, int(freq["max"]) * _KHZ
