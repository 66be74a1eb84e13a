"""NVML: honest without a GPU, and only names that the library really has."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pynvml
import pytest
from orinbench.v1.telemetry_pb2 import SourceState, Telemetry
from orinbenchd.board.rootfs import Absent
from orinbenchd.telemetry import nvml
from orinbenchd.telemetry.hub import TelemetryHub

from tests.faults import gpu

HAS_GPU = Path("/dev/nvidia0").exists()


async def first_reading() -> Telemetry:
    hub = TelemetryHub([nvml.NvmlSource(0.1)], interval_s=0.1, module_power_rails=[nvml.RAIL])
    await hub.start()
    try:
        async for reading in hub.subscribe():
            if reading.sources[0].state != SourceState.SOURCE_STATE_STALE:
                return reading
    finally:
        await hub.close()
    raise AssertionError("the hub closed")


@pytest.mark.parametrize("file", [nvml.__file__, gpu.__file__])
def test_every_name_we_use_is_in_the_library(file: str) -> None:
    """Functions, constants and errors of NVML that our code and its played stand-in name exist in nvidia-ml-py."""
    names = set(re.findall(r"\b((?:nvml|NVML)\w+)", Path(file).read_text()))
    used = {name for name in names if name not in ("NVML", "nvml")}

    assert "nvmlDeviceGetPowerUsage" in used
    assert [name for name in sorted(used) if not hasattr(pynvml, name)] == []


@pytest.mark.skipif(HAS_GPU, reason="this machine has an NVIDIA GPU")
def test_without_a_gpu_everything_is_absent_with_a_reason() -> None:
    """No driver: names, clients and the source say why, and no reading is 0."""
    reading = asyncio.run(asyncio.wait_for(first_reading(), 20))

    for fact in (nvml.gpu_names(), nvml.clients()):
        assert isinstance(fact, Absent)
        assert "NVML" in fact.reason
    assert reading.sources[0].state == SourceState.SOURCE_STATE_ABSENT
    assert "NVML" in reading.sources[0].reason
    assert not reading.HasField("module_power_w")
    assert not reading.HasField("gpu_memory_used_bytes")


@pytest.mark.gpu
def test_a_real_gpu_is_read() -> None:
    """Power, memory, clock and temperature of the card, and its name."""
    reading = asyncio.run(asyncio.wait_for(first_reading(), 20))

    assert reading.module_power_w > 0
    assert 0 < reading.gpu_memory_used_bytes <= reading.gpu_memory_total_bytes
    assert reading.gpu_max_clock_hz >= max(reading.gpu_clock_hz) > 0
    assert 0 < reading.temperatures_c["gpu"] < 120
    assert not isinstance(nvml.gpu_names(), Absent)
    assert not isinstance(nvml.clients(), Absent)
