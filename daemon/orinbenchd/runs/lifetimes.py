"""Ends of runs by the clock: over their time limit, waiting for too long, or watched by nobody for too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from orinbenchd.runs.live import LiveRun

Cancel = Callable[[LiveRun, str], None]


def limit_time(live: LiveRun, boot_id: str, uptime_s: float | None, cancel: Cancel) -> asyncio.TimerHandle | None:
    """Have an active run cancelled when it is over its time limit, counted from its first start."""
    options = live.run.plan.options
    if not options.HasField("time_limit_s"):
        return None
    left_s = max(options.time_limit_s - _since_start(live, boot_id, uptime_s), 0.0)
    reason = f"over its time limit of {options.time_limit_s:g} s"
    return asyncio.get_running_loop().call_later(left_s, cancel, live, reason)


def limit_unwatched(live: LiveRun, cancel: Cancel) -> None:
    """Have a run cancelled when nobody watches it for as long as its submitter said, counted from now."""
    options = live.run.plan.options
    if live.unwatched is not None:
        live.unwatched.cancel()
        live.unwatched = None
    if not options.HasField("cancel_unwatched_after_s") or live.watchers or live.ended:
        return
    seconds = options.cancel_unwatched_after_s
    reason = f"nobody watched it for {seconds:g} s"
    live.unwatched = asyncio.get_running_loop().call_later(seconds, cancel, live, reason)


def limit_queued(live: LiveRun, cancel: Cancel) -> None:
    """Have a run cancelled when it has not begun for as long as its submitter said, counted from its submission."""
    options = live.run.plan.options
    if not options.HasField("queue_timeout_s") or live.run.segments or live.ended:
        return
    seconds = options.queue_timeout_s
    waited_s = max(time.time() - live.run.create_time.ToNanoseconds() / 1e9, 0.0)
    loop, reason = asyncio.get_running_loop(), f"it had not begun after {seconds:g} s"
    live.unbegun = loop.call_later(max(seconds - waited_s, 0.0), cancel, live, reason)


def _since_start(live: LiveRun, boot_id: str, uptime_s: float | None) -> float:
    """Return the seconds since the run's first segment began: by the uptime, which nobody sets, within one boot."""
    if not live.run.segments:
        return 0.0
    first = live.run.segments[0]
    if first.boot_id == boot_id and first.HasField("uptime_s") and uptime_s is not None:
        return uptime_s - first.uptime_s
    return max(time.time() - first.start_time.ToNanoseconds() / 1e9, 0.0)
