"""Peak memory over a run's life: segments, a daemon that dies, methods that differ. A script plays the worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from orinbench.v1 import record_pb2

from tests.integration.harness import Daemon, check_history, connect, running
from tests.jetson_sim import events, helper
from tests.jetson_sim.builder import build
from tests.jetson_sim.rig import write_profile

# Each sample's reading comes from the file `readings`, a line a sample; the worker waits where there is none yet.
_WORKER = """
import json, os, pathlib, socket, sys, time
from orinbench.internal.v1 import worker_pb2 as w
from orinbench.v1 import record_pb2 as pb
from orinbench_engines.protocol import Channel

readings = pathlib.Path(__file__).with_name("readings")
channel = Channel(socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1])), receives=w.ToWorker)
channel.send(w.FromWorker(hello=w.Hello(protocol=1, pid=os.getpid())))
prepare = channel.receive().prepare
channel.send(w.FromWorker(ready=w.Ready()))
channel.send(w.FromWorker(phase=w.Phase(kind=w.PHASE_KIND_SAMPLING)))
for index in range(prepare.first_index, prepare.planned_samples):
    while len(lines := readings.read_text().splitlines()) <= index:
        time.sleep(0.01)
    sample = pb.SampleRecord(index=index, sample_id=f"s-{index:05}", segment=prepare.segment)
    sample.start_monotonic_ns, sample.window_ns = time.monotonic_ns(), 1
    for name, value in json.loads(lines[index]).items():
        setattr(sample.memory, name, value)
    body = pb.RecordBody(sample=sample).SerializeToString()
    channel.send(w.FromWorker(result=w.Result(index=index, body=body)))
channel.send(w.FromWorker(done=w.Done()))
while channel.receive() is not None:
    pass
"""
_TORCH = f'"method": {record_pb2.MEMORY_METHOD_TORCH_RESERVED}'


@contextmanager
def _board(folder: Path, **settings: Any) -> Iterator[tuple[Daemon, Path]]:
    """A daemon with the played worker; the file of its readings."""
    script = folder / "worker.py"
    script.write_text(_WORKER)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\n[ "$1" != -m ] || set -- {script} "$@"\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    readings = folder / "readings"
    readings.write_text("")
    runtimes = {"default": {"python": str(python)}}
    # From inside a sandbox the worker could not look at the file.
    with running(folder, runtimes=runtimes, isolation="none", **settings) as daemon:
        yield daemon, readings


def test_a_daemon_that_dies_forgets_no_peak(folder: Path) -> None:
    """Peaks of the samples before a SIGKILL count in the verdict, though the second segment measured less."""
    with _board(folder) as (daemon, readings):
        readings.write_text(f'{{{_TORCH}, "peak_reserved_bytes": 900, "peak_rss_bytes": 5}}\n' * 2)
        with connect(daemon) as wire:
            run = wire.create(wire.plan(4))
            wire.until_sample(run.name, 1)
        daemon.kill()
        readings.write_text(
            readings.read_text() + f'{{{_TORCH}, "peak_reserved_bytes": 300, "peak_rss_bytes": 7}}\n' * 2
        )
        daemon.start()
        with connect(daemon) as wire:
            finished = check_history(list(wire.watch(run.name)), 4)

    assert (finished.memory.peak_reserved_bytes, finished.memory.peak_rss_bytes) == (900, 7)
    assert not finished.memory.HasField("peak_nvmap_bytes")
    assert not finished.memory.HasField("mem_available_dip_bytes")


def test_a_daemon_that_dies_forgets_no_row_of_the_nvmap_table(folder: Path) -> None:
    """The poll's peak is in no record, and still counts in the verdict after a SIGKILL and a smaller second segment."""
    built = build(folder / "root", "agx-orin-32gb")
    with helper.running(built.root) as power:
        profile = str(write_profile(folder, built.board.profile))
        daemon = Daemon(folder, root=str(built.root), profile=profile, power_socket=str(power.socket))
        try:
            daemon.start()
            with connect(daemon) as wire:
                run = wire.create(wire.plan(60, delay_ms=50))
                wire.until_sample(run.name, 1)
                events.gpu_client(built, name="python3", pid=5000, kb=2048)
                events.process_stat(built, name="python3", pid=5000, parent=daemon.pid)
                while not (now := wire.get(run.name)).memory.peak_nvmap_bytes:
                    assert now.state == record_pb2.RUN_STATE_RUNNING
                wire.until_sample(run.name, wire.get(run.name).accepted_samples + 1)
            daemon.kill()
            events.gpu_client_gone(built, pid=5000)
            daemon.start()
            with connect(daemon) as wire:
                finished = check_history(list(wire.watch(run.name)), 60)
        finally:
            daemon.close()

    assert finished.memory.peak_nvmap_bytes == 2 << 20


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (("TORCH_RESERVED", "TORCH_RESERVED"), None),
        (("PROCESS_RSS", "PROCESS_RSS"), "process-rss; the profile counts torch-reserved"),
        (("TORCH_RESERVED", "TENSORRT_POOL"), "by two methods in one run: MEMORY_METHOD_TORCH_RESERVED and"),
    ],
)
def test_a_run_by_another_method_has_no_memory_rank(folder: Path, methods: tuple[str, str], words: str | None) -> None:
    """On a CUDA profile the resident set does not count, and neither does a mixture: the memory axis is void."""
    with _board(folder, profile="cuda-dev") as (daemon, readings), connect(daemon) as wire:
        numbers = [record_pb2.MemoryMethod.Value(f"MEMORY_METHOD_{method}") for method in methods]
        readings.write_text("".join(f'{{"method": {number}, "peak_reserved_bytes": 1}}\n' for number in numbers))
        finished = check_history(list(wire.watch(wire.create(wire.plan(2)).name)), 2)

    found = [violation for violation in finished.violations if violation.reason == "MEMORY_METHOD"]
    assert [list(violation.voids) for violation in found] == ([[record_pb2.AXIS_MEMORY]] if words else [])
    assert all(words in violation.message for violation in found if words)
