"""Meters of peak memory: started just before the checkpoint is loaded, read after each sample.

Each names the method of its headline number; docs/memory.md says what each method counts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

from orinbench.v1.record_pb2 import MEMORY_METHOD_PROCESS_RSS, MemoryMethod, MemoryReading

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_AVAILABLE = re.compile(rb"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


class Meter(Protocol):
    """What every engine measures with. Both methods are quick; what cannot be read stays absent."""

    @property
    def since(self) -> str:
        """From when the peak of the resident set counts, in words."""

    def start(self) -> None:
        """Forget what was before: the checkpoint is about to be loaded."""

    def read(self) -> MemoryReading:
        """Return the peaks since the start, in bytes."""


class Pool(Protocol):
    """An allocator that knows its own peaks, in bytes: held from the driver, and in use inside."""

    @property
    def peak_reserved_bytes(self) -> int:
        """Most bytes held from the driver at any time."""

    @property
    def peak_allocated_bytes(self) -> int:
        """Most bytes in use at any time."""


class RssMeter:
    """Peak resident set of this process, as the kernel keeps it, and the dip of MemAvailable.

    getrusage is no way: its maximum also holds what the process was before exec.
    """

    def __init__(self) -> None:
        self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        self._meminfo = os.open("/proc/meminfo", os.O_RDONLY | os.O_CLOEXEC)
        self._available_before: int | None = None
        self._dip: int | None = None
        self.since = "process start"

    def start(self) -> None:
        """Forget the peak so far, where the kernel permits; `since` says from when the peak counts."""
        self._available_before = _bytes(_AVAILABLE, self._meminfo)
        self._dip = None
        try:
            Path("/proc/self/clear_refs").write_bytes(b"5")
        except OSError:
            return
        self.since = "before the checkpoint was loaded"

    def read(self) -> MemoryReading:
        """Return peak and dip; absent where the kernel does not tell, the dip also where nothing was started."""
        available = _bytes(_AVAILABLE, self._meminfo)
        if available is not None and self._available_before is not None:
            self._dip = max(self._available_before - available, self._dip or 0)
        return MemoryReading(
            method=MEMORY_METHOD_PROCESS_RSS,
            peak_rss_bytes=_bytes(_PEAK, self._status),
            mem_available_dip_bytes=self._dip,
        )


class PoolMeter:
    """The peaks of the run's own allocator on the device, beside those of the host."""

    def __init__(self, method: MemoryMethod, pool: Pool) -> None:
        self._method = method
        self._pool = pool
        self._host = RssMeter()

    @property
    def since(self) -> str:
        """From when the peak of the resident set counts; the pool counts from its first byte."""
        return self._host.since

    def start(self) -> None:
        """Start the host's meter; the pool must be new."""
        self._host.start()

    def read(self) -> MemoryReading:
        """Return all peaks. A pool that was never asked has measured nothing: its peaks are absent, not 0."""
        reading = self._host.read()
        reading.method = self._method
        if self._pool.peak_reserved_bytes:
            reading.peak_reserved_bytes = self._pool.peak_reserved_bytes
            reading.peak_allocated_bytes = self._pool.peak_allocated_bytes
        return reading


def _bytes(line: re.Pattern[bytes], file: int) -> int | None:
    found = line.search(os.pread(file, 8192, 0))
    return int(found[1]) * 1024 if found else None
