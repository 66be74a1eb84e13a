"""The sources of a Jetson, on simulated boards with real files and real processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from orinbench.v1.telemetry_pb2 import SourceState, SourceStatus, Telemetry
from orinbench_profiles.loader import load_hardware
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.telemetry.setup import make_hub
from orinbenchd.telemetry.stream import LineSource

from tests.jetson_sim import events, helper
from tests.jetson_sim.builder import SimulatedBoard, build

TICK_S = 0.1


@asynccontextmanager
async def hub_on(
    board: SimulatedBoard, *, socket: Path | None = None, jtop_python: Path | None = None
) -> AsyncIterator[TelemetryHub]:
    profile = load_hardware(board.board.profile).declaration
    hub = make_hub(board.root, profile, helper_socket=socket, interval_s=TICK_S, jtop_python=jtop_python)
    await hub.start()
    try:
        yield hub
    finally:
        await hub.close()


async def when(hub: TelemetryHub, holds: Callable[[Telemetry], bool]) -> Telemetry:
    """Return the first reading that fits."""
    async for reading in hub.subscribe():
        if holds(reading):
            return reading
    raise AssertionError("the hub closed")


def test_the_sensors_window_is_known_before_the_first_reading(tmp_path: Path) -> None:
    """A run that an earlier daemon left is taken up before telemetry begins, and counts with the kernel's figure."""
    board = build(tmp_path / "root", "agx-orin-32gb")
    hub = make_hub(board.root, load_hardware(board.board.profile).declaration, helper_socket=None)

    assert hub.sensor_window_s == 0.43


def source(reading: Telemetry, name: str) -> SourceStatus:
    return next(status for status in reading.sources if status.name == name)


def fresh(name: str) -> Callable[[Telemetry], bool]:
    return lambda reading: source(reading, name).state == SourceState.SOURCE_STATE_OK


def read_once(board: SimulatedBoard, socket: Path | None = None) -> Telemetry:
    """Return a reading in which sysfs and tegrastats are both fresh."""

    async def run() -> Telemetry:
        async with hub_on(board, socket=socket) as hub:
            return await asyncio.wait_for(when(hub, lambda r: fresh("sysfs")(r) and fresh("tegrastats")(r)), 20)

    return asyncio.run(run())


def test_an_agx_orin_is_read_from_its_files(tmp_path: Path) -> None:
    """Rails, module power without the rail that would count twice, temperatures, clocks, mode, counters."""
    reading = read_once(build(tmp_path / "root", "agx-orin-32gb"))

    assert reading.module_power_w == pytest.approx(4.0 + 1.2 + 4.4)
    assert {name: rail.now_mw for name, rail in reading.rails.items()} == {
        "VDD_GPU_SOC": 4000,
        "VDD_CPU_CV": 1200,
        "VIN_SYS_5V0": 4400,
        "VDDQ_VDD2_1V8AO": 400,
        "NC": 0,
        "NC#2": 0,
    }
    assert reading.temperatures_c["tj-thermal"] == 48.5
    assert "cv0-thermal" not in reading.temperatures_c
    assert (reading.gpu_min_clock_hz, reading.gpu_max_clock_hz) == (306_000_000, 1_300_500_000)
    assert reading.power_mode == "MAXN"
    assert dict(reading.throttle_events) == {"oc1": 0, "oc2": 0, "oc3": 0}
    assert len(reading.cpus) == 8
    assert reading.emc_clock_hz == 2_133_000_000


def test_without_swap_there_is_none_rather_than_zero(tmp_path: Path) -> None:
    """A board without swap has neither swap quantity; one with swap has both."""
    without = read_once(build(tmp_path / "a", "orin-nx-16gb", options={"swap": False}))
    with_swap = read_once(build(tmp_path / "b", "orin-nx-16gb"))

    assert not without.HasField("swap_total_bytes")
    assert not without.HasField("swap_used_bytes")
    assert with_swap.swap_used_bytes == 0
    assert with_swap.swap_total_bytes > 0


def test_a_rail_that_cannot_be_read_costs_the_module_power(tmp_path: Path) -> None:
    """One unreadable rail: it is left out, the sum is absent, and the reason names it."""
    board = build(tmp_path / "root", "agx-orin-32gb")
    board.path("/usr/bin/tegrastats").unlink()
    broken = next(board.path("/sys/bus/i2c/drivers/ina3221/1-0040/hwmon").glob("hwmon*/curr2_input"))
    broken.write_text("not a number")

    async def run() -> Telemetry:
        async with hub_on(board) as hub:
            return await asyncio.wait_for(when(hub, fresh("sysfs")), 20)

    reading = asyncio.run(run())

    assert "VDD_CPU_CV" not in reading.rails
    assert not reading.HasField("module_power_w")
    assert reading.absent_reasons["module_power_w"] == "unreadable: VDD_CPU_CV"
    assert source(reading, "tegrastats").state == SourceState.SOURCE_STATE_ABSENT


def test_a_renamed_rail_is_kept_by_its_name(tmp_path: Path) -> None:
    """A rail nobody knows appears under the name the board gives it; the sum without it is absent."""
    board = build(tmp_path / "root", "orin-nx-16gb")
    label = next(board.path("/sys/bus/i2c/drivers/ina3221/1-0040/hwmon").glob("hwmon*/in1_label"))
    label.write_text("VDD_NEW\n")

    reading = read_once(board)

    assert reading.rails["VDD_NEW"].now_mw == 5200
    assert not reading.HasField("module_power_w")


@pytest.mark.parametrize("style", ["r36", "r35"])
def test_a_tegrastats_without_root_publishes_no_zero(tmp_path: Path, style: str) -> None:
    """Placeholders and missing fields of a reader without root leave the quantity absent."""
    board = build(tmp_path / "root", "agx-orin-32gb", options={"tegrastats_root": False, "tegrastats_style": style})

    reading = read_once(board)

    assert not reading.HasField("emc_load_pct")
    assert not reading.HasField("emc_clock_hz")


def test_vendor_words_and_lines_are_kept_and_disturb_nothing(tmp_path: Path) -> None:
    """What a vendor's image prints beside the readings is kept under `other`; a line it prints first is no fault."""
    options = {"tegrastats_extra": "VENDOR_X 12 board:v2", "tegrastats_banner": "vendor monitoring v1"}
    board = build(tmp_path / "root", "agx-orin-32gb", options=options)

    async def run() -> Telemetry:
        async with hub_on(board) as hub:
            return await when(hub, lambda r: r.other.get("unknown") == "VENDOR_X 12 board:v2")

    reading = asyncio.run(asyncio.wait_for(run(), 20))

    assert reading.module_power_w > 0
    assert reading.emc_load_pct == 3
    assert source(reading, "tegrastats").restarts == 0


@pytest.mark.parametrize("through_helper", [True, False])
def test_a_killed_tegrastats_is_started_again_and_the_gap_is_marked(tmp_path: Path, through_helper: bool) -> None:
    """Killed in mid-run: the status counts the restart and the gap, readings come again, nobody called --stop."""
    board = build(tmp_path / "root", "agx-orin-32gb")

    async def run(socket: Path | None) -> Telemetry:
        async with hub_on(board, socket=socket) as hub:
            await when(hub, fresh("tegrastats"))
            events.kill_tegrastats(board)
            return await when(hub, lambda r: source(r, "tegrastats").restarts > 0 and fresh("tegrastats")(r))

    if through_helper:
        with helper.running(board.root) as power:
            reading = asyncio.run(asyncio.wait_for(run(power.socket), 30))
    else:
        reading = asyncio.run(asyncio.wait_for(run(None), 30))

    assert source(reading, "tegrastats").gaps >= 1
    assert source(reading, "sysfs").gaps == 0
    assert not [call for call in board.calls() if "--stop" in call]


def test_a_silent_tegrastats_is_replaced(tmp_path: Path) -> None:
    """One that lives and says nothing goes stale, is killed and started again."""
    board = build(tmp_path / "root", "agx-orin-32gb")

    async def run() -> tuple[Telemetry, Telemetry]:
        async with hub_on(board) as hub:
            await when(hub, fresh("tegrastats"))
            events.freeze_tegrastats(board)
            stale = await when(hub, lambda r: not fresh("tegrastats")(r))
            return stale, await when(hub, fresh("tegrastats"))

    stale, again = asyncio.run(asyncio.wait_for(run(), 30))

    assert source(stale, "tegrastats").state == SourceState.SOURCE_STATE_STALE
    assert source(again, "tegrastats").restarts == 1


def test_a_tegrastats_that_keeps_dying_is_down_with_its_reason(tmp_path: Path) -> None:
    """It is tried again and again, and meanwhile said to be down; the files go on being read."""
    board = build(tmp_path / "root", "agx-orin-32gb", options={"tegrastats_dies_after": 1})

    async def run() -> Telemetry:
        async with hub_on(board) as hub:
            return await when(hub, lambda r: source(r, "tegrastats").state == SourceState.SOURCE_STATE_DOWN)

    reading = asyncio.run(asyncio.wait_for(run(), 30))

    assert source(reading, "tegrastats").reason == "tegrastats ended"
    assert reading.module_power_w > 0


class _Played(LineSource):
    """A source whose lines the test plays."""

    name = "played"

    def __init__(self) -> None:
        super().__init__(0.2)
        self.played: asyncio.Queue[bytes] = asyncio.Queue()

    async def lines(self) -> AsyncIterator[bytes]:
        while True:
            yield await self.played.get()

    def parse(self, line: bytes) -> Telemetry:
        return Telemetry()


@pytest.mark.parametrize("turns", range(6))
def test_a_line_that_meets_the_end_does_not_keep_the_source_open(turns: int) -> None:
    """Closed in any turn of the loop after a line came, a source ends; a daemon that stops waits for it."""

    async def main() -> None:
        source = _Played()
        await source.start()
        for _ in range(5):
            await asyncio.sleep(0)
        source.played.put_nowait(b"a line")
        for _ in range(turns):
            await asyncio.sleep(0)
        closing = asyncio.ensure_future(source.close())
        # Not wait_for: what it cancels, close cancels again.
        done, _ = await asyncio.wait({closing}, timeout=5)
        assert done

    asyncio.run(main())


def test_no_tegrastats_is_left_behind(tmp_path: Path) -> None:
    """Closing the hub ends the child it started."""
    board = build(tmp_path / "root", "agx-orin-32gb")

    read_once(board)

    pids = [path.name for path in board.path("/sim/tegrastats").iterdir()]
    assert pids
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


NO_SERVICE = "def jtop(interval):\n    raise RuntimeError('the service is not active')\n"

FAKE_JTOP = '''
"""Stands in for jetson-stats 7.2: the names and shapes the real one has."""

class jtop:
    def __init__(self, interval=1.0):
        self.interval = interval
        self.left = 1000

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def ok(self, spin=False):
        import time
        time.sleep(self.interval)
        self.left -= 1
        return self.left > 0

    memory = {
        "RAM": {"tot": 1000, "used": 400, "free": 1},
        "SWAP": {"tot": 0, "used": 0},
        "EMC": {"val": 0, "cur": 2133000},
    }
    power = {"rail": {"VDD_IN": {"volt": 5000, "power": 5200, "avg": 5100, "online": True}}, "tot": {"power": 5200}}
    temperature = {"cpu": {"temp": 41.5, "online": True}, "cv0": {"temp": -256, "online": False}}
    gpu = {
        "17000000.gpu": {
            "status": {"load": 12.5},
            "freq": {"cur": 306000, "min": 306000, "max": 918000, "GPC": [305000]},
        }
    }
    nvpmodel = "25W"
'''


def test_jtop_is_read_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its units are converted, an offline sensor and missing swap are left out, and this process never imports it."""
    board = build(tmp_path / "root", "orin-nx-16gb")
    for path in ("/usr/bin/tegrastats", "/sys/class/devfreq", "/sys/bus", "/sys/class/thermal", "/etc/nvpmodel.conf"):
        events.remove(board, path=path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/jtop.py").write_text(FAKE_JTOP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))

    async def run() -> Telemetry:
        async with hub_on(board, jtop_python=Path(sys.executable)) as hub:
            return await asyncio.wait_for(when(hub, fresh("jtop")), 20)

    reading = asyncio.run(run())

    assert (reading.rails["VDD_IN"].now_mw, reading.rails["VDD_IN"].average_mw) == (5200, 5100)
    assert dict(reading.temperatures_c) == {"cpu": 41.5}
    assert list(reading.gpu_clock_hz) == [305_000_000]
    assert reading.gpu_max_clock_hz == 918_000_000
    assert reading.emc_clock_hz == 2_133_000_000
    assert not reading.HasField("emc_load_pct")
    assert reading.power_mode == "25W"
    assert "jtop" not in sys.modules


@pytest.mark.parametrize(
    ("library", "state", "says"),
    [
        (None, SourceState.SOURCE_STATE_ABSENT, "has no jetson-stats"),
        (
            "def jtop(interval):\n    raise RuntimeError('the service is not active')\n",
            SourceState.SOURCE_STATE_DOWN,
            "not active",
        ),
    ],
)
def test_a_jtop_that_is_not_there_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str | None, state: int, says: str
) -> None:
    """Not installed is final; installed without its service is tried again, with the service's own words."""
    board = build(tmp_path / "root", "orin-nx-16gb")
    (tmp_path / "lib").mkdir()
    if library:
        (tmp_path / "lib/jtop.py").write_text(library)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))

    async def run() -> Telemetry:
        async with hub_on(board, jtop_python=Path(sys.executable)) as hub:
            return await asyncio.wait_for(when(hub, lambda r: source(r, "jtop").state == state), 20)

    assert says in source(asyncio.run(run()), "jtop").reason
