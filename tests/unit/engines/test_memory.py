"""The resident-set meter against memory that is really taken."""

from __future__ import annotations

import subprocess
import sys

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
