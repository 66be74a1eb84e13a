"""What a telemetry source is, and the thread that reads a slow or hanging one."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from orinbench.v1.telemetry_pb2 import Telemetry

#: A reading older than so many intervals is stale.
STALE_INTERVALS = 3


@dataclass(frozen=True)
class Snapshot:
    """What one source read at one moment: a partly filled message and CLOCK_MONOTONIC in nanoseconds."""

    source: str
    monotonic_ns: int
    reading: Telemetry


class Source(Protocol):
    """Something that reads the board. `read` never blocks: it hands out the latest snapshot."""

    @property
    def name(self) -> str:
        """Name as in `SourceStatus.name`."""
        ...

    @property
    def problem(self) -> str:
        """Why it gives nothing, in words; empty while it works."""
        ...

    @property
    def absent(self) -> bool:
        """True once it is clear that this machine does not have it; `problem` says why."""
        ...

    @property
    def restarts(self) -> int:
        """How often it was restarted after it died."""
        ...

    @property
    def sensor_window_s(self) -> float | None:
        """Time its power sensor averages over, seconds; None if unknown or without power."""
        ...

    async def start(self) -> None:
        """Begin to read."""
        ...

    async def close(self) -> None:
        """Stop, leaving no process and no open file behind."""
        ...

    def read(self) -> Snapshot | None:
        """Return the latest snapshot, or None before the first."""
        ...


class SourceAbsentError(Exception):
    """This machine does not have what the source reads: it is not tried again."""


class LatestSource:
    """What every source of ours keeps: its latest snapshot, and how it fares. See Source for the meaning."""

    name = ""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self.problem = ""
        self.absent = False
        self.restarts = 0
        self.sensor_window_s: float | None = None
        self._latest: Snapshot | None = None

    def read(self) -> Snapshot | None:
        """Return the latest snapshot, or None before the first."""
        return self._latest


class PolledSource(LatestSource, ABC):
    """A source that is read by calling it, in a thread of its own on the grid of `interval_s`.

    The thread is a daemon thread: a read that hangs in the kernel costs its own readings and nothing else.
    All sources of one interval read at the same moments (multiples of the interval on CLOCK_MONOTONIC), so
    that the hub, which ticks a little later, neither skips nor repeats a reading.
    """

    def __init__(self, interval_s: float) -> None:
        super().__init__(interval_s)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def sample(self) -> Telemetry:
        """Read the board once. May block. Raise SourceAbsentError if there is nothing to read here."""

    async def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name=f"telemetry-{self.name}", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Tell the thread to end, and wait a moment for it: one that hangs is left behind."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=0.2)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                started = time.monotonic_ns()
                reading = self.sample()
                self._latest = Snapshot(self.name, (started + time.monotonic_ns()) // 2, reading)
                self.problem = ""
            except SourceAbsentError as error:
                self.problem, self.absent = str(error), True
                return
            except Exception as error:  # noqa: BLE001 - whatever a driver answers, the source goes on
                self.problem = f"{type(error).__name__}: {error}"
            self._stop.wait(until_grid(self.interval_s))


def until_grid(interval_s: float, offset_s: float = 0.0) -> float:
    """Return seconds to the next multiple of `interval_s` (plus `offset_s`) on CLOCK_MONOTONIC."""
    return interval_s - (time.monotonic() - offset_s) % interval_s
