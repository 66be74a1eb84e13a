"""The hub: merges the sources on a steady tick and hands the latest reading to anyone who asks.

Nothing here waits for a source or for a watcher. A source that hangs goes stale; a slow watcher gets the
latest reading when it comes back, never a backlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import structlog
from orinbench.v1.telemetry_pb2 import SourceState, SourceStatus, Telemetry

from orinbenchd.telemetry.source import STALE_INTERVALS, Snapshot, Source, until_grid

Listener = Callable[[Telemetry], None]

#: Twice a second: the INA3221 of a Jetson averages over 0.43 s, so more would repeat values.
DEFAULT_INTERVAL_S = 0.5

_NS = 1_000_000_000

#: Fields the hub fills itself, not from a source.
_OWN_FIELDS = {
    "time",
    "monotonic_ns",
    "sources",
    "module_power_w",
    "power_monotonic_ns",
    "run",
    "absent_reasons",
}

_log = structlog.get_logger(__name__)


class TelemetryHub:
    """Ticks every `interval_s`; on each tick merges the fresh snapshots, the first source named wins.

    `module_power_rails` are added up to the module power, which is absent unless every one was read.
    `annotate` may fill what only the daemon knows (the run, the worker's memory) before a reading goes out.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        interval_s: float = DEFAULT_INTERVAL_S,
        module_power_rails: Sequence[str] = (),
        annotate: Listener | None = None,
    ) -> None:
        self.interval_s = interval_s
        self._sources = list(sources)
        self._tallies = [_Tally() for _ in self._sources]
        self._rails = list(module_power_rails)
        self._annotate = annotate
        self._listeners: list[Listener] = []
        self._latest: Telemetry | None = None
        self._failing = False
        self._ticked = asyncio.Event()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def sensor_window_s(self) -> float | None:
        """Time over which the power sensor in use averages, seconds; None if unknown."""
        return next((s.sensor_window_s for s in self._sources if s.sensor_window_s is not None), None)

    @property
    def max_gap_s(self) -> float:
        """Two readings further apart than this leave a gap in the energy."""
        return STALE_INTERVALS * self.interval_s

    async def start(self) -> None:
        """Start the sources and the tick."""
        for source in self._sources:
            await source.start()
        self._task = asyncio.create_task(self._run(), name="telemetry-hub")

    def end_streams(self) -> None:
        """End every subscription; readings go on."""
        self._over.set()

    async def close(self) -> None:
        """Stop the tick, end every subscription, stop the sources."""
        self.end_streams()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await asyncio.gather(*(source.close() for source in self._sources))

    def latest(self) -> Telemetry | None:
        """Return the latest reading, None where there is none, as before the first tick. Not to be changed."""
        return self._latest

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every reading, on the event loop; it must not block."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        self._listeners.remove(listener)

    async def subscribe(self, interval_s: float = 0.0) -> AsyncIterator[Telemetry]:
        """Yield the latest reading at most every `interval_s` (0: every tick) until the hub closes."""
        pause = max(interval_s, self.interval_s) - self.interval_s / 2
        while not self._over.is_set():
            if self._latest is not None:
                yield self._latest
                await self._until_over(asyncio.sleep(pause))
            await self._until_over(self._ticked.wait())

    async def tick(self) -> None:
        """Wait for the next reading, but no longer than it may take: the hub may have come to an end."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ticked.wait(), self.max_gap_s)

    async def _until_over(self, waiting: Coroutine[Any, Any, object]) -> None:
        tasks = [asyncio.ensure_future(waiting), asyncio.ensure_future(self._over.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(until_grid(self.interval_s, self.interval_s / 5))
            try:
                self._latest = self._merge()
            except Exception:  # noqa: BLE001 - a fault of ours in one reading must not end all that follow
                if not self._failing:
                    _log.exception("no reading could be made")
                self._failing, self._latest = True, None
                continue
            self._failing = False
            for listener in list(self._listeners):
                self._tell(listener, self._latest)
            self._wake()

    def _tell(self, listener: Listener, reading: Telemetry) -> None:
        try:
            listener(reading)
        except Exception:  # noqa: BLE001 - one listener's fault must not cost the others their reading
            _log.exception("telemetry listener failed", listener=repr(listener))

    def _wake(self) -> None:
        ticked, self._ticked = self._ticked, asyncio.Event()
        ticked.set()

    def _merge(self) -> Telemetry:
        now_ns = time.monotonic_ns()
        merged = Telemetry(monotonic_ns=now_ns)
        merged.time.FromNanoseconds(time.time_ns())
        reasons: dict[str, str] = {}
        for source, tally in zip(self._sources, self._tallies, strict=True):
            snapshot = source.read()
            status = _status(source, snapshot, now_ns, self.max_gap_s)
            tally.count(status)
            merged.sources.append(status)
            if snapshot is not None and status.state == SourceState.SOURCE_STATE_OK:
                had_rails = bool(merged.rails)
                _fill(merged, snapshot.reading)
                reasons.update(snapshot.reading.absent_reasons)
                if merged.rails and not had_rails:
                    self._add_module_power(merged, snapshot.monotonic_ns)
        for name, reason in reasons.items():
            if not _has(merged, name):
                merged.absent_reasons[name] = reason
        if self._annotate is not None:
            self._tell(self._annotate, merged)
        return merged

    def _add_module_power(self, merged: Telemetry, read_ns: int) -> None:
        """Sum the rails, and note the moment they were read, which is what energy is computed from."""
        rails = [merged.rails[name] for name in self._rails if name in merged.rails]
        if rails and len(rails) == len(self._rails) and all(rail.HasField("now_mw") for rail in rails):
            merged.module_power_w = sum(rail.now_mw for rail in rails) / 1000
            merged.power_monotonic_ns = read_ns


class _Tally:
    """How often a source was fresh."""

    def __init__(self) -> None:
        self._ticks = 0
        self._fresh = 0
        self._gaps = 0
        self._was_fresh = False
        self._restarts = 0

    def count(self, status: SourceStatus) -> None:
        """Count one tick and write the sums into the status."""
        fresh = status.state == SourceState.SOURCE_STATE_OK
        self._ticks += 1
        self._fresh += fresh
        # A program that died and came back within a tick has left a gap too.
        self._gaps += self._was_fresh and (not fresh or status.restarts > self._restarts)
        self._was_fresh, self._restarts = fresh, status.restarts
        status.coverage = self._fresh / self._ticks
        status.gaps = self._gaps


def _status(source: Source, snapshot: Snapshot | None, now_ns: int, stale_s: float) -> SourceStatus:
    status = SourceStatus(name=source.name, restarts=source.restarts, reason=source.problem)
    if snapshot is not None:
        status.age_s = (now_ns - snapshot.monotonic_ns) / _NS
    if source.absent:
        status.state = SourceState.SOURCE_STATE_ABSENT
    elif snapshot is not None and status.age_s <= stale_s:
        status.state = SourceState.SOURCE_STATE_OK
    elif source.problem:
        status.state = SourceState.SOURCE_STATE_DOWN
    else:
        status.state = SourceState.SOURCE_STATE_STALE
        status.reason = "no reading yet" if snapshot is None else "no new reading: it hangs"
    return status


def _fill(merged: Telemetry, reading: Telemetry) -> None:
    """Take from `reading` every quantity that `merged` lacks; lists and maps are taken whole."""
    for field, value in reading.ListFields():
        if field.name in _OWN_FIELDS or _has(merged, field.name):
            continue
        if field.has_presence:
            setattr(merged, field.name, value)
        else:
            getattr(merged, field.name).MergeFrom(value)


def _has(message: Telemetry, name: str) -> bool:
    field = Telemetry.DESCRIPTOR.fields_by_name[name]
    return message.HasField(name) if field.has_presence else bool(getattr(message, name))
