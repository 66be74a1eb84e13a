"""The worker that a killed daemon left behind: no new one is started beside it.

A worker ends by itself when its daemon is gone, but one that is stopped or stuck in the kernel does not. So the
running worker is noted in a file of the data directory, and the next daemon ends it before it does anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

import structlog

log = structlog.get_logger("worker")
_NOTE = "worker.json"
_LOOK_S = 0.05


def note(data_dir: Path, pid: int) -> None:
    """Remember the running worker."""
    text = json.dumps({"pid": pid, "began": _began(pid), "boot_id": _boot_id()})
    (data_dir / _NOTE).write_text(text)


def forget(data_dir: Path) -> None:
    """The worker has ended."""
    (data_dir / _NOTE).unlink(missing_ok=True)


async def end(data_dir: Path, reap_s: float) -> str:
    """End the worker of an earlier daemon; return why the board is wedged if it is still there after `reap_s`."""
    try:
        noted = json.loads((data_dir / _NOTE).read_text())
        pid, began, boot_id = int(noted["pid"]), str(noted["began"]), str(noted["boot_id"])
    except (OSError, ValueError, KeyError, TypeError):
        forget(data_dir)
        return ""
    if boot_id == _boot_id() and began and _began(pid) == began:
        log.warning("ending the worker of an earlier daemon", pid=pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if not await _gone(pid, began, reap_s):
            return f"the worker {pid} of an earlier daemon does not end on SIGKILL: it hangs in the kernel"
    forget(data_dir)
    return ""


async def _gone(pid: int, began: str, reap_s: float) -> bool:
    deadline = asyncio.get_running_loop().time() + reap_s
    while _began(pid) == began:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(_LOOK_S)
    return True


def _began(pid: int) -> str:
    """Return when a process began, in clock ticks since boot; empty if there is none, or only its exit code is left."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
