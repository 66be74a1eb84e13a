"""Meters for peak memory. Each says which method its headline number was taken with."""

from __future__ import annotations

import os
import re
from pathlib import Path

from orinbench.v1.record_pb2 import MEMORY_METHOD_PROCESS_RSS, MemoryReading

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


class RssMeter:
    """Peak resident set of this process, as the kernel keeps it: where there is no GPU.

    getrusage is no way: its maximum also holds what the process was before exec.
    """

    def __init__(self) -> None:
        self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        self.since = "process start"

    def start(self) -> None:
        """Forget the peak so far, where the kernel permits; `since` says from when the peak counts."""
        try:
            Path("/proc/self/clear_refs").write_bytes(b"5")
        except OSError:
            return
        self.since = "before the checkpoint was loaded"

    def read(self) -> MemoryReading:
        """Return the peak; absent where the kernel does not tell."""
        found = _PEAK.search(os.pread(self._status, 8192, 0))
        peak = int(found[1]) * 1024 if found else None
        return MemoryReading(method=MEMORY_METHOD_PROCESS_RSS, peak_rss_bytes=peak)
