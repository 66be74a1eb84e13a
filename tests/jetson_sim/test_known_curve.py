"""Energy through the whole chain: a process plays a known power curve on a simulated board, the hub reads it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from orinbench_profiles.loader import load_hardware
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.telemetry.run import RunTelemetry
from orinbenchd.telemetry.setup import make_hub

from tests.jetson_sim import player, rig
from tests.jetson_sim.builder import build

WINDOW_S = 0.25


@pytest.mark.parametrize("name", ["agx-orin-32gb", "orin-nx-16gb"])
def test_energy_of_a_run_with_a_known_curve_is_right_within_one_percent(tmp_path: Path, name: str) -> None:
    """Windows back to back over several seconds: their sum is the energy that was played to 1 %, at full coverage."""
    board = build(tmp_path / "root", name)
    curve = player.Curve(mean_w=24.0, amplitude_w=10.0, period_s=4.0, t0_s=time.monotonic())

    async def run() -> tuple[RunTelemetry, float, float]:
        hub = make_hub(board.root, load_hardware(board.board.profile).declaration, helper_socket=None)
        await hub.start()
        try:
            return await measure(hub)
        finally:
            await hub.close()

    async def measure(hub: TelemetryHub) -> tuple[RunTelemetry, float, float]:
        telemetry, windows, first_ns, last_ns = None, 0, 0, 0
        async for reading in hub.subscribe():
            if not reading.HasField("module_power_w"):
                continue
            if telemetry is None:
                telemetry = RunTelemetry(max_gap_s=hub.max_gap_s, sensor_window_s=hub.sensor_window_s)
                first_ns = last_ns = reading.power_monotonic_ns
            telemetry.add(reading)
            while last_ns + WINDOW_S * 1e9 <= reading.power_monotonic_ns:
                telemetry.add_sample(windows, str(windows), 1, last_ns, int(WINDOW_S * 1e9), 1.0)
                windows, last_ns = windows + 1, last_ns + int(WINDOW_S * 1e9)
            if windows >= 24:
                return telemetry, first_ns / 1e9, last_ns / 1e9
        raise AssertionError("the hub closed")

    with rig.playing(board, curve):
        telemetry, start_s, end_s = asyncio.run(asyncio.wait_for(run(), 60))

    summary = telemetry.summary()
    assert summary.energy_j == pytest.approx(player.played_j(board.root, start_s, end_s), rel=0.01)
    assert summary.coverage == pytest.approx(1.0)
    assert summary.sensor_window_s == 0.43
    assert summary.peak_power_w <= 34.1
