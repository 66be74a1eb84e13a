"""The worker that a killed daemon left behind: no new one is started beside it.

A worker ends by itself when its daemon is gone, but one that is stopped or stuck in the kernel does not. So the
running worker is noted in a file of the data directory, and the next daemon ends it before it does anything else. A
daemon may die between the start of a worker and its note: whatever runs as a worker in a scratch folder goes too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from orinbenchd.processes import read_stat

log = structlog.get_logger("worker")
_NOTE = "worker.json"
_PROGRAM = "orinbench_engines.worker"
_LOOK_S = 0.05


def note(data_dir: Path, pids: Sequence[int]) -> None:
    """Remember the processes of the running worker."""
    text = json.dumps({"pids": {pid: _began(pid) for pid in pids}, "boot_id": _boot_id()})
    (data_dir / _NOTE).write_text(text)


def forget(data_dir: Path) -> None:
    """The worker has ended."""
    (data_dir / _NOTE).unlink(missing_ok=True)


async def end(data_dir: Path, reap_s: float) -> str:
    """End the worker of an earlier daemon; return why the board is wedged if it is still there after `reap_s`."""
    left = {pid: began for pid, began in _noted(data_dir).items() if began and _began(pid) == began}
    left |= {pid: began for pid in _at_work(data_dir) if (began := _began(pid))}
    for pid in left:
        log.warning("ending the worker of an earlier daemon", pid=pid)
        # The first is the leader of its group; what is first in a sandbox takes all others there along.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL) if os.getpgid(pid) == pid else os.kill(pid, signal.SIGKILL)
    deadline = asyncio.get_running_loop().time() + reap_s
    while left := {pid: began for pid, began in left.items() if _began(pid) == began}:
        if asyncio.get_running_loop().time() > deadline:
            return f"the worker {max(left)} of an earlier daemon does not end on SIGKILL: it hangs in the kernel"
        await asyncio.sleep(_LOOK_S)
    forget(data_dir)
    return ""


def _noted(data_dir: Path) -> dict[int, str]:
    """Return what was noted in this boot: when each process began, by its id."""
    try:
        noted = json.loads((data_dir / _NOTE).read_text())
        pids = {int(pid): str(began) for pid, began in noted["pids"].items()}
        return pids if noted["boot_id"] == _boot_id() else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _at_work(data_dir: Path) -> Iterator[int]:
    """Yield the workers of this data directory: by what they were started with, a sandbox's monitor among them."""
    scratch = f"{data_dir}/worker-"
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = os.fsdecode((process / "cmdline").read_bytes())
            place = str((process / "cwd").readlink())
            if _PROGRAM in words and (scratch in words or place.startswith(scratch)):
                yield int(process.name)


def _began(pid: int) -> str:
    """Return when a process began, in clock ticks since boot; empty if there is none, or only its exit code is left."""
    stat = read_stat("/proc", pid)
    return "" if stat is None or stat.state in "ZX" else str(stat.began)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
