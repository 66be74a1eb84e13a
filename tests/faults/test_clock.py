"""Somebody sets the clock: a label changes, nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest
from orinbench.v1 import record_pb2

from tests.faults.validators import samples_of
from tests.integration.harness import body, check_history, connect, running


@pytest.mark.tool("faketime")
def test_a_clock_that_jumps_an_hour_each_way_changes_labels_only(folder: Path) -> None:
    """In mid-run the wall clock goes an hour forwards, then two back: the limits, the order and the records stay."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    offset = folder / "offset"
    offset.write_text("+0")
    # The daemon's wall clock reads the file; the monotonic clock and the kernel's own are left alone.
    clock = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with running(folder, environment=clock) as daemon, connect(daemon) as wire:
        plan = wire.plan(300, delay_ms=20)
        plan.options.time_limit_s = 300
        plan.options.cancel_unwatched_after_s = 300
        run = wire.create(plan)
        seen = wire.until_sample(run.name, 20)
        start = body(seen[0]).time.seconds
        offset.write_text("+3600")
        records = []
        for record in wire.watch(run.name):
            records.append(record)
            # The next jump once this one is seen, however slow we are.
            if body(record).time.seconds - start > 3000:
                offset.write_text("-3600")
        position = wire.get(run.name)

    assert check_history(records, 300).state == record_pb2.RUN_STATE_SUCCEEDED
    assert records[: len(seen)] == seen
    assert position.end_time.seconds < position.start_time.seconds
    labels = [body(record).time.seconds for record in records]
    assert max(labels) - labels[0] > 3000 and labels[0] - min(labels) > 3000
    windows = [sample.window_ns for sample in samples_of(records)]
    assert min(windows) > 0 and max(windows) < 60_000_000_000
