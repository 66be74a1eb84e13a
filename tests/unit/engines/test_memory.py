"""The meters against memory that is really taken."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

from orinbench.v1.record_pb2 import MEMORY_METHOD_TENSORRT_POOL
from orinbench_engines.memory import PoolMeter, RssMeter

from tests.contract.worker.kit import environment

_PROGRAM = """
from orinbench_engines.memory import RssMeter
def take(size):
    bytes(1) * size  # freed at once: only a peak can have seen it
meter = RssMeter()
take(200 << 20)
before = meter.read().peak_rss_bytes
meter.start()
started = meter.read().peak_rss_bytes
take(100 << 20)
print(before, started, meter.read().peak_rss_bytes, meter.since, sep=",")
"""


def test_the_peak_is_that_since_the_start() -> None:
    """Memory taken and freed before the start is forgotten, memory taken and freed after it is in the peak."""
    command = [sys.executable, "-c", _PROGRAM]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    before, started, after, since = run.stdout.strip().split(",")

    assert since == "before the checkpoint was loaded"
    assert int(before) > 200 << 20
    assert int(started) < int(before) - (150 << 20)
    assert int(started) + (90 << 20) < int(after) < int(started) + (110 << 20)


_DIP = """
from orinbench_engines.memory import RssMeter
meter = RssMeter()
meter.start()
held = bytearray(b"x") * (600 << 20)
deep = meter.read().mem_available_dip_bytes
del held
print(deep, meter.read().mem_available_dip_bytes, sep=",")
"""


def test_the_dip_of_available_memory_stays_at_its_deepest() -> None:
    """600 MiB that are held show in MemAvailable, and the dip does not shrink when they are given back."""
    run = subprocess.run([sys.executable, "-c", _DIP], capture_output=True, text=True, check=True, env=environment())
    deep, after = map(int, run.stdout.split(","))

    # Others on the machine take and give too: half of it is proof enough.
    assert deep > 300 << 20
    assert after >= deep


def test_a_meter_that_was_not_started_knows_no_dip() -> None:
    """Without a reading from before there is nothing to compare with: absent, not 0."""
    assert not RssMeter().read().HasField("mem_available_dip_bytes")


def test_a_pool_that_was_never_asked_has_no_peaks() -> None:
    """Absent where the pool saw nothing, its own numbers where it did, its method in both."""
    pool = SimpleNamespace(peak_reserved_bytes=0, peak_allocated_bytes=0)
    meter = PoolMeter(MEMORY_METHOD_TENSORRT_POOL, pool)
    meter.start()
    before = meter.read()
    pool.peak_reserved_bytes, pool.peak_allocated_bytes = 300, 200
    after = meter.read()

    assert before.method == after.method == MEMORY_METHOD_TENSORRT_POOL
    assert not before.HasField("peak_reserved_bytes")
    assert (after.peak_reserved_bytes, after.peak_allocated_bytes) == (300, 200)
    assert after.peak_rss_bytes > 0
