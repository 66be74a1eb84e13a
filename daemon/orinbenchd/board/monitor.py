"""Watches a run: what must not change, and who must not come. Pure: states in, violations out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orinbench.v1.board_pb2 import GpuClient
from orinbench.v1.record_pb2 import Violation
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbenchd.board.clocks import Limits
from orinbenchd.board.gpu_clients import describe
from orinbenchd.board.rootfs import Absent, Fact
from orinbenchd.board.violations import violation

#: From this GPU load on a clock counts as seen under load.
LOAD_PCT = 50.0

#: The clock that is reported may lie a step below the one that was set.
_LOCK_TOLERANCE = 0.99


@dataclass(frozen=True)
class Look:
    """What was seen at one moment. `clients` is None when nobody looked this time."""

    mode: Fact[str] | None
    limits: Mapping[str, Limits]
    clients: list[GpuClient] | None = None


@dataclass
class Monitor:
    """Compares each look with the first one. A cause is reported once, however long it lasts."""

    first: Look
    temperature_limit_c: float | None
    #: Where clocks are locked, one that falls below the lock under load is as bad as a changed limit.
    clocks_locked: bool = False
    _throttle: dict[str, int] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    def look(self, now: Look) -> list[Violation]:
        """Take a look at modes, limits and clients."""
        found = self._mode(now.mode)
        found += [
            self._changed_limits(name, before, now.limits.get(name)) for name, before in self.first.limits.items()
        ]
        found += [self._competitor(client) for client in now.clients or []]
        return [made for made in found if made is not None]

    def telemetry(self, reading: Telemetry) -> list[Violation]:
        """Take a reading: throttle counters that rise, sensors over the bound."""
        found = [self._throttled(name, count) for name, count in sorted(reading.throttle_events.items())]
        if self.clocks_locked and "gpu" in self.first.limits:
            found.append(self._below_lock(reading, self.first.limits["gpu"][1]))
        limit = self.temperature_limit_c
        if limit is not None:
            found += [
                self._once(f"hot {name}", "TOO_HOT", f"{name} reads {degrees:.1f} °C; the bound is {limit:g} °C")
                for name, degrees in sorted(reading.temperatures_c.items())
                if degrees > limit
            ]
        return [made for made in found if made is not None]

    def _once(self, key: str, reason: str, message: str) -> Violation | None:
        if key in self._said:
            return None
        self._said.add(key)
        return violation(reason, message)

    def _mode(self, now: Fact[str] | None) -> list[Violation | None]:
        before = self.first.mode
        if now is None or now == before:
            return []
        shown = f"unknown ({now.reason})" if isinstance(now, Absent) else now
        was = "unknown" if before is None or isinstance(before, Absent) else before
        return [self._once(f"mode {shown}", "POWER_MODE_CHANGED", f"the power mode changed from {was} to {shown}")]

    def _changed_limits(self, name: str, before: Limits, now: Limits | None) -> Violation | None:
        if now == before:
            return None
        shown = "not readable" if now is None else _span(now)
        message = f"the clock limits of {name} were {_span(before)} and are {shown}"
        return self._once(f"limits {name} {now}", "CLOCK_LIMITS_CHANGED", message)

    def _below_lock(self, reading: Telemetry, locked_hz: int) -> Violation | None:
        busy = reading.gpu_clock_hz and reading.gpu_load_pct >= LOAD_PCT
        if not busy or min(reading.gpu_clock_hz) >= locked_hz * _LOCK_TOLERANCE:
            return None
        shown = f"{min(reading.gpu_clock_hz) / 1e6:.0f} MHz"
        message = f"the GPU ran at {shown} under load although locked at {locked_hz / 1e6:.0f} MHz"
        return self._once("lock", "CLOCK_LIMITS_CHANGED", message)

    def _competitor(self, client: GpuClient) -> Violation | None:
        return self._once(f"client {client.pid}", "COMPETITOR", f"another process used the GPU: {describe(client)}")

    def _throttled(self, name: str, count: int) -> Violation | None:
        before = self._throttle.setdefault(name, count)
        if count <= before:
            return None
        return self._once(f"throttle {name}", "THROTTLED", f"throttle counter {name} rose from {before} to {count}")


def _span(limits: Limits) -> str:
    return f"{limits[0] / 1e6:.0f} to {limits[1] / 1e6:.0f} MHz"
