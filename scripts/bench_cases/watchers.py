"""A paced run watched by many clients, some of them frozen, against the same run watched by one."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from statistics import median

import psutil
from orinbench.v1 import run_pb2

from bench_cases import Result
from bench_cases.rig import daemon, drain, in_own_process, rss_mib, streams
from tests.integration.harness import Daemon, Wire, samples_of

SAMPLES, PACE_MS, ROUNDS = 250, 20.0, 3
AWAKE, FROZEN = 40, 10
# Samples of the run that keeps the board busy meanwhile: longer than anybody waits.
AHEAD = 30_000
BUDGET = 1.05


def measure() -> Result:
    """Compare the time from the first sample's start to the last one's end; medians of some rounds, in turns."""
    many, one = [], []
    with daemon() as (started, wire):
        process = psutil.Process(started.pid)
        before = rss_mib(process)
        for _ in range(ROUNDS):
            one.append(_paced(started, wire, awake=1, frozen=0))
            many.append(_paced(started, wire, awake=AWAKE, frozen=FROZEN))
        grown = rss_mib(process) - before
    ours, reference = median(many), median(one)
    ratio = ours / reference
    details = {"daemon_rss_growth_mib": round(grown, 1), "watchers": AWAKE + FROZEN, "frozen": FROZEN}
    budget = f"at most {BUDGET - 1:.0%} slower"
    return Result("watchers", ours, reference, ratio, "s", budget, ratio <= BUDGET, details)


def _paced(started: Daemon, wire: Wire, *, awake: int, frozen: int) -> float:
    """Return how long a paced run took that was watched from other processes, by so many clients."""
    # While this one is active the next waits in the queue, so that all watch it from its beginning.
    ahead = wire.create(wire.plan(AHEAD, delay_ms=PACE_MS)).name
    name = wire.create(wire.plan(SAMPLES, delay_ms=PACE_MS)).name
    programs = [
        in_own_process("watchers", f"unix:{started.socket}", name, str(count)) for count in (awake, frozen) if count
    ]
    try:
        for program in programs:
            _expect(program, "watching")
        if frozen:
            programs[-1].send_signal(signal.SIGSTOP)
        wire.runs.CancelRun(run_pb2.CancelRunRequest(name=ahead))
        samples = samples_of(list(wire.watch(name)))
        # Who is awake ends with the stream; whoever died earlier was no watcher.
        if programs[0].wait(30):
            raise SystemExit("a watching process failed: the figures would mean nothing")
    finally:
        for program in programs:
            program.kill()
            program.communicate()
    last = samples[-1]
    return (last.start_monotonic_ns + last.window_ns - samples[0].start_monotonic_ns) / 1e9


def _expect(program: subprocess.Popen[str], word: str) -> None:
    assert program.stdout is not None
    if program.stdout.readline().strip() != word:
        raise SystemExit("a watching process died: the figures would mean nothing")


async def _watch(target: str, name: str, count: int) -> None:
    found = streams(target, name, count)
    # Its first page says that it is queued.
    await asyncio.gather(*(stream.read() for stream in found))
    print("watching", flush=True)
    await asyncio.gather(*(drain(stream) for stream in found))


if __name__ == "__main__":
    asyncio.run(_watch(sys.argv[1], sys.argv[2], int(sys.argv[3])))
