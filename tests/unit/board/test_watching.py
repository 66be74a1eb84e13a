"""What the board sees while a run goes on, on simulated Jetsons: violations with cause, words and axes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from orinbench.v1.record_pb2 import Axis, Violation
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbenchd.board.board import Board
from orinbenchd.telemetry.setup import make_hub

from tests.jetson_sim import events, helper
from tests.jetson_sim.builder import SimulatedBoard, build
from tests.unit.board.kit import board_on


async def seen(built: SimulatedBoard, board: Board, *happens: Callable[[], None]) -> list[Violation]:
    """Start a watch, let things happen one after another, each seen before the next; return all violations."""
    hub = make_hub(built.root, board.profile, helper_socket=None, interval_s=0.1)
    await hub.start()
    stream = board.watch(hub.latest, lambda _: None)
    found: list[Violation] = []
    try:
        while hub.latest() is None or not hub.latest().throttle_events:  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        waiting = asyncio.ensure_future(stream.__anext__())
        await asyncio.sleep(0)  # the watch takes its first look before anything happens
        for happen in happens:
            happen()
            found.append(await asyncio.wait_for(waiting, 10))
            waiting = asyncio.ensure_future(stream.__anext__())
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    finally:
        await hub.close()
    return found


PACE = [Axis.AXIS_SPEED, Axis.AXIS_ENERGY]


def test_what_happens_in_a_run_is_a_violation_with_cause_and_axes(tmp_path: Path) -> None:
    """Limit lowered, competitor, throttle, heat: each is told once, with its words, its time, and voids the pace."""
    built = build(tmp_path / "root", "agx-orin-32gb")

    with helper.running(built.root) as power:
        board = board_on(built, power.socket, competitor_poll_s=0.2)
        found = asyncio.run(
            seen(
                built,
                board,
                lambda: events.limit_gpu(built, mhz=600),
                lambda: events.gpu_client(built, name="steam", pid=4711),
                lambda: events.throttle(built, counter="oc1", by=3),
                lambda: events.temperature(built, zone="tj-thermal", degrees_c=95.5),
            )
        )

    assert [made.reason for made in found] == ["CLOCK_LIMITS_CHANGED", "COMPETITOR", "THROTTLED", "TOO_HOT"]
    for made, words in zip(found, ("600 MHz", "steam (pid 4711", "oc1 rose from 0 to 3", "95.5 °C"), strict=True):
        assert words in made.message
        assert list(made.voids) == PACE
        assert made.time.seconds > 1_600_000_000


def test_a_mode_changed_by_hand_is_told_with_both_names(tmp_path: Path) -> None:
    """MAXN to MODE_50W past the daemon: a violation of its own."""
    built = build(tmp_path / "root", "agx-orin-32gb")

    (made,) = asyncio.run(seen(built, board_on(built), lambda: events.set_mode(built, mode="MODE_50W")))

    assert made.reason == "POWER_MODE_CHANGED"
    assert made.message == "the power mode changed from MAXN to MODE_50W"
    assert list(made.voids) == PACE


def test_moving_clocks_are_normal(tmp_path: Path) -> None:
    """The governor moves the clock inside its limits; the first thing told is what comes after."""
    built = build(tmp_path / "root", "agx-orin-32gb")

    def moves_then_throttles() -> None:
        events.move_gpu_clock(built, mhz=306)
        events.gpu_load(built, percent=99)
        events.throttle(built)

    (made,) = asyncio.run(seen(built, board_on(built), moves_then_throttles))

    assert made.reason == "THROTTLED"


def test_a_locked_clock_that_falls_under_load_is_told(tmp_path: Path) -> None:
    """Where the profile locks clocks, a GPU below its lock is a violation under load, and none when idle."""
    built = build(tmp_path / "root", "agx-orin-32gb")

    def falls_under_load() -> None:
        events.move_gpu_clock(built, mhz=918)
        events.gpu_load(built, percent=97)

    (made,) = asyncio.run(seen(built, board_on(built, lock_clocks=True), falls_under_load))

    assert made.reason == "CLOCK_LIMITS_CHANGED"
    assert made.message == "the GPU ran at 918 MHz under load although locked at 1300 MHz"


def test_a_simulated_board_always_says_so(tmp_path: Path) -> None:
    """Whatever the profile: a folder is not a machine, and all axes are void."""
    built = build(tmp_path / "root", "agx-orin-32gb")
    board = board_on(built)

    (made,) = board.start_violations(asyncio.run(board.acquire()))

    assert made.reason == "SIMULATED"
    assert len(made.voids) == 4


def test_telemetry_before_the_first_reading_is_no_violation(tmp_path: Path) -> None:
    """A watch that begins before the hub's first tick has nothing to say and does not fail."""
    built = build(tmp_path / "root", "agx-orin-32gb")

    async def run() -> Violation:
        readings: list[Telemetry | None] = [None]
        stream = board_on(built).watch(lambda: readings[0], lambda _: None)
        waiting = asyncio.ensure_future(stream.__anext__())
        await asyncio.sleep(0)
        readings[0] = Telemetry(temperatures_c={"tj": 200})
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(run()).reason == "TOO_HOT"
