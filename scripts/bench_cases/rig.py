"""A daemon to measure on: a real one, in a folder of its own, with runs of the null engine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
from orinbench.v1 import record_pb2, run_pb2, run_pb2_grpc

from tests.integration.harness import Daemon, Wire, connect, running, samples_of


@contextmanager
def daemon(**settings: Any) -> Iterator[tuple[Daemon, Wire]]:
    """A daemon and a raw client of it."""
    with (
        tempfile.TemporaryDirectory(prefix="ob") as name,
        running(Path(name), **settings) as started,
        connect(started) as wire,
    ):
        yield started, wire


def finish(wire: Wire, samples: int, **engine: Any) -> tuple[str, list[record_pb2.SampleRecord]]:
    """Run the null engine over `samples` samples; return the run's name and its sample records."""
    name = wire.create(wire.plan(samples, **engine)).name
    records = list(wire.watch(name))
    found = samples_of(records)
    if len(found) != samples:
        raise SystemExit(f"{name} ended with {len(found)} of {samples} samples: the figures would mean nothing")
    return name, found


def gaps_s(samples: Sequence[record_pb2.SampleRecord]) -> list[float]:
    """Return the time between the end of each timed window and the start of the next, seconds."""
    ends = [sample.start_monotonic_ns + sample.window_ns for sample in samples]
    return [(sample.start_monotonic_ns - end) / 1e9 for sample, end in zip(samples[1:], ends, strict=False)]


def in_own_process(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a module of this package as a program whose standard output is read."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", f"bench_cases.{module}", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def cpu_s(process: psutil.Process) -> float:
    """Return the processor time a process has used, seconds.

    By its clock, which Linux numbers so (clock_getcpuclockid). The times in /proc are whole ticks of the kernel's
    timer, and what wakes on a timer is charged too many of them.
    """
    return time.clock_gettime((~process.pid << 3) | 2)


async def drain(stream: grpc.aio.UnaryStreamCall[run_pb2.WatchRunRequest, run_pb2.WatchRunResponse]) -> None:
    """Read a stream to its end."""
    while await stream.read() is not grpc.aio.EOF:
        pass


def streams(target: str, name: str, count: int) -> list[grpc.aio.UnaryStreamCall[Any, run_pb2.WatchRunResponse]]:
    """Watch a run `count` times, over connections of their own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    # The generated types know the blocking stub only.
    make: Any = run_pb2_grpc.RunServiceStub
    stubs = [make(grpc.aio.insecure_channel(target, options=options)) for _ in range(count)]
    return [stub.WatchRun(run_pb2.WatchRunRequest(name=name)) for stub in stubs]


def own_peak_mib() -> float:
    """Return the peak resident set of this process, MiB.

    Not ru_maxrss: that one begins with the peak of the process that started this one.
    """
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return float(found[1]) / 1024 if found else float("nan")


def rss_mib(process: psutil.Process) -> float:
    """Return the resident set of a process, MiB."""
    return float(process.memory_info().rss) / 2**20
