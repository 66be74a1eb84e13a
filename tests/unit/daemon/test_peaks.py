"""The peaks of a run over its segments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from orinbench.v1.record_pb2 import MemoryReading
from orinbenchd.runs.peaks import keep_peaks

_BYTES = st.none() | st.integers(0, 2**62)
READINGS = st.lists(
    st.builds(
        MemoryReading,
        peak_reserved_bytes=_BYTES,
        peak_allocated_bytes=_BYTES,
        peak_rss_bytes=_BYTES,
        peak_nvmap_bytes=_BYTES,
        mem_available_dip_bytes=_BYTES,
    )
)


@given(READINGS)
def test_each_number_is_the_greatest_that_was_read(readings: list[MemoryReading]) -> None:
    """Whatever comes in whatever order; what was never read is absent, and a reading of 0 is a reading."""
    kept = MemoryReading()
    for reading in readings:
        keep_peaks(kept, reading)

    for field in MemoryReading.DESCRIPTOR.fields:
        if field.has_presence:
            values = [getattr(reading, field.name) for reading in readings if reading.HasField(field.name)]
            assert kept.HasField(field.name) == bool(values)
            assert getattr(kept, field.name) == max(values, default=0)
