"""The hub: steady, never held up by a source or a watcher, and honest about what is not there."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from orinbench.v1.telemetry_pb2 import SourceState, Telemetry
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.telemetry.psutil_source import PsutilSource
from orinbenchd.telemetry.source import PolledSource, Snapshot, Source, SourceAbsentError
from structlog.testing import capture_logs

TICK_S = 0.05

#: How long a source that hangs would hold up whoever waited for it, seconds.
HANG_S = 30


class Fixed(PolledSource):
    """A source that always reads the same."""

    def __init__(self, name: str, reading: Telemetry) -> None:
        super().__init__(TICK_S)
        self.name = name
        self.reading = reading

    def sample(self) -> Telemetry:
        return self.reading


class Stuck(Fixed):
    """A source whose driver hangs after the first reading, until it is let go."""

    def __init__(self, name: str, reading: Telemetry) -> None:
        super().__init__(name, reading)
        self.released = threading.Event()
        self._first = True

    def sample(self) -> Telemetry:
        if not self._first:
            self.released.wait(HANG_S)
        self._first = False
        return self.reading


class Broken(Fixed):
    """A source that fails at each reading."""

    def sample(self) -> Telemetry:
        raise OSError("the sensor answers nonsense")


class Missing(Fixed):
    """A source this machine does not have."""

    def sample(self) -> Telemetry:
        raise SourceAbsentError("no such device")


@asynccontextmanager
async def hub_of(sources: Sequence[Source], rails: Sequence[str] = ()) -> AsyncIterator[TelemetryHub]:
    hub = TelemetryHub(sources, interval_s=TICK_S, module_power_rails=rails)
    await hub.start()
    try:
        yield hub
    finally:
        await hub.close()


async def nth(hub: TelemetryHub, count: int) -> Telemetry:
    """Return the reading after so many ticks."""
    seen = 0
    async for reading in hub.subscribe():
        seen += 1
        if seen == count:
            return reading
    raise AssertionError("the hub closed")


def state(reading: Telemetry, name: str) -> int:
    return next(source.state for source in reading.sources if source.name == name)


def test_the_first_source_wins_and_others_fill_in() -> None:
    """Where two read the same quantity the first named counts, scalars and maps alike; the rest is taken over."""
    first = Telemetry(gpu_load_pct=0.0, temperatures_c={"cpu": 40})
    second = Telemetry(gpu_load_pct=77, emc_load_pct=5, temperatures_c={"CPU": 41, "x": 1})

    async def run() -> Telemetry:
        async with hub_of([Fixed("a", first), Fixed("b", second)]) as hub:
            return await nth(hub, 2)

    reading = asyncio.run(run())

    assert (reading.gpu_load_pct, reading.emc_load_pct) == (0.0, 5)
    assert dict(reading.temperatures_c) == {"cpu": 40}
    assert [source.state for source in reading.sources] == [SourceState.SOURCE_STATE_OK] * 2


def test_a_hanging_source_goes_stale_and_holds_up_nothing() -> None:
    """While one source hangs in its driver, ticks go on, its readings vanish and a gap is counted."""
    stuck, alive = Stuck("stuck", Telemetry(gpu_load_pct=50)), Fixed("alive", Telemetry(emc_load_pct=5))

    async def run() -> tuple[Telemetry, float]:
        async with hub_of([stuck, alive]) as hub:
            started = time.monotonic()
            reading = await nth(hub, 12)
            took = time.monotonic() - started
            stuck.released.set()
            return reading, took

    reading, took = asyncio.run(run())

    assert took < HANG_S / 3
    assert state(reading, "stuck") == SourceState.SOURCE_STATE_STALE
    assert not reading.HasField("gpu_load_pct")
    assert reading.emc_load_pct == 5
    assert reading.sources[0].gaps == 1
    assert 0 < reading.sources[0].coverage < 1


def test_closing_does_not_wait_for_a_hanging_source() -> None:
    """The daemon can stop although a driver never returns."""
    stuck = Stuck("stuck", Telemetry())

    async def run() -> float:
        async with hub_of([stuck]) as hub:
            await nth(hub, 3)
            started = time.monotonic()
        return time.monotonic() - started

    try:
        assert asyncio.run(run()) < 2
    finally:
        stuck.released.set()


def test_a_failing_and_a_missing_source_say_why() -> None:
    """DOWN and ABSENT are told apart, each with its reason, and neither disturbs the others."""
    sources = [Broken("broken", Telemetry()), Missing("missing", Telemetry()), Fixed("ok", Telemetry(fan_pct=0))]

    async def run() -> Telemetry:
        async with hub_of(sources) as hub:
            return await nth(hub, 3)

    broken, missing, ok = asyncio.run(run()).sources

    assert (broken.state, broken.reason) == (SourceState.SOURCE_STATE_DOWN, "OSError: the sensor answers nonsense")
    assert (missing.state, missing.reason) == (SourceState.SOURCE_STATE_ABSENT, "no such device")
    assert (ok.state, ok.reason) == (SourceState.SOURCE_STATE_OK, "")


def test_a_reading_that_cannot_be_made_is_none_and_is_logged_once() -> None:
    """Whatever a source hands out: telemetry says nothing for so long, tells why, and goes on."""
    source = Fixed("a", Telemetry(fan_pct=1))
    good, calls = source.read, []

    def bad() -> Snapshot:
        calls.append(1)
        raise ValueError("nobody thought of this")

    async def run() -> tuple[Telemetry | None, Telemetry]:
        async with hub_of([source]) as hub:
            await nth(hub, 2)
            source.read = bad  # type: ignore[method-assign]
            while len(calls) < 3:
                await asyncio.sleep(TICK_S / 5)
            latest, source.read = hub.latest(), good  # type: ignore[method-assign]
            return latest, await nth(hub, 1)

    with capture_logs() as said:
        latest, later = asyncio.run(asyncio.wait_for(run(), 20))

    assert latest is None
    assert later.fan_pct == 1
    assert [line["event"] for line in said] == ["no reading could be made"]


@pytest.mark.parametrize(("rails", "power"), [(["A", "B"], 3.5), (["A"], 1.5), (["A", "B", "C"], None), ([], None)])
def test_module_power_is_the_sum_of_all_its_rails_or_absent(rails: list[str], power: float | None) -> None:
    """A missing rail makes the sum unknown, never smaller; the moment of the reading goes with it."""
    reading = Telemetry()
    reading.rails["A"].now_mw, reading.rails["B"].now_mw = 1500, 2000

    async def run() -> Telemetry:
        async with hub_of([Fixed("a", reading)], rails) as hub:
            return await nth(hub, 2)

    merged = asyncio.run(run())

    if power is None:
        assert not merged.HasField("module_power_w")
        assert not merged.HasField("power_monotonic_ns")
    else:
        assert merged.module_power_w == power
        assert 0 <= merged.monotonic_ns - merged.power_monotonic_ns < 3 * TICK_S * 1e9


def test_each_reading_is_seen_once_although_hub_and_source_tick_apart() -> None:
    """Over twenty ticks the source's own moments come one by one: none twice, none left out."""
    reading = Telemetry()
    reading.rails["A"].now_mw = 1000
    moments: list[int] = []

    async def run() -> None:
        async with hub_of([Fixed("a", reading)], ["A"]) as hub:
            hub.add_listener(lambda merged: moments.append(merged.power_monotonic_ns))
            await nth(hub, 20)

    asyncio.run(run())

    steps = {round((after - before) / (TICK_S * 1e9)) for before, after in pairwise(moments)}
    assert len(moments) >= 20
    assert 0 not in steps


def test_a_slow_watcher_gets_the_latest_and_no_backlog() -> None:
    """After a pause the next reading is the newest there is; what was missed is not delivered late."""

    async def run() -> tuple[int, Telemetry, Telemetry | None]:
        async with hub_of([Fixed("a", Telemetry())]) as hub:
            stream = hub.subscribe()
            first = await stream.__anext__()
            await nth(hub, 10)
            late, newest = await stream.__anext__(), hub.latest()
            await stream.aclose()  # type: ignore[attr-defined]
            return late.monotonic_ns - first.monotonic_ns, late, newest

    waited_ns, late, newest = asyncio.run(run())

    assert waited_ns > 5 * TICK_S * 1e9
    assert late is newest


def test_a_watcher_is_served_at_its_own_pace() -> None:
    """A watcher that asks for every fourth tick gets no reading sooner than that after the one before."""

    async def run() -> list[int]:
        moments: list[int] = []
        async with hub_of([Fixed("a", Telemetry())]) as hub:
            async for reading in hub.subscribe(4 * TICK_S):
                moments.append(reading.monotonic_ns)
                if len(moments) == 5:
                    break
        return moments

    moments = asyncio.run(run())

    # Half a tick less: it asks again between two ticks, and a tick may come late.
    assert all(after - before >= 3.5 * TICK_S * 1e9 for before, after in pairwise(moments))


def test_many_watchers_share_one_reading() -> None:
    """A hundred watchers all advance, and each gets the very message of a tick, never a copy of its own."""
    published: list[Telemetry] = []

    async def run() -> list[Telemetry]:
        async with hub_of([Fixed("a", Telemetry())]) as hub:
            hub.add_listener(published.append)
            return await asyncio.gather(*(nth(hub, 3) for _ in range(100)))

    readings = asyncio.run(run())

    assert len(readings) == 100
    assert {id(reading) for reading in readings} <= {id(reading) for reading in published}


def test_a_failing_listener_costs_the_others_nothing() -> None:
    """An exception in one listener is logged; the next one is still called, and the ticks go on."""
    seen: list[Telemetry] = []

    def fails(_: Telemetry) -> None:
        raise ValueError("on purpose")

    async def run() -> None:
        async with hub_of([Fixed("a", Telemetry())]) as hub:
            hub.add_listener(fails)
            hub.add_listener(seen.append)
            await nth(hub, 4)
            hub.remove_listener(fails)

    asyncio.run(run())

    assert len(seen) >= 3


def test_subscriptions_end_when_the_hub_closes() -> None:
    """A watcher that waits for the next reading is released."""

    async def run() -> bool:
        async with hub_of([Fixed("a", Telemetry())]) as hub:
            watcher = asyncio.create_task(drain(hub))
            await nth(hub, 2)
        return await asyncio.wait_for(watcher, 5)

    assert asyncio.run(run())


async def drain(hub: TelemetryHub) -> bool:
    async for _ in hub.subscribe():
        pass
    return True


def test_annotations_are_on_every_reading_before_anyone_sees_it() -> None:
    """What only the daemon knows (here the run) is in the message that listeners get."""
    seen: list[str] = []

    async def run() -> None:
        hub = TelemetryHub([Fixed("a", Telemetry())], interval_s=TICK_S, annotate=lambda t: setattr(t, "run", "runs/x"))
        hub.add_listener(lambda reading: seen.append(reading.run))
        await hub.start()
        await nth(hub, 2)
        await hub.close()

    asyncio.run(run())

    assert set(seen) == {"runs/x"}


def test_psutil_reads_this_machine() -> None:
    """Memory, cores and their loads arrive; power, which it cannot read, stays absent."""

    async def run() -> Telemetry:
        async with hub_of([PsutilSource(TICK_S)]) as hub:
            return await nth(hub, 4)

    reading = asyncio.run(run())

    assert 0 < reading.memory_used_bytes < reading.memory_total_bytes
    assert len(reading.cpus) >= 1
    assert all(0 <= cpu.load_pct <= 100 for cpu in reading.cpus)
    assert not reading.HasField("module_power_w")
    assert not reading.HasField("gpu_load_pct")
